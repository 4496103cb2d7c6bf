"""The sealed world: no test sees or touches the user's home, git settings, keys or network credentials."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from cutegen_git.hands.repo import Repo

FIRST_AT = 1_700_000_000  # date of the first commit of a repository made here

HOSTILE = """\
[user]
	useConfigOnly = true
[commit]
	gpgSign = true
	template = /nowhere/template
[tag]
	gpgSign = true
	forceSignAnnotated = true
[core]
	hooksPath = {hooks}
	autocrlf = true
	eol = crlf
	fsmonitor = {hooks}/fsmonitor
	editor = false
	pager = false
	abbrev = 4
	quotePath = true
	commentChar = %
	excludesFile = {ignore}
	attributesFile = {attributes}
[diff]
	noprefix = true
	mnemonicPrefix = true
	external = false
	renames = copies
	algorithm = patience
	context = 1
	interHunkContext = 9
	orderFile = {ignore}
[apply]
	whitespace = fix
[i18n]
	commitEncoding = ISO-8859-1
	logOutputEncoding = ISO-8859-1
[color]
	ui = always
[log]
	showSignature = true
	decorate = full
[init]
	defaultBranch = trunk
	templateDir = {hooks}
[status]
	showUntrackedFiles = no
	short = true
[merge]
	ff = only
[fetch]
	prune = true
[push]
	followTags = true
	gpgSign = true
[notes]
	rewriteRef = refs/notes/*
[gc]
	auto = 1
[safe]
	bareRepository = all
"""


def seal(home: Path, patch: pytest.MonkeyPatch) -> None:
    """A home with every git setting that bites, and an environment without the user in it."""
    real_cache = os.environ.get("CUTEGEN_GIT_CACHE")
    if real_cache is None:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        real_cache = str(Path(base) / "cutegen-git")
    for name in list(os.environ):
        if name.startswith(("GIT_", "CUTEGEN_GIT_", "XDG_")) or name.endswith(
            ("_API_KEY", "_API_TOKEN", "_TOKEN")
        ):
            patch.delenv(name)
    hooks = home / "hooks"
    hooks.mkdir(parents=True)
    for hook in (
        "pre-commit",
        "commit-msg",
        "reference-transaction",
        "pre-push",
        "post-checkout",
        "fsmonitor",
    ):
        (hooks / hook).write_text(f"#!/bin/sh\necho hook {hook} ran >&2\ntouch {home}/hook-ran\nexit 1\n")
        (hooks / hook).chmod(0o755)
    (home / "ignore").write_text("*.cu\n*.toml\n")
    (home / "attributes").write_text("* text=auto eol=crlf\n*.cu binary\n")
    (home / ".gitconfig").write_text(
        HOSTILE.format(hooks=hooks, ignore=home / "ignore", attributes=home / "attributes")
    )
    for name in ("CONFIG", "CACHE", "DATA", "STATE"):
        patch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
    patch.setenv("HOME", str(home))
    patch.setenv("USERPROFILE", str(home))
    patch.setenv("CUTEGEN_GIT_CACHE", real_cache)  # toolchain and builds stay warm


@pytest.fixture(autouse=True)
def sealed_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The fake home of this test."""
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("home")
        seal(home, patch)
        yield home
        assert not (home / "hook-ran").exists(), "a hook of the user ran"


@pytest.fixture
def make_repo(tmp_path: Path) -> Iterator[Callable[..., Repo]]:
    """Makes a repository: make_repo(files, name="task", at=FIRST_AT, object_format="sha1")."""
    made: list[Repo] = []

    def make(
        files: Mapping[str, bytes] | None = None,
        *,
        name: str = "task",
        at: int = FIRST_AT,
        object_format: str = "sha1",
    ) -> Repo:
        content = files or {"task.toml": b"format = 1\n", "kernel/kernel.cu": b"// 0\n"}
        repo = Repo.create(tmp_path / name, content, "Task\n", at, object_format=object_format)
        made.append(repo)
        return repo

    yield make
    for repo in made:
        repo.close()


@pytest.fixture
def plain_git() -> Callable[..., str]:
    """Plain git as a user without any setting runs it, the independent witness: plain_git(folder, *words) -> stdout."""
    env = {
        "GIT_AUTHOR_NAME": "user",
        "GIT_AUTHOR_EMAIL": "user@example.invalid",
        "GIT_COMMITTER_NAME": "user",
        "GIT_COMMITTER_EMAIL": "user@example.invalid",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "PATH": os.environ["PATH"],
    }

    def git(where: Path, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=where, capture_output=True, env=env, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    return git
