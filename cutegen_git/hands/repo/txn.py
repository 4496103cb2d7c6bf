"""Moving several refs so that a crash at any instant leaves a repository that the next run puts right.

cutegen-txn.json says what is about to move; then the refs move in one `update-ref` transaction; then worktrees
follow; then the file goes. Recovery reads it: nothing moved means nothing happened; something moved means that
the rest follows. git's own `.lock` files survive a kill and would stop every later run, so the file names those
that can exist, and only these are ever removed.

All writers of one repository take turns (cutegen-write.lock, held for milliseconds). The lock for a whole run
is another one, see `Repo.lock`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from cutegen_git.words.errors import CutegenError, RepoError, ToolError

from . import repair
from .batch import Batch
from .discover import Place
from .git import Git
from .lock import hold
from .refs import HEADS, RefUpdate, update
from .worktree import Worktree, checkouts, drop_own_lock, follow, index_of

FILE = "cutegen-txn.json"
WRITE_LOCK, QUEUE_LOCK = "cutegen-write.lock", "cutegen-queue.lock"
_WRITE_WAIT_S = 60.0
_LOCK_AGE_S = 1.0  # a .lock younger than this may belong to a live git that is just passing


@dataclass(frozen=True, slots=True)
class _Plan:
    """What cutegen-txn.json says."""

    updates: tuple[RefUpdate, ...]
    trees: tuple[Worktree, ...]  # worktrees that follow
    locks: tuple[Path, ...]  # files that a killed `update-ref` can leave
    reason: str


class Writer:
    """Moves refs of one repository."""

    def __init__(self, git: Git, batch: Batch, place: Place) -> None:
        self.git, self.batch, self.place = git, batch, place
        self._fd: int | None = None

    @contextmanager
    def turn(self) -> Iterator[int]:
        """Be the only writer, with whatever a killed writer left put right. Re-entrant."""
        if self._fd is not None:
            yield self._fd
            return
        with ExitStack() as stack:
            # The queue is for fairness: who just wrote stands behind who waits.
            with self._held(QUEUE_LOCK):
                fd = self._fd = stack.enter_context(self._held(WRITE_LOCK))
            try:
                self._recover(crashed=True)
                yield fd
            finally:
                self._fd = None

    def _held(self, name: str) -> AbstractContextManager[int]:
        return hold(self.place.common_dir / name, wait_s=_WRITE_WAIT_S, what="writing to this repository")

    def move(self, updates: Sequence[RefUpdate], reason: str) -> None:
        """Move all refs or none, worktrees included. RefChanged, or RepoError for a worktree in the way."""
        if not updates:
            return
        with self.turn():
            branches = [item.ref for item in updates if item.ref.startswith(HEADS) and item.old and item.new]
            trees = checkouts(self.git, branches) if branches else []
            plan = _Plan(tuple(updates), tuple(trees), _locks(self.place, updates), reason)
            _save(self.place.common_dir / FILE, plan)
            try:
                self._carry_out(plan)
            except CutegenError as error:
                # git took its own locks away, unless we killed it; nothing is left for the next run to wonder about
                if self._recover(crashed=isinstance(error, ToolError) and error.code is None):
                    return  # the refs had moved, and now the rest has followed
                raise
            self._drop()

    def _carry_out(self, plan: _Plan) -> None:
        assert self._fd is not None
        keep = (self._fd,)
        with ExitStack() as stack:
            todo = [(tree, stack.enter_context(index_of(tree)), *_ends(plan, tree)) for tree in plan.trees]
            for tree, index, old, new in todo:
                follow(self.git, tree, index, old, new, dry_run=True, keep=keep)
            update(self.git, plan.updates, plan.reason, keep=keep)
            for tree, index, old, new in todo:
                follow(self.git, tree, index, old, new, dry_run=False, keep=keep)

    def _recover(self, *, crashed: bool) -> bool:
        """True if a move was under way and now is complete; False if there was none or nothing had moved."""
        path = self.place.common_dir / FILE
        plan = _load(path)
        if plan is None:
            return False
        assert self._fd is not None
        for lock in plan.locks if crashed else ():
            _remove_stale(lock)
        for tree in plan.trees:
            drop_own_lock(tree.git_dir)
        now = {item.ref: self.batch.id_of(item.ref) for item in plan.updates}
        moved = any(now[item.ref] == item.new != item.old for item in plan.updates)
        rest = [item for item in plan.updates if now[item.ref] == item.old]
        if moved and rest:
            update(self.git, rest, plan.reason, keep=(self._fd,))
        if moved:
            self._finish_trees(plan)
        self._drop()
        return moved

    def _finish_trees(self, plan: _Plan) -> None:
        assert self._fd is not None
        for tree in plan.trees:
            old, new = _ends(plan, tree)
            still = any(other.root == tree.root for other in checkouts(self.git, [tree.branch]))
            if still and self.batch.id_of(tree.branch) == new:
                repair.finish(self.git, self.batch, tree, old, new, keep=(self._fd,))

    def _drop(self) -> None:
        (self.place.common_dir / FILE).unlink(missing_ok=True)


def _ends(plan: _Plan, tree: Worktree) -> tuple[str, str]:
    item = next(item for item in plan.updates if item.ref == tree.branch)
    assert item.old is not None
    assert item.new is not None
    return item.old, item.new


def _locks(place: Place, updates: Sequence[RefUpdate]) -> tuple[Path, ...]:
    locks = [place.common_dir / f"{item.ref}.lock" for item in updates]
    if any(item.ref.startswith(HEADS) for item in updates):
        locks.append(place.git_dir / "HEAD.lock")
    if any(item.new is None for item in updates):
        locks += [place.common_dir / "packed-refs.lock", place.common_dir / "packed-refs.new"]
    return tuple(locks)


def _remove_stale(lock: Path) -> None:
    """Remove a lock that outlives the second in which a live git would have let it go."""
    while True:
        try:
            age_s = time.time() - lock.stat().st_mtime
        except (FileNotFoundError, NotADirectoryError):
            return
        if not 0 <= age_s < _LOCK_AGE_S:
            lock.unlink(missing_ok=True)
            return
        time.sleep(0.05)


def _save(path: Path, plan: _Plan) -> None:
    record = {
        "format": 1,
        "reason": plan.reason,
        "updates": [[item.ref, item.old, item.new] for item in plan.updates],
        "locks": [str(lock) for lock in plan.locks],
        "worktrees": [[str(tree.root), str(tree.git_dir), tree.branch] for tree in plan.trees],
    }
    half = path.with_suffix(".new")
    try:
        with half.open("w", encoding="utf-8") as file:
            json.dump(record, file)
            file.flush()
            os.fsync(file.fileno())
        half.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise RepoError(f"{path} cannot be written ({error.strerror}), nothing was changed") from error


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _load(path: Path) -> _Plan | None:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise RepoError(f"{path} is damaged: look at it, then delete it") from error
    if record.get("format") != 1:
        raise RepoError(f"{path} was left by a later cutegen-git: run that version once")
    updates = tuple(RefUpdate(ref, old, new) for ref, old, new in record["updates"])
    trees = tuple(
        Worktree(Path(root), Path(git_dir), branch) for root, git_dir, branch in record["worktrees"]
    )
    locks = tuple(Path(name) for name in record["locks"] if name.endswith((".lock", "packed-refs.new")))
    return _Plan(updates, trees, locks, str(record["reason"]))
