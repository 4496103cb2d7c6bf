"""Notes that lose no line: one ref a writer, read whole, appended under compare-and-swap.

`git notes append` loses lines when two processes run it. Here the blob, the tree and the commit are made first and
the ref moves only from the value that they were made from. The tree has one level of folders (`ab/cdef…`), as git
makes it for many notes; plain git reads it (`git log --notes='cutegen/verdict/*'`), and notes that plain git wrote
with another fan-out are read too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping

from cutegen_git.words.errors import RepoError

from . import trees
from .batch import Batch
from .discover import Place
from .git import Git
from .objects import TOOL, write_blobs, write_commit
from .refs import NOTES, RefChanged, RefUpdate, listed
from .trees import FILE, FOLDER, Entry, Tree
from .txn import Writer

_TRIES = 100
_NAME = re.compile(r"refs/notes/cutegen/[a-z]+/[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HEX = re.compile(r"[0-9a-f]+")

Found = dict[str, list[tuple[str, str]]]  # object id -> (path in the notes tree, blob id)


class Notes:
    """The notes of one repository."""

    def __init__(self, git: Git, batch: Batch, place: Place, writer: Writer) -> None:
        self.git, self.batch, self.writer = git, batch, writer
        self.id_bytes = 32 if place.object_format == "sha256" else 20

    def refs(self, kind: str) -> dict[str, str]:
        """Writer -> full ref name, for one kind: "verdict", "samples", "transcript", …"""
        prefix = f"{NOTES}{kind}/"
        return {ref.removeprefix(prefix): ref for ref in listed(self.git, prefix)}

    def read(self, ref: str) -> dict[str, str]:
        """Object id -> text of its note, of the whole ref; empty where there is no such ref."""
        found = self._found(ref)
        blobs = [(id, blob) for id, places in found.items() for _, blob in places]
        texts: dict[str, str] = {}
        for (id, _), item in zip(blobs, self.batch.read_many([blob for _, blob in blobs]), strict=True):
            text = item.data.decode("utf-8", "replace") if item is not None else ""
            texts[id] = union(texts[id], text) if id in texts else text
        return texts

    def read_one(self, ref: str, id: str) -> str:
        """The text of one note; "" if there is none."""
        text = ""
        for item in self.batch.read_many([f"{ref}:{name}" for name in _places(id)]):
            text = text if item is None else union(text, item.data.decode("utf-8", "replace"))
        return text

    def append(self, ref: str, lines: Iterable[tuple[str, str]], *, at: int | None = None) -> None:
        """Add lines (object id, text) at the end of their notes; a line that stands there already is left out."""
        wanted: dict[str, list[str]] = {}
        for id, line in lines:
            if "\n" in line or not line.strip():
                raise RepoError("a line of a note is empty or has a line break in it")
            wanted.setdefault(id, []).append(line)
        added = {id: "".join(f"{line}\n" for line in new) for id, new in wanted.items()}
        self._change(ref, {id: _appender(text) for id, text in added.items()}, "append", at)

    def replace(self, ref: str, texts: Mapping[str, str], *, at: int | None = None) -> None:
        """Set whole notes; an empty text takes the note away."""
        self._change(ref, {id: _setter(text) for id, text in texts.items()}, "replace", at)

    def merged(self, ours: str, theirs: str) -> str:
        """The commit that joins two histories of one writer's notes: every line of both. The same on every clone."""
        first, second = sorted((ours, theirs))
        one, two = self.read(first), self.read(second)
        texts = {id: union(one.get(id, ""), two.get(id, "")) for id in sorted({*one, *two})}
        tree = self._written(first, {id: text for id, text in texts.items() if one.get(id) != text})
        dates = [int(self.git.out("show", "-s", "--format=%ct", commit)) for commit in (first, second)]
        return write_commit(
            self.git, tree, [first, second], "Notes joined by cutegen-git", TOOL, TOOL, max(dates)
        )

    def _change(
        self, ref: str, changes: Mapping[str, Callable[[str], str]], word: str, at: int | None
    ) -> None:
        if not _NAME.fullmatch(ref):
            raise RepoError(f"{ref} is not a notes ref of cutegen-git (refs/notes/cutegen/<kind>/<writer>)")
        for _ in range(_TRIES):
            with self.writer.turn():
                tip = self.batch.id_of(ref)
                old = {id: self.read_one(tip, id) if tip else "" for id in changes}
                new = {id: change(old[id]) for id, change in changes.items()}
                new = {id: text for id, text in new.items() if text != old[id]}
                if not new:
                    return
                tree = self._written(tip, new)
                when = int(time.time()) if at is None else at
                parents = [tip] if tip else []
                commit = write_commit(self.git, tree, parents, f"Notes: {word}", TOOL, TOOL, when)
                try:
                    self.writer.move([RefUpdate(ref, tip, commit)], f"cutegen-git notes {word}")
                except RefChanged:
                    continue  # another git wrote here between: read again
                return
        raise RepoError(f"{ref} is being written by another program all the time: try again later")

    def _written(self, tip: str | None, texts: Mapping[str, str]) -> str:
        """The tree of `tip` with these notes set (taken away where empty)."""
        entries: dict[str, Entry | None] = {}
        blobs = write_blobs(self.git, [text.encode() for text in texts.values()])
        for (id, text), blob in zip(texts.items(), blobs, strict=True):
            place, *others = _places(id)
            entries |= dict.fromkeys(others)  # where plain git may have put it
            entries[place] = Entry(FILE, blob) if text else None
        return trees.changed(self.git, self.batch, tip, entries, self.id_bytes)

    def _found(self, ref: str) -> Found:
        """Every note of the ref, with where it stands."""
        if self.batch.id_of(ref) is None:
            return {}
        found: Found = {}
        level: list[tuple[str, Tree]] = [("", trees.read(self.batch, ref, self.id_bytes))]
        while level:
            folders: list[tuple[str, str]] = []
            for prefix, tree in level:
                for name, entry in tree.items():
                    path = f"{prefix}{name}"
                    id = path.replace("/", "")
                    if not _HEX.fullmatch(id):
                        continue
                    if entry.mode == FOLDER:
                        folders.append((f"{path}/", entry.id))
                    elif len(id) == 2 * self.id_bytes:
                        found.setdefault(id, []).append((path, entry.id))
            read = self.batch.read_many([id for _, id in folders])
            level = [
                (path, trees.parse(item.data, self.id_bytes))
                for (path, _), item in zip(folders, read, strict=True)
                if item is not None
            ]
        return found


def _places(id: str) -> tuple[str, str, str]:
    """Where a note can stand, ours first."""
    return f"{id[:2]}/{id[2:]}", id, f"{id[:2]}/{id[2:4]}/{id[4:]}"


def union(one: str, two: str) -> str:
    """The lines of both texts, each once, in the order in which they are met."""
    lines = dict.fromkeys([*one.split("\n"), *two.split("\n")])
    return "".join(f"{line}\n" for line in lines if line)


def _appender(added: str) -> Callable[[str], str]:
    return lambda old: union(old, added) if old else added


def _setter(text: str) -> Callable[[str], str]:
    return lambda old: text
