"""Where a recording lies: a task repository, a git bundle of one, a folder of replies, or a shipped example."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cutegen_git.hands import data
from cutegen_git.hands.model.talk import NoReply
from cutegen_git.hands.process import run
from cutegen_git.words.errors import CutegenError, ModelTrouble, TaskError, ToolError

REPLY = ".reply.md"


def find(source: str, repo_dir: Path = Path()) -> Path:
    """A path as given, a path beside task.toml, or the recording of the shipped example so called.

    ModelError NOT_CONFIGURED where there is none.
    """
    given = Path(source).expanduser()
    places = [given] if given.is_absolute() else [Path.cwd() / given, repo_dir / given]
    for place in (*places, *_of_example(source)) if source else ():
        if place.is_file() or is_repository(place) or has_replies(place):
            return place
    raise NoReply(
        ModelTrouble.NOT_CONFIGURED,
        f"no recording at {source!r}: replay:SOURCE takes a task repository, a git bundle of one,"
        f" a folder of NNNN{REPLY} or the name of an example",
    )


def is_repository(place: Path) -> bool:
    bare = (place / "HEAD").is_file() and (place / "objects").is_dir()
    return bare or (place / ".git").exists()


def has_replies(place: Path) -> bool:
    return place.is_dir() and any(place.glob(f"*{REPLY}"))


@contextmanager
def opened(source: str, repo_dir: Path = Path()) -> Iterator[Path]:
    """A repository with the recording: itself, or a throw-away bare one made from a bundle."""
    place = find(source, repo_dir)
    if not place.is_file():
        if not is_repository(place):
            raise TaskError(f"{place} holds replies and no history; a repository or a bundle is needed here")
        yield place
        return
    scratch = Path(tempfile.mkdtemp(prefix="cutegen-replay-"))
    try:
        _unbundle(place, scratch)
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _of_example(name: str) -> list[Path]:
    if not name or "/" in name or name.startswith("."):
        return []
    try:
        folder = data.root(f"examples/{name}")
    except (CutegenError, ValueError):
        return []
    return [*sorted(folder.glob("*.bundle")), folder / "replies"]


def _unbundle(bundle: Path, into: Path) -> None:
    """Every ref of the bundle, notes and attempts too; a clone would take heads and tags only."""
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(into),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
    }
    git = ["git", "-C", str(into)]
    fetch = ["-c", "transfer.fsckObjects=true", "fetch", "-q", "--no-tags", "--no-write-fetch-head"]
    head = run([*git, "bundle", "list-heads", str(bundle.resolve())], timeout_s=60, env=env)
    if not head.ok:
        raise TaskError(f"{bundle} is not a git bundle: {head.errors().strip().splitlines()[-1:]}")
    kind = (
        "sha256" if any(len(line.split()[0]) == 64 for line in head.text().splitlines() if line) else "sha1"
    )
    try:
        run([*git, "init", "-q", "--bare", "--template=", f"--object-format={kind}", "."],
            timeout_s=30, env=env).check()  # fmt: skip
        run([*git, *fetch, str(bundle.resolve()), "+refs/*:refs/*"], timeout_s=120, env=env).check()
        if (into / "refs/heads/main").exists() or "refs/heads/main" in head.text():
            run([*git, "symbolic-ref", "HEAD", "refs/heads/main"], timeout_s=30, env=env).check()
    except ToolError as error:
        raise TaskError(f"{bundle} cannot be read: {error}") from error
