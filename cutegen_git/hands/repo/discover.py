"""Finding and making repositories: what `open` and `create` need to know before anything else works."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cutegen_git.hands.process import Done
from cutegen_git.words.errors import RepoError

from .git import Git, trouble

MINIMUM = (2, 38)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a repository lies; all paths absolute."""

    root: Path  # top folder of the worktree; the git dir of a bare repository
    git_dir: Path  # of this worktree: HEAD and index
    common_dir: Path  # refs, objects, locks
    bare: bool
    object_format: str  # "sha1" or "sha256"


def find(path: Path) -> Place:
    """The repository whose top folder is `path`. RepoError, one sentence with the fix, for everything else."""
    _check_version()
    path = path.expanduser()
    if not path.is_dir():
        raise RepoError(f"{path} is not a folder: give the folder of a task repository with -C")
    facts = _ask(
        path,
        "--git-dir",
        "--git-common-dir",
        "--is-bare-repository",
        "--is-inside-git-dir",
        "--show-object-format",
    )
    git_dir, common_dir = Path(facts[0]), Path(facts[1])
    bare = facts[2] == "true"
    if bare:
        root = git_dir
    elif facts[3] == "true":
        raise RepoError(f"{path} is the inside of a git dir: give the folder of the task instead")
    else:
        root = Path(_ask(path, "--show-toplevel")[0])
    if not root.samefile(path) and not (bare and git_dir.samefile(path)):
        raise RepoError(
            f"{path} lies inside the repository {root}, and a task is a repository of its own: "
            f"use -C {root} if that is the task"
        )
    return Place(root.resolve(), git_dir.resolve(), common_dir.resolve(), bare, facts[4])


def _ask(path: Path, *questions: str) -> list[str]:
    words = ("rev-parse", "--path-format=absolute", *questions)
    done = Git(path).run(*words)
    if not done.ok and "dubious ownership" in done.errors():
        done = Git(path, config=_users_safe_directories(path)).run(*words)
    if not done.ok:
        raise _not_found(path, done)
    return done.text().splitlines()


def _users_safe_directories(path: Path) -> dict[str, str]:
    """The one setting of the user that a clean call has to respect: git's own remedy writes it there."""
    values = [
        value
        for scope in ("--system", "--global")  # never the config of the repository in question
        for value in Git(path)
        .run("config", scope, "--get-all", "safe.directory", network=True)
        .text()
        .splitlines()
    ]
    names = (str(path.absolute()), str(path.resolve()), "*")
    trusted = next((value for value in values if value in names), None)
    return {"safe.directory": trusted} if trusted else {}


def _not_found(path: Path, done: Done) -> Exception:
    said = done.errors()
    if "dubious ownership" in said:
        return RepoError(
            f"{path} belongs to another user; if you trust it: git config --global --add safe.directory {path.resolve()}"
        )
    if "not a git repository" in said:
        return RepoError(f"{path} is not a git repository: make a task with cutegen-git new, or clone one")
    return trouble(done)


@cache
def _check_version() -> None:
    said = Git(Path("/")).out("version")
    found = re.search(r"(\d+)\.(\d+)", said)
    if found and (int(found[1]), int(found[2])) < MINIMUM:
        raise RepoError(f"git {found[0]} is too old: install git {MINIMUM[0]}.{MINIMUM[1]} or later")


def initialise(path: Path, *, object_format: str) -> tuple[Path, Git]:
    """A new, empty repository beside `path`, to be moved there when it is whole."""
    _check_version()
    path = path.absolute()  # git runs in another folder than ours
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise RepoError(f"{path} exists already: choose another name, or remove it")
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.parent / f".{path.name}.{secrets.token_hex(4)}.new"
    half.mkdir()
    Git(half).check("init", "-q", "--template=", "-b", "main", f"--object-format={object_format}")
    return half, Git(half, git_dir=half / ".git")


def settle(half: Path, path: Path) -> None:
    """Move the finished repository to its place."""
    try:
        if path.is_dir():
            path.rmdir()  # empty: `initialise` looked
        half.rename(path)
    except OSError as error:
        raise RepoError(f"{path} cannot be made: {error.strerror}") from error
