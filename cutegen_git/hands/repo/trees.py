"""Trees: reading them through the batch, and writing a changed tree without index or worktree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cutegen_git.words.errors import RepoError

from .batch import Batch
from .git import Git

FILE, EXECUTABLE, SYMLINK, SUBMODULE, FOLDER = "100644", "100755", "120000", "160000", "40000"
_KINDS = {FOLDER: "tree", SUBMODULE: "commit"}  # everything else is a blob
WORDS = {EXECUTABLE: "an executable file", SYMLINK: "a symbolic link", SUBMODULE: "a submodule"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a tree."""

    mode: str  # as in the tree object: "100644", "40000"
    id: str


Tree = dict[str, Entry]


def parse(data: bytes, id_bytes: int) -> Tree:
    """The entries of a tree object; a name that is not UTF-8 keeps its bytes as surrogates."""
    entries: Tree = {}
    at = 0
    while at < len(data):
        space = data.index(b" ", at)
        end = data.index(b"\0", space)
        id = data[end + 1 : end + 1 + id_bytes].hex()
        name = data[space + 1 : end].decode("utf-8", "surrogateescape")
        entries[name] = Entry(data[at:space].decode(), id)
        at = end + 1 + id_bytes
    return entries


def read(batch: Batch, name: str, id_bytes: int) -> Tree:
    """The entries of a tree or of a commit's tree; RepoError if there is none."""
    found = batch.read(f"{name}^{{tree}}")
    if found is None:
        raise RepoError(f"{name} is not a commit or tree of this repository")
    return parse(found.data, id_bytes)


def write(git: Git, trees: list[Tree]) -> list[str]:
    """The ids of the trees, written in one call."""
    if not trees:
        return []
    text = b"".join(_listing(tree) + b"\0" for tree in trees)  # an empty record ends a tree
    return git.check("mktree", "-z", "--batch", stdin=text).text().split()


def _listing(tree: Tree) -> bytes:
    lines = (
        f"{entry.mode.zfill(6)} {_KINDS.get(entry.mode, 'blob')} {entry.id}\t{name}\0"
        for name, entry in tree.items()
    )
    return "".join(lines).encode("utf-8", "surrogateescape")


@dataclass(slots=True)
class _Folder:
    """A tree being changed: its own entries, and the folders below that change too."""

    tree: Tree
    below: dict[str, _Folder] = field(default_factory=dict)


def changed(
    git: Git, batch: Batch, base: str | None, entries: Mapping[str, Entry | None], id_bytes: int
) -> str:
    """The id of `base` (a commit or tree; None for the empty tree) with the paths set, or taken away where None."""
    root = _Folder(read(batch, base, id_bytes) if base else {})
    for path, entry in entries.items():
        *folders, name = checked(path).split("/")
        here = root
        for folder in folders:
            here = _enter(batch, here, folder, id_bytes)
        here.below.pop(name, None)
        if entry is None:
            here.tree.pop(name, None)
        else:
            here.tree[name] = entry
    return _write_up(git, root)


def _enter(batch: Batch, here: _Folder, name: str, id_bytes: int) -> _Folder:
    if name not in here.below:
        old = here.tree.get(name)
        below = read(batch, old.id, id_bytes) if old is not None and old.mode == FOLDER else {}
        here.below[name] = _Folder(below)
    return here.below[name]


def _write_up(git: Git, root: _Folder) -> str:
    """Write level by level from the bottom, one call a level. Empty folders do not exist in git."""
    levels: list[list[_Folder]] = [[root]]
    while levels[-1]:
        levels.append([below for folder in levels[-1] for below in folder.below.values()])
    ids: dict[int, str] = {}
    for level in reversed(levels[:-1]):
        for folder in level:
            for name, below in folder.below.items():
                if below.tree:
                    folder.tree[name] = Entry(FOLDER, ids[id(below)])
                else:
                    folder.tree.pop(name, None)
        written = [folder for folder in level if folder.tree or folder is root]
        ids.update(zip(map(id, written), write(git, [folder.tree for folder in written]), strict=True))
    return ids[id(root)]


def checked(path: str) -> str:
    """The path itself; RepoError for one that could leave the tree or reach into a repository."""
    parts = path.split("/")
    if any(part in ("", ".", "..") or part.lower().rstrip(". ") in (".git", "git~1") for part in parts):
        raise RepoError(f"{path!r} is not a path inside the task")
    if any(sign in path for sign in "\0\n\\:"):
        raise RepoError(f"{path!r} has a sign in it that no file name here may have")
    return path
