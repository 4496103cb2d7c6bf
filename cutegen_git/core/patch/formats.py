"""The edit formats that are not unified diffs: SEARCH/REPLACE, the "*** Begin Patch" envelope, whole files."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .find import BEGIN_PATCH, DIVIDER, END_PATCH, REPLACE, SEARCH
from .names import NULL, header_name, lone_name
from .records import Block, FileChange, Hunk, Item
from .unified import HUNK, item_of

_SECTION = re.compile(r"^\*\*\* (Update|Add|Delete) File: (.*)$")
_MOVE = re.compile(r"^\*\*\* Move to: (.*)$")


def search_replace(block: Block, number: int) -> tuple[list[FileChange], bool]:
    """One change per SEARCH block, and whether the last one is whole."""
    changes: list[FileChange] = []
    name, state = block.hint, "out"
    old: list[str] = []
    new: list[str] = []
    for line in block.lines:
        if state == "out":
            if SEARCH.match(line):
                state, old, new = "old", [], []
            else:
                name = lone_name(line) or name
        elif state == "old" and DIVIDER.match(line):
            state = "new"
        elif state == "new" and REPLACE.match(line):
            changes.append(_replacement(name, old, new, number))
            state = "out"
        else:
            (old if state == "old" else new).append(line)
    return changes, state == "out"


def _replacement(name: str, old: Sequence[str], new: Sequence[str], number: int) -> FileChange:
    items = [Item("-", line, line) for line in old] + [Item("+", line, line) for line in new]
    hunk = Hunk(tuple(items), header="<<<<<<< SEARCH", block=number)
    return FileChange(name or None, name or None, (hunk,), block=number)


def envelope(block: Block, number: int) -> list[FileChange]:
    """The changes of a "*** Begin Patch" text."""
    changes: list[FileChange] = []
    at = 0
    lines = block.lines
    while at < len(lines):
        section = _SECTION.match(lines[at])
        at += 1
        if not section:
            continue
        start = at
        while at < len(lines) and not BEGIN_PATCH.match(lines[at]) and not END_PATCH.match(lines[at]):
            at += 1
        changes.append(_section(section.group(1), header_name(section.group(2)), lines[start:at], number))
    return changes


def _section(verb: str, name: str, body: Sequence[str], number: int) -> FileChange:
    if verb == "Delete":
        return FileChange(name, NULL, deletes=True, block=number)
    if verb == "Add":
        added = tuple(Item("+", line[1:], line) for line in body if line.startswith("+"))
        return FileChange(NULL, name, (Hunk(added, block=number),), creates=True, block=number)
    moves = [match for match in map(_MOVE.match, body) if match]
    rename = (name, header_name(moves[0].group(1))) if moves else None
    return FileChange(name, name, tuple(_envelope_hunks(body, number)), rename=rename, block=number)


def _envelope_hunks(body: Sequence[str], number: int) -> list[Hunk]:
    hunks: list[Hunk] = []
    anchors: list[str] = []
    items: list[Item] = []
    header = ""

    def flush() -> None:
        if items:
            soft = next((n for n, item in enumerate(reversed(items)) if item.raw), len(items))
            hunks.append(Hunk(tuple(items), header, anchors=tuple(anchors), soft_tail=soft, block=number))
            items.clear()
            anchors.clear()

    for line in body:
        if HUNK.match(line):
            flush()
            header = line
            anchor = re.sub(r"\s*@@$", "", line[2:]).strip()
            if re.search(r"[A-Za-z_]", anchor):
                anchors.append(anchor)
        elif not line.startswith("*** "):
            items.append(item_of(line))
    flush()
    return hunks


def exported(lines: Sequence[str]) -> set[str]:
    """The names of the functions with C linkage."""
    return set(re.findall(r'extern\s+"C"[^;{(]{0,300}?\b(\w+)\s*\(', "\n".join(lines)))


def looks_whole(new: Sequence[str], old: Sequence[str]) -> bool:
    """Is `new` a complete replacement of the file `old`, not a fragment of it?

    Braces balance, the exported functions are all there, and so is the head of the file.
    """
    text, before = "\n".join(new), "\n".join(old)
    if not text.strip() or not _balanced(text, before):
        return False
    if not exported(old) <= exported(new):
        return False
    if "#include" in before and "#include" not in text:
        return False
    if "#pragma once" in before and "#pragma once" not in text:
        return False
    if exported(old):
        return True
    if "__global__" in before and "__global__" not in text:
        return False
    return sum(bool(line.strip()) for line in new) * 2 >= sum(bool(line.strip()) for line in old)


def _balanced(new: str, old: str) -> bool:
    """Do brackets balance in `new`, or miss by what `old` (with its comments) misses by?"""
    pairs = (("{", "}"), ("(", ")"))
    return all(new.count(a) - new.count(b) in (0, old.count(a) - old.count(b)) for a, b in pairs)
