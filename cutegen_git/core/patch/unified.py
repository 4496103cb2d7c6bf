"""Unified diffs as models write them -> FileChange records.

The body comes before the header: counts only help to tell a line of code from the next header, and to see that
a reply was cut. Every "+" and "-" line ends in exactly one hunk.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from .names import header_name, looks_like_name
from .records import FileChange, Hunk, Item

HUNK = re.compile(r"^@@(?!@)")
_NUMBERS = re.compile(r"^@@+ *-(\d+)(?:,(\d+))? +\+(\d+)(?:,(\d+))? *(?:@@ ?(.*))?$")
_EXTENDED = re.compile(
    r"^(index [0-9a-f]+\.\.[0-9a-f]+|similarity index |dissimilarity index |old mode |new mode |new file mode |"
    r"deleted file mode |rename from |rename to |copy from |copy to |GIT binary patch|Binary files .* differ$)"
)
_MARKER = re.compile(r"^\\ ?no newline", re.IGNORECASE)
_NAMES = re.compile(r"^diff --git (\"?[ab]/.+?\"?) (\"?b/.+\"?)$|^diff --git (\S+) (\S+)$")


@dataclass(slots=True)
class _Section:
    """One file's part of the diff while it is read."""

    block: int
    old: str | None = None
    new: str | None = None
    git: tuple[str, str] | None = None
    fields: dict[str, str] = field(default_factory=dict)
    modes: list[str] = field(default_factory=list)
    binary: bool = False
    hunks: list[Hunk] = field(default_factory=list)

    def is_empty(self) -> bool:
        return not (self.old or self.new or self.git or self.hunks or self.fields)

    def finish(self) -> FileChange:
        get = self.fields.get
        old, new = self.old, self.new
        if old is None and new is None and self.git:
            old, new = self.git
        pair = (get("rename from", ""), get("rename to", ""))
        copy = (get("copy from", ""), get("copy to", ""))
        return FileChange(
            old=old,
            new=new,
            hunks=tuple(self.hunks),
            rename=pair if all(pair) else None,
            copy=copy if all(copy) else None,
            creates="new file mode" in self.fields,
            deletes="deleted file mode" in self.fields,
            modes=tuple(mode for mode in self.modes if mode != "100644"),
            binary=self.binary,
            block=self.block,
        )


def parse(lines: Sequence[str], block: int) -> list[FileChange]:
    """The file changes of one diff text, in order. Never raises: what cannot be read has no hunks."""
    section, at = _Section(block), 0
    done: list[FileChange] = []
    while at < len(lines):
        line = lines[at]
        if line.startswith("diff --git "):
            section = _next(section, done)
            section.git = _git_names(line)
        elif is_file_header(lines, at):
            if section.old is not None or section.new is not None or section.hunks:
                section = _next(section, done)
            at = _read_names(section, lines, at)
            continue
        elif _EXTENDED.match(line):
            _read_extended(section, line)
        elif HUNK.match(line):
            hunk, at = read_hunk(lines, at, block)
            section.hunks.append(hunk)
            continue
        elif section.binary and not section.hunks:
            pass
        elif line[:1] in "+-" and line and not section.binary:
            hunk, at = read_hunk(lines, at, block, bare=True)
            section.hunks.append(hunk)
            continue
        elif not section.hunks and starts_bare(lines, at):
            hunk, at = read_hunk(lines, at, block, bare=True)
            section.hunks.append(hunk)
            continue
        at += 1
    _next(section, done)
    return done


def _next(section: _Section, done: list[FileChange]) -> _Section:
    if not section.is_empty():
        done.append(section.finish())
    return _Section(section.block)


def _git_names(line: str) -> tuple[str, str] | None:
    match = _NAMES.match(line[:2000])
    if not match:
        return None
    a, b, c, d = match.groups()
    return header_name(a or c), header_name(b or d)


def _read_names(section: _Section, lines: Sequence[str], at: int) -> int:
    if lines[at].startswith("--- "):
        section.old = header_name(lines[at][4:])
        at += 1
    if at < len(lines) and lines[at].startswith("+++ "):
        section.new = header_name(lines[at][4:])
        at += 1
    return at


def _read_extended(section: _Section, line: str) -> None:
    if line.startswith(("GIT binary patch", "Binary files")):
        section.binary = True
        section.fields.setdefault("binary", "")
        return
    for key in ("rename from", "rename to", "copy from", "copy to"):
        if line.startswith(key + " "):
            section.fields[key] = header_name(line[len(key) + 1 :])
    for key in ("old mode", "new mode", "new file mode", "deleted file mode"):
        if line.startswith(key + " "):
            section.fields[key] = line
            if key != "deleted file mode" and key != "old mode":
                section.modes.append(line.split()[-1])
            if key == "new mode":
                section.modes.append("changed")
    mode = re.match(r"^index [0-9a-f]+\.\.[0-9a-f]+ (\d{6})$", line)
    if mode and mode.group(1) in ("120000", "160000"):
        section.modes.append(mode.group(1))


