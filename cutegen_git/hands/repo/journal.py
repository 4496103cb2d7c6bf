"""cutegen-txn.json: what is about to move, written and synced before anything does."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cutegen_git.words.errors import RepoError

from .discover import Place
from .refs import HEADS, RefUpdate
from .worktree import Worktree

FILE = "cutegen-txn.json"
_LOCK_AGE_S = 1.0  # a .lock younger than this may belong to a live git that is just passing


@dataclass(frozen=True, slots=True)
class Plan:
    """What cutegen-txn.json says."""

    updates: tuple[RefUpdate, ...]
    trees: tuple[Worktree, ...]  # worktrees that follow
    locks: tuple[Path, ...]  # files that a killed `update-ref` can leave
    reason: str

    def ends(self, tree: Worktree) -> tuple[str, str]:
        """The commits that a worktree follows from and to."""
        item = next(item for item in self.updates if item.ref == tree.branch)
        assert item.old is not None
        assert item.new is not None
        return item.old, item.new


def locks_of(place: Place, updates: Sequence[RefUpdate]) -> tuple[Path, ...]:
    """The lock files that a killed `update-ref` of these updates can leave."""
    locks = [place.common_dir / f"{item.ref}.lock" for item in updates]
    if any(item.ref.startswith(HEADS) for item in updates):
        locks.append(place.git_dir / "HEAD.lock")
    if any(item.new is None for item in updates):
        locks += [place.common_dir / "packed-refs.lock", place.common_dir / "packed-refs.new"]
    return tuple(locks)


def remove_stale(lock: Path) -> None:
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


def save(path: Path, plan: Plan) -> None:
    """The plan on disk, whole or not at all."""
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
        half.unlink(missing_ok=True)
        raise RepoError(f"{path} cannot be written ({error.strerror}), nothing was changed") from error


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def is_left(common_dir: Path) -> bool:
    """True where a move is under way or was cut off."""
    return (common_dir / FILE).exists()


def load(path: Path) -> Plan | None:
    """The plan that a killed writer left; None where none did. The caller is the only writer."""
    path.with_suffix(".new").unlink(missing_ok=True)  # killed before anything moved
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
    return Plan(updates, trees, locks, str(record["reason"]))
