"""Moves each group of changed lines to where a reader expects it, among places that mean the same.

The rules are those of git's default ("indent heuristic", git 2.14 and later): line up with a change on the other
side if there is one, else split where indents and blank lines say that a new piece of code begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_MAX_INDENT = 200
_MAX_BLANKS = 20
_MAX_SLIDE = 100
_INDENT_WEIGHT = 60


@dataclass(slots=True)
class _Groups:
    """A cursor over runs of changed lines; between any two unchanged lines there is a run, maybe empty."""

    lines: Sequence[bytes]
    flags: list[bool]
    start: int = 0
    end: int = 0

    def __post_init__(self) -> None:
        self._grow_down()

    def _grow_down(self) -> None:
        while self.end < len(self.flags) and self.flags[self.end]:
            self.end += 1

    def _grow_up(self) -> None:
        while self.start > 0 and self.flags[self.start - 1]:
            self.start -= 1

    def next(self) -> bool:
        if self.end == len(self.flags):
            return False
        self.start = self.end = self.end + 1
        self._grow_down()
        return True

    def previous(self) -> bool:
        if self.start == 0:
            return False
        self.start = self.end = self.start - 1
        self._grow_up()
        return True

    def up(self) -> bool:
        if self.start > 0 and self.lines[self.start - 1] == self.lines[self.end - 1]:
            self.start -= 1
            self.end -= 1
            self.flags[self.start], self.flags[self.end] = True, False
            self._grow_up()
            return True
        return False

    def down(self) -> bool:
        if self.end < len(self.flags) and self.lines[self.start] == self.lines[self.end]:
            self.flags[self.start], self.flags[self.end] = False, True
            self.start += 1
            self.end += 1
            self._grow_down()
            return True
        return False

    @property
    def size(self) -> int:
        return self.end - self.start


def compact(
    lines: Sequence[bytes], flags: list[bool], other_lines: Sequence[bytes], other_flags: list[bool]
) -> None:
    """Slides the groups of `flags` in place."""
    group, other = _Groups(lines, flags), _Groups(other_lines, other_flags)
    while True:
        if group.size:
            _slide(group, other)
        if not group.next():
            return
        other.next()


def _slide(group: _Groups, other: _Groups) -> None:
    while True:
        size = group.size
        matching = -1
        while group.up():
            other.previous()
        earliest = group.end
        if other.size:
            matching = group.end
        while group.down():
            other.next()
            if other.size:
                matching = group.end
        if size == group.size:
            break
    if group.end == earliest:
        return
    if matching != -1:
        while not other.size:
            group.up()
            other.previous()
        return
    best = _best_end(group, earliest)
    while group.end > best:
        group.up()
        other.previous()


def _best_end(group: _Groups, earliest: int) -> int:
    low = max(earliest, group.end - group.size - 1, group.end - _MAX_SLIDE)
    best, best_score = -1, (0, 0)
    for end in range(low, group.end + 1):
        score = _score(group.lines, end, group.size)
        if best == -1 or _compare(score, best_score) <= 0:
            best, best_score = end, score
    return best


def _compare(one: tuple[int, int], two: tuple[int, int]) -> int:
    sign = (one[0] > two[0]) - (one[0] < two[0])
    return _INDENT_WEIGHT * sign + one[1] - two[1]


def _score(lines: Sequence[bytes], end: int, size: int) -> tuple[int, int]:
    a, b = _split_score(lines, end), _split_score(lines, end - size)
    return a[0] + b[0], a[1] + b[1]


def _indent(line: bytes) -> int:
    """Columns of indent, or -1 for a blank line."""
    width = 0
    for char in line:
        if char == 32:
            width += 1
        elif char == 9:
            width += 8 - width % 8
        elif char not in b"\n\r\v\f":
            return width
        if width >= _MAX_INDENT:
            return _MAX_INDENT
    return -1


def _around(lines: Sequence[bytes], order: range) -> tuple[int, int]:
    """Blank lines on the way, and the indent of the first line that is not blank (-1: none)."""
    blank = 0
    for n in order:
        indent = _indent(lines[n])
        if indent != -1:
            return blank, indent
        blank += 1
        if blank == _MAX_BLANKS:
            return blank, 0
    return blank, -1


def _split_score(lines: Sequence[bytes], at: int) -> tuple[int, int]:
    """(indent, penalty) of splitting the file before line `at`."""
    last = at >= len(lines)
    here = -1 if last else _indent(lines[at])
    pre_blank, pre_indent = _around(lines, range(at - 1, -1, -1))
    after_blank, post_indent = _around(lines, range(at + 1, len(lines)))
    penalty = (1 if pre_indent == -1 and pre_blank == 0 else 0) + (21 if last else 0)
    post_blank = 1 + after_blank if here == -1 else 0
    total = pre_blank + post_blank
    penalty += -30 * total + 6 * post_blank
    indent = here if here != -1 else post_indent
    if indent != -1 and pre_indent != -1 and indent != pre_indent:
        if indent > pre_indent:
            penalty += 10 if total else -4
        elif post_indent != -1 and post_indent > indent:
            penalty += 17 if total else 24
        else:
            penalty += 17 if total else 23
    return indent, penalty
