"""Just enough of C++ to rewrite it safely: string literals, brackets, line markers."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence

MARKER = re.compile(r'^#\s*(?:line\s+)?(\d+)\s+"([^"]*)"([ \d]*)$', re.MULTILINE)
# In order of trial: raw strings, strings, characters. A quote between digits is C++14's digit separator.
LITERAL = re.compile(
    r'(?:\b(?:u8|u|U|L)?R"([^(\s\\)]{0,16})\((?:.|\n)*?\)\1")|"(?:[^"\\\n]|\\.)*"|(?<![0-9a-fA-F])\'(?:[^\'\\\n]|\\.)+\''
)
OPENERS = {"(": ")", "[": "]", "{": "}"}


class Text:
    """Preprocessed text with the questions that a rewriter asks of it."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._marks = [
            (m.start(), m.end(), int(m[1]), m[2], "3" in m[3].split()) for m in MARKER.finditer(source)
        ]
        self._mark_starts = [m[0] for m in self._marks]
        spans = [m.span() for m in LITERAL.finditer(source)]
        self._starts = [s for s, _ in spans]
        self._ends = [e for _, e in spans]

    def in_string(self, at: int) -> bool:
        """Is this place inside a string or character literal?"""
        i = bisect.bisect_right(self._starts, at) - 1
        return i >= 0 and at < self._ends[i]

    def place(self, at: int) -> tuple[str, int, bool]:
        """The file, the line and whether it is a system header."""
        i = bisect.bisect_right(self._mark_starts, at) - 1
        if i < 0:
            return "", self.source.count("\n", 0, at) + 1, False
        _, end, line, file, system = self._marks[i]
        return file, line + self.source.count("\n", end + 1, at), system

    def user_spans(self, user_files: Sequence[str]) -> Iterator[tuple[int, int]]:
        """The stretches of text that come from the user's files."""
        names = set(user_files)
        for i, (_, end, _, file, _) in enumerate(self._marks):
            if file in names:
                yield end, self._mark_starts[i + 1] if i + 1 < len(self._marks) else len(self.source)

    def depth_is_zero(self, at: int) -> bool:
        """Is this place at namespace scope? Only the nearest unmatched brace is looked at."""
        depth = 0
        for i in range(at - 1, -1, -1):
            c = self.source[i]
            if c not in "{}" or self.in_string(i):
                continue
            depth += (c == "}") - (c == "{")
            if depth < 0:
                head = self.source[max(0, i - 200) : i]
                return re.search(r'(?:\bnamespace(?:\s+[\w:]+)?|extern\s+"C(?:\+\+)?")\s*$', head) is not None
        return True


def balanced_end(source: str, at: int, opener: str, closer: str) -> int:
    """The place behind the bracket that closes the one at `at`; the end of the text if there is none."""
    depth, i = 0, at
    while i < len(source):
        c = source[i]
        if c in "\"'R":
            literal = LITERAL.match(source, i)
            if literal:
                i = literal.end()
                continue
        if opener == "<" and c in OPENERS:
            i = balanced_end(source, i, c, OPENERS[c])
            continue
        depth += (c == opener) - (c == closer)
        i += 1
        if depth == 0:
            return i
    return len(source)


def balanced_back(source: str, at: int, opener: str, closer: str) -> int:
    """The place of the bracket that opens what `at` closes; -1 if there is none."""
    depth, i = 0, at
    while i >= 0:
        c = source[i]
        if opener == "<" and c in ")]}":
            i = balanced_back(source, i, {")": "(", "]": "[", "}": "{"}[c], c) - 1
            if i < -1:
                return -1
            continue
        depth += (c == closer) - (c == opener)
        if depth == 0:
            return i
        i -= 1
    return -1


def statement_end(source: str, at: int) -> int:
    """The place behind the `;` that ends the statement."""
    i = at
    while i < len(source) and source[i] != ";":
        if source[i] in OPENERS:
            i = balanced_end(source, i, source[i], OPENERS[source[i]])
            continue
        i += 1
    return min(i + 1, len(source))


def split_commas(code: str) -> list[str]:
    """The parts between commas that stand in no bracket, angle brackets of templates included."""
    parts, depth, angle, i = [""], 0, 0, 0
    while i < len(code):
        literal = LITERAL.match(code, i) if code[i] in "\"'R" else None
        if literal:
            parts[-1] += literal.group()
            i = literal.end()
            continue
        c = code[i]
        depth += (c in "([{") - (c in ")]}")
        if depth == 0 and c == "<" and re.search(r"\w\s*$", code[:i][-20:]):
            angle += 1
        elif depth == 0 and c == ">" and angle and code[i - 1 : i] != "-":
            angle -= 1
        if c == "," and depth == 0 and angle == 0:
            parts.append("")
        else:
            parts[-1] += c
        i += 1
    return parts