def is_file_header(lines: Sequence[str], at: int) -> bool:
    """Does a "---"/"+++" pair (or one of them right before a hunk) start here, and not a changed line?"""
    line = lines[at]
    after = lines[at + 1] if at + 1 < len(lines) else ""
    if line.startswith("--- "):
        if after.startswith("+++ "):
            return looks_like_name(line[4:]) or looks_like_name(after[4:])
        return bool(HUNK.match(after)) and looks_like_name(line[4:])
    return line.startswith("+++ ") and bool(HUNK.match(after)) and looks_like_name(line[4:])


def starts_bare(lines: Sequence[str], at: int) -> bool:
    """Do kept lines start here that belong to a hunk without any @@ line?"""
    for line in lines[at:]:
        if (
            HUNK.match(line)
            or line.startswith(("diff --git ", "--- ", "+++ ", "Index: "))
            or _EXTENDED.match(line)
        ):
            return False
        if line[:1] in ("+", "-"):
            return lines[at].startswith(" ")
    return False


def is_section_start(lines: Sequence[str], at: int) -> bool:
    line = lines[at]
    if line.startswith("Index: ") and at + 1 < len(lines) and lines[at + 1].startswith("====="):
        return True
    return line.startswith("diff --git ") or is_file_header(lines, at)


def _ends_hunk(lines: Sequence[str], at: int, *, bare: bool) -> bool:
    """Does another file begin here? A "---"/"+++" pair in a hunk with @@ needs its own @@ to count."""
    if not is_section_start(lines, at):
        return False
    if bare or not lines[at].startswith("--- ") or at + 2 >= len(lines):
        return True
    return any(HUNK.match(line) for line in lines[at + 1 : at + 3])


def read_hunk(lines: Sequence[str], at: int, block: int, *, bare: bool = False) -> tuple[Hunk, int]:
    """The hunk whose @@ line is at `at` (`bare`: there is none) and where the reader goes on."""
    header = "" if bare else lines[at]
    numbers = _NUMBERS.match(header)
    at += not bare
    items: list[Item] = []
    soft = 0
    while at < len(lines) and not HUNK.match(lines[at]) and not _ends_hunk(lines, at, bare=bare):
        line = lines[at]
        if _is_signature(lines, at):
            at = len(lines)
            break
        if _MARKER.match(line):
            if items:
                items[-1] = Item(items[-1].sign, items[-1].text, items[-1].raw, no_newline=True)
        else:
            items.append(item_of(line))
            soft = soft + 1 if not line else 0
        at += 1
    counts = [int(one) if one else None for one in numbers.groups()[:4]] if numbers else [None] * 4
    hunk = Hunk(
        items=tuple(items),
        header=header,
        old_start=counts[0],
        old_count=counts[1] if counts[1] is not None or counts[0] is None else 1,
        new_start=counts[2],
        new_count=counts[3] if counts[3] is not None or counts[2] is None else 1,
        anchors=_anchors(header, numbers),
        soft_tail=soft,
        block=block,
    )
    return hunk, at


def item_of(line: str) -> Item:
    """One body line; a line with no sign is a kept line that lost it."""
    sign = line[:1]
    if sign == "−":  # the typographic minus sign
        sign = "-"
    if sign in ("+", "-"):
        return Item(sign, line[1:], line[1:])
    return Item(" ", line[1:] if sign == " " else line, line)


def _is_signature(lines: Sequence[str], at: int) -> bool:
    """git format-patch ends a mail with "-- " and its version."""
    if lines[at] not in ("-- ", "--"):
        return False
    rest = [line for line in lines[at + 1 :] if line.strip()]
    return len(rest) == 1 and bool(re.fullmatch(r"\d+\.\d+[\w.() -]*", rest[0]))


def _anchors(header: str, numbers: re.Match[str] | None) -> tuple[str, ...]:
    """The text of an @@ line that is not numbers: a section heading, or a line to look for."""
    heading = (numbers.group(5) or "") if numbers else header[2:]
    head, mark, tail = heading.partition("@@")
    if mark and not numbers:
        heading = head if re.search(r"[A-Za-z_]", head) else tail
    heading = heading.strip()
    return (heading,) if re.search(r"[A-Za-z_]", heading) else ()


def is_short(hunk: Hunk) -> bool:
    """Is the body shorter than the counts say, and on no side longer?"""
    if hunk.old_count is None or hunk.new_count is None:
        return False
    old = sum(item.sign != "+" for item in hunk.items)
    new = sum(item.sign != "-" for item in hunk.items)
    return old <= hunk.old_count and new <= hunk.new_count and not is_exact(hunk)


def is_exact(hunk: Hunk) -> bool:
    """Does the body have exactly the lines that the counts say?"""
    old = sum(item.sign != "+" for item in hunk.items)
    new = sum(item.sign != "-" for item in hunk.items)
    return (old, new) == (hunk.old_count, hunk.new_count)
