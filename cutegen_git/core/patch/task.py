"""The state of one reply on its way to a patch: the tree, what may change, what was decided, what went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cutegen_git.words.errors import PatchProblem

from . import explain, names
from .find import Found
from .index import Index
from .records import Failure, Hunk, Item
from .text import Doc, decode, doc


@dataclass(slots=True)
class Task:
    """Nothing is written here before every part of the reply has been understood."""

    files: Mapping[str, bytes]
    allowed: tuple[str, ...]
    links: frozenset[str]
    found: Found
    failures: list[Failure] = field(default_factory=list)
    result: dict[str, bytes | None] = field(default_factory=dict)  # new texts; None: deleted
    hunks: dict[str, list[Hunk]] = field(default_factory=dict)  # by file, in the order of the reply
    applied_before: int = 0  # hunks whose result was there already
    docs: dict[str, Doc] = field(default_factory=dict)
    indexes: dict[str, Index] = field(default_factory=dict)
    open_ends: set[tuple[int, tuple[Item, ...]]] = field(default_factory=set)  # where the reply stopped

    def fail(self, problem: PatchProblem, text: str, path: str = "") -> None:
        self.failures.append(Failure(problem, path, text))

    def stop_if_failed(self) -> None:
        if self.failures:
            raise explain.error(self.failures)

    def editable(self) -> list[str]:
        """The existing files that a reply may change."""
        return [path for path in self.files if self.is_allowed(path) and path not in self.links]

    def is_allowed(self, path: str) -> bool:
        return names.is_allowed(path, self.allowed)

    def known(self, name: str) -> str | None:
        """The existing file that a name of the reply means."""
        return names.known(name, self.files, self.allowed)

    def doc(self, path: str) -> Doc:
        """The file as it was, as lines."""
        if path not in self.docs:
            self.docs[path] = doc(decode(self.files.get(path, b"")))
        return self.docs[path]

    def index(self, path: str) -> Index:
        """The file as it was, prepared for looking up lines."""
        if path not in self.indexes:
            self.indexes[path] = Index(self.doc(path).texts)
        return self.indexes[path]

    def put(self, path: str, content: bytes | None) -> None:
        """Notes the new text of a file; two different ones contradict each other."""
        if path in self.result and self.result[path] != content:
            self.fail(PatchProblem.CONFLICTING_DIFFS, f"The reply gives {path} two different texts.", path)
        elif content is not None and b"\0" in content:
            self.fail(PatchProblem.BINARY_PATCH, f"{path} would hold a NUL byte.", path)
        else:
            self.result[path] = content
