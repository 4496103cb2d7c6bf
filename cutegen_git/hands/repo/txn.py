"""Moving several refs so that a crash at any instant leaves a repository that the next run puts right.

cutegen-txn.json says what is about to move; then the refs move in one `update-ref` transaction; then worktrees
follow; then the file goes. Recovery reads it: nothing moved means nothing happened; something moved means that
the rest follows. git's own `.lock` files survive a kill and would stop every later run, so the file names those
that can exist, and only these are ever removed.

All writers of one repository take turns (cutegen-write.lock, held for milliseconds). The lock for a whole run
is another one, see `Repo.lock`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from cutegen_git.words.errors import CutegenError, RepoError, ToolError

from . import repair
from .batch import Batch
from .discover import Place
from .git import Git
from .journal import FILE, Plan, load, locks_of, remove_stale, save
from .lock import hold
from .refs import HEADS, RefUpdate, update
from .worktree import checkouts, drop_own_lock, follow, index_of

WRITE_LOCK, QUEUE_LOCK = "cutegen-write.lock", "cutegen-queue.lock"
_WRITE_WAIT_S = 60.0


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
            plan = Plan(tuple(updates), tuple(trees), locks_of(self.place, updates), reason)
            path = self.place.common_dir / FILE
            save(path, plan)
            try:
                self._carry_out(plan)
            except (CutegenError, OSError) as error:
                # git took its own locks away, unless we killed it; nothing is left for the next run to wonder about
                if self._recover(crashed=isinstance(error, ToolError) and error.code is None):
                    return  # the refs had moved, and now the rest has followed
                if isinstance(error, OSError):
                    raise RepoError(
                        f"{error.filename or path}: {error.strerror}; nothing was changed"
                    ) from error
                raise
            except KeyboardInterrupt:
                self._recover(crashed=True)
                raise
            self._drop()

    def _carry_out(self, plan: Plan) -> None:
        assert self._fd is not None
        keep = (self._fd,)
        with ExitStack() as stack:
            todo = [(tree, stack.enter_context(index_of(tree)), *plan.ends(tree)) for tree in plan.trees]
            for tree, index, old, new in todo:
                follow(self.git, tree, index, old, new, dry_run=True, keep=keep)
            update(self.git, plan.updates, plan.reason, keep=keep)
            for tree, index, old, new in todo:
                follow(self.git, tree, index, old, new, dry_run=False, keep=keep)

    def _recover(self, *, crashed: bool) -> bool:
        """True if a move was under way and now is complete; False if there was none or nothing had moved."""
        path = self.place.common_dir / FILE
        plan = load(path)
        if plan is None:
            return False
        assert self._fd is not None
        for lock in plan.locks if crashed else ():
            remove_stale(lock)
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

    def _finish_trees(self, plan: Plan) -> None:
        assert self._fd is not None
        for tree in plan.trees:
            old, new = plan.ends(tree)
            still = any(other.root == tree.root for other in checkouts(self.git, [tree.branch]))
            if still and self.batch.id_of(tree.branch) == new:
                repair.finish(self.git, self.batch, tree, old, new, keep=(self._fd,))

    def _drop(self) -> None:
        (self.place.common_dir / FILE).unlink(missing_ok=True)
