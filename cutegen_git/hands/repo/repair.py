"""A worktree that was killed while it followed a branch: bring it to the new commit and lose nothing of the user's.

Only paths that differ between the two commits are looked at. A file that holds the old text, the new text, a
beginning of the new text, or is gone, was ours to change; anything else is the user's and stays, shown as modified.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .batch import Batch
from .git import Git
from .worktree import Worktree, _at, index_of

_GONE = "000000"


@dataclass(frozen=True, slots=True)
class _Change:
    path: str
    old_id: str  # zeros: not there
    new_mode: str  # _GONE: deleted
    new_id: str


def finish(git: Git, batch: Batch, tree: Worktree, old: str, new: str, *, keep: Sequence[int]) -> None:
    """Index and files as in `new`; safe to repeat."""
    here = Git(tree.root, git_dir=tree.git_dir, config=git.extra)
    with index_of(tree) as index:
        env = _at(tree.root, index)
        staged = _staged(here, env)
        ours = [
            change
            for change in _changes(here, old, new)
            if staged.get(change.path, "") in (change.old_id, change.new_id, "")
        ]
        lines = "".join(f"{change.new_mode} {change.new_id} 0\t{change.path}\0" for change in ours)
        here.check("update-index", "-z", "--index-info", stdin=_bytes(lines), env=env, keep=keep)
        touch = [change for change in ours if _is_ours(here, batch, tree.root, change, env)]
        there = "".join(f"{change.path}\0" for change in touch if change.new_mode != _GONE)
        here.check(
            "checkout-index", "-f", "-u", "-q", "-z", "--stdin", stdin=_bytes(there), env=env, keep=keep
        )
        for change in touch:
            if change.new_mode == _GONE:
                _remove(tree.root, change.path)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _changes(git: Git, old: str, new: str) -> list[_Change]:
    out = git.check("diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-abbrev", old, new).stdout
    words = out.decode("utf-8", "surrogateescape").split("\0")
    changes = []
    for head, path in zip(words[0::2], words[1::2], strict=False):
        _, new_mode, old_id, new_id, _ = head.split(" ")
        changes.append(_Change(path, old_id, new_mode, new_id))
    return changes


def _staged(git: Git, env: dict[str, str]) -> dict[str, str]:
    """path -> id in the index."""
    out = git.check("ls-files", "-s", "-z", env=env).stdout.decode("utf-8", "surrogateescape")
    pairs = (line.split("\t", 1) for line in out.split("\0") if line)
    return {path: head.split(" ")[1] for head, path in pairs}


def _is_ours(git: Git, batch: Batch, root: Path, change: _Change, env: dict[str, str]) -> bool:
    file = root / change.path
    if file.is_symlink() or file.is_dir():
        return False
    if not file.exists():
        return True
    data = file.read_bytes()
    if change.new_mode != _GONE:
        new = batch.read(change.new_id)
        if new is not None and new.data.startswith(data):
            return True
    clean = git.run("hash-object", "--stdin", f"--path={change.path}", stdin=data, env=env).text().strip()
    return clean in (change.old_id, change.new_id)


def _remove(root: Path, path: str) -> None:
    file = root / path
    file.unlink(missing_ok=True)
    for folder in file.parents:
        if folder == root or any(folder.iterdir()):
            return
        folder.rmdir()
