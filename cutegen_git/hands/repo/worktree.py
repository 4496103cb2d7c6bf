"""What the user's worktree looks like, and how it follows a branch that moves below it.

Never stash, reset or add: a worktree is either clean enough to follow, or the move is refused before it begins.
While it follows we hold git's own `index.lock`, made as a hard link, so that after a crash the lock is
recognised as ours by its text and nobody else's is ever removed.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cutegen_git.words.errors import RepoError

from .git import Git

MARK = b"cutegen-git holds this lock while the worktree follows a branch; see cutegen-txn.json\n"
_KERNEL_FILE = re.compile(r"kernel/[^/]*\.cuh?")  # all that a patch may touch
_UNDER_WAY = {
    "MERGE_HEAD": "a merge is under way: finish it, or git merge --abort",
    "rebase-merge": "a rebase is under way: finish it, or git rebase --abort",
    "rebase-apply": "a rebase or git am is under way: finish it, or git rebase --abort",
    "CHERRY_PICK_HEAD": "a cherry-pick is under way: finish it, or git cherry-pick --abort",
    "REVERT_HEAD": "a revert is under way: finish it, or git revert --abort",
}


@dataclass(frozen=True, slots=True)
class Worktree:
    """A checkout with a branch in it."""

    root: Path
    git_dir: Path  # its own: HEAD, index
    branch: str  # full ref name


def under_way(git_dir: Path) -> str | None:
    """What the user has begun and not finished, with the way out."""
    return next((text for name, text in _UNDER_WAY.items() if (git_dir / name).exists()), None)


def dirty(git: Git, root: Path) -> list[str]:
    """Lines of `git status` (`XY path`) for changes and for untracked files that the task would not see."""
    done = git.check("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", env=_at(root))
    lines = [line for line in done.stdout.decode("utf-8", "replace").split("\0") if line]
    return [line for line in lines if not line.startswith("?? ") or _KERNEL_FILE.fullmatch(line[3:])]


def index_lock_age_s(git_dir: Path) -> float | None:
    """Age of a lock on the index, in seconds; None if there is none."""
    try:
        return max(0.0, time.time() - (git_dir / "index.lock").stat().st_mtime)
    except FileNotFoundError:
        return None


def checkouts(git: Git, branches: Sequence[str]) -> list[Worktree]:
    """The worktrees that have one of these branches checked out."""
    found = []
    for record in git.check("worktree", "list", "--porcelain", "-z").stdout.split(b"\0\0"):
        pairs = dict((line + b" ").split(b" ", 1) for line in record.split(b"\0") if line)
        branch = os.fsdecode(pairs.get(b"branch", b"")).strip()
        root = Path(os.fsdecode(pairs.get(b"worktree", b" ")[:-1]))
        if branch in branches and b"bare" not in pairs and (root / ".git").exists():
            found.append(Worktree(root, _git_dir(root), branch))
    return found


def _git_dir(root: Path) -> Path:
    link = root / ".git"
    if link.is_dir():
        return link
    return (root / link.read_text().removeprefix("gitdir:").strip()).resolve()


def _at(root: Path, index: Path | None = None) -> dict[str, str]:
    env = {"GIT_WORK_TREE": str(root)}
    return env if index is None else {**env, "GIT_INDEX_FILE": str(index)}


@contextmanager
def index_of(tree: Worktree) -> Iterator[Path]:
    """A private copy of the index, put in place of the real one when the block ends well."""
    lock, copy = tree.git_dir / "index.lock", tree.git_dir / "cutegen-index"
    mark = tree.git_dir / "cutegen-index.mark"
    mark.write_bytes(MARK)
    try:
        _link(mark, lock)
    except FileExistsError as error:
        mark.unlink()
        raise RepoError(
            f"{lock} exists: another git works in {tree.root}, or one crashed and the lock may be deleted"
        ) from error
    try:
        if (tree.git_dir / "index").exists():
            # With its time: git compares it with a file's to know that an edit in the same second may hide.
            shutil.copy2(tree.git_dir / "index", copy)
        yield copy
        copy.replace(tree.git_dir / "index")
    finally:
        copy.unlink(missing_ok=True)
        lock.unlink(missing_ok=True)
        mark.unlink(missing_ok=True)


def _link(mark: Path, lock: Path) -> None:
    try:
        os.link(mark, lock)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        with lock.open("xb") as file:
            file.write(MARK)


def drop_own_lock(git_dir: Path) -> None:
    """Take away what a killed run left of `index_of`; the lock of anybody else stays."""
    lock = git_dir / "index.lock"
    if lock.exists() and lock.read_bytes() == MARK:
        lock.unlink()
    for name in ("cutegen-index", "cutegen-index.lock", "cutegen-index.mark"):
        (git_dir / name).unlink(missing_ok=True)


def follow(
    git: Git, tree: Worktree, index: Path, old: str, new: str, *, dry_run: bool, keep: Sequence[int]
) -> None:
    """Move index and files from commit `old` to `new`; changes in other files stay. RepoError if it would lose one."""
    here, env = (Git(tree.root, git_dir=tree.git_dir, config=git.extra), _at(tree.root, index))
    if dry_run:  # a file that was only touched is no change
        here.run("update-index", "-q", "--refresh", env=env, keep=keep)
    done = here.run("read-tree", "-m", "-u", *(["-n"] if dry_run else []), old, new, env=env, keep=keep)
    if done.ok:
        return
    last = next(
        (line for line in done.errors().splitlines() if "Entry '" in line or "overwritten" in line),
        done.errors(),
    )
    raise RepoError(
        f"{tree.branch.removeprefix('refs/heads/')} is checked out in {tree.root} with changes in the way "
        f"({last.removeprefix('error: ').strip()}): commit or discard them and run again"
    )
