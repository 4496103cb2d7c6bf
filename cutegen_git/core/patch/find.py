"""Where in a reply the edits are: fences, bare diffs, SEARCH/REPLACE blocks, envelopes; thinking is set aside.

Leaves out what the pieces mean; `unified` and `formats` read them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .clean import FENCE, unwrap, without_quote_marks, without_thinking
from .names import lone_name, mentioned
from .records import Block, BlockKind
from .unified import HUNK, is_file_header, is_section_start, item_of, read_hunk

_DIFF_LABELS = {"diff", "patch", "udiff", "unified-diff", "unidiff", "git-diff", "gitdiff"}
SEARCH = re.compile(r"^\s{0,3}<{5,9} ?(SEARCH|ORIGINAL|HEAD|BEFORE)\b.*$")
DIVIDER = re.compile(r"^\s{0,3}={5,9}\s*$")
REPLACE = re.compile(r"^\s{0,3}>{5,9} ?(REPLACE|UPDATED|AFTER|NEW)\b.*$")
BEGIN_PATCH = re.compile(r"^\*\*\* (Begin Patch|(Update|Add|Delete) File: .*)$")
END_PATCH = re.compile(r"^\*\*\* End Patch\b")
_STRICT_HUNK = re.compile(r"^@@ *-\d+(,\d+)? +\+\d+(,\d+)? *@@|^@@ *(\.\.\. *)?@@ *$|^@@$")


@dataclass(frozen=True, slots=True)
class Found:
    """The pieces of a reply."""

    blocks: tuple[Block, ...]
    prose: str
    lines: tuple[str, ...]  # the reply as lines, thinking blanked
    cut_in_thought: bool = False  # the reply ended while the model was still thinking


def find(lines: Sequence[str]) -> Found:
    """All pieces of a reply that may hold edits, in order."""
    kept, cut = without_thinking(unwrap(list(lines)))
    kept = without_quote_marks(kept)
    blocks: list[Block] = []
    at = 0
    while at < len(kept):
        block = _block_at(kept, at, blocks[-1].last if blocks else 0)
        if block is None:
            at += 1
        else:
            blocks.append(block)
            at = block.last
    return Found(tuple(blocks), prose(kept, blocks), tuple(kept), cut)


def prose(lines: Sequence[str], blocks: Sequence[Block]) -> str:
    """The lines outside of `blocks`, without the file names that only introduce them; blank runs folded."""
    inside = {n for block in blocks for n in range(block.first, block.last)}
    starts = {block.first for block in blocks}
    out: list[str] = []
    for n, line in enumerate(lines):
        if n in inside or (lone_name(line) and any(n + k in starts for k in (1, 2))):
            continue
        if line.strip() or (out and out[-1]):
            out.append(line.rstrip())
    return "\n".join(out).strip()


def _block_at(lines: list[str], at: int, floor: int) -> Block | None:
    line = lines[at]
    if BEGIN_PATCH.match(line):
        return _until(lines, at, END_PATCH, BlockKind.ENVELOPE)
    if SEARCH.match(line):
        return _search(lines, at, _hint(lines, at, floor)[0])
    fence = FENCE.match(line)
    if fence:
        return _fence(lines, at, fence, _hint(lines, at, floor))
    if is_section_start(lines, at) or _STRICT_HUNK.match(line):
        return _bare_diff(lines, at, _hint(lines, at, floor)[0])
    return None


def _hint(lines: list[str], at: int, floor: int) -> tuple[str, bool]:
    """The file name in the last line of text before line `at`, and whether it stands alone there."""
    before = [line for line in lines[max(floor, at - 3) : at] if line.strip()]
    if not before:
        return "", False
    names = mentioned(before[-1])
    lone = lone_name(before[-1])
    return lone or (names[0] if len(set(names)) == 1 else ""), bool(lone)


def _until(lines: list[str], at: int, end: re.Pattern[str], kind: BlockKind) -> Block:
    for n in range(at, len(lines)):
        if end.match(lines[n]):
            return Block(kind, tuple(lines[at : n + 1]), at, n + 1)
    return Block(kind, tuple(lines[at:]), at, len(lines), closed=False)


def _search(lines: list[str], at: int, hint: str) -> Block:
    """Consecutive SEARCH/REPLACE blocks outside of a fence."""
    block = _until(lines, at, REPLACE, BlockKind.SEARCH)
    return Block(BlockKind.SEARCH, block.lines, at, block.last, hint, block.closed)


def _bare_diff(lines: list[str], at: int, hint: str) -> Block:
    """A diff outside of any fence: as long as lines look like one, or the counts ask for more."""
    n, last = at, at
    while n < len(lines):
        if HUNK.match(lines[n]):
            n = last = _bare_hunk_end(lines, n)
        elif is_section_start(lines, n):
            n += 1
            last = n
        elif lines[n].strip() and not re.match(
            r"^(---|\+\+\+|[ +-]|[a-z]+ |={5,}|Binary|GIT|Index:)", lines[n]
        ):
            break
        elif lines[n].strip() and FENCE.match(lines[n]):
            break
        else:
            binary = re.match(r"^(Binary files|GIT binary patch)", lines[n])
            header = re.match(
                r"^(index |old mode|new |deleted |rename |copy |similarity |\+\+\+ |--- |=====)", lines[n]
            )
            n += 1
            last = n if binary or header else last
            if not binary and not header and lines[n - 1].strip() and lines[n - 1][0] not in " +-":
                break
    return Block(BlockKind.DIFF, tuple(lines[at:last]), at, last, hint, closed=last < len(lines))


def _bare_hunk_end(lines: list[str], at: int) -> int:
    """One past the last line of a hunk that no fence bounds."""
    hunk, end = read_hunk(lines, at, 0)
    old, new = hunk.old_count, hunk.new_count
    n = last = at + 1
    while n < end:
        line = lines[n]
        whole = (old, new) == (0, 0)
        wanted = old is not None and new is not None and (old > 0 or new > 0)
        if not line.startswith((" ", "+", "-", "\\")):
            if FENCE.match(line) or re.match(r"^</?\w+>$", line):
                break
            if line and not wanted and (whole or not _signs_follow(lines, n, end)):
                break
        if not line and not wanted and not _continues(lines, n, end, whole=whole):
            break
        item = item_of(line)
        if old is not None and new is not None and not line.startswith("\\"):
            old -= item.sign != "+"
            new -= item.sign != "-"
        n += 1
        last = n
    return last


def _signs_follow(lines: list[str], at: int, end: int) -> bool:
    """Before the next empty line: is there an added or removed line that would be lost if the hunk ended here?"""
    for line in lines[at:end]:
        if not line.strip() or FENCE.match(line):
            return False
        if re.match(r"^(\+|-(?! \S))", line):  # "- text" is an item of a list
            return True
    return False


def _continues(lines: list[str], at: int, end: int, *, whole: bool) -> bool:
    """After an empty line: do lines with a sign follow directly?"""
    rest = next((line for line in lines[at:end] if line), "")
    if rest.startswith("- ") and not rest.startswith("-  "):
        return False  # more likely a list than a removed line
    if rest.startswith((" ", "+", "-")):
        return True
    text = next((n for n in range(at, end) if lines[n]), end)
    return not whole and _signs_follow(lines, text, end)


def _fence(lines: list[str], at: int, fence: re.Match[str], hint: tuple[str, bool]) -> Block:
    indent, mark, info = fence.group(1), fence.group(2), fence.group(3).strip()
    label = re.split(r"[\s:{]", info.lower(), maxsplit=1)[0]
    is_diff = label in _DIFF_LABELS
    end = _fence_end(lines, at, indent, mark, is_diff=is_diff)
    closed = end < len(lines) and _closes(lines[end], indent, mark, slack=3)
    body = [_dedent(line, len(indent)) for line in lines[at + 1 : end]]
    named = [lone_name(word) for word in re.split(r"[\s:={}\"']+", info) if lone_name(word)]
    kind = _kind(body, is_diff=is_diff)
    last = end + 1 if closed else end
    name, is_lone = (named[-1], True) if named else hint
    return Block(kind, tuple(body), at, last, name, closed, label, is_lone)


def _dedent(line: str, width: int) -> str:
    n = 0
    while n < min(width, len(line)) and line[n] in " \t":
        n += 1
    return line[n:]


def _closes(line: str, indent: str, mark: str, *, slack: int) -> bool:
    text = line.strip()
    depth = len(line) - len(line.lstrip(" \t"))
    return len(text) >= len(mark) and set(text) == {mark[0]} and depth <= len(indent) + slack


def _fence_end(lines: list[str], at: int, indent: str, mark: str, *, is_diff: bool) -> int:
    """The line of the closing mark; in a diff an indented mark is a kept line, unless no other is there."""
    loose = None
    n = at + 1
    while n < len(lines):
        line = lines[n]
        other = FENCE.match(line)
        if (
            other
            and other.group(3).strip()
            and len(other.group(1)) <= len(indent)
            and len(other.group(2)) >= len(mark)
        ):
            nested = re.split(r"[\s:{]", other.group(3).strip().lower(), maxsplit=1)[0] in _DIFF_LABELS
            if loose is not None or nested:
                return loose if loose is not None else n
        if _closes(line, indent, mark, slack=0 if is_diff else 3):
            longer = _longer_end(lines, at, n, indent, mark)
            return n if longer is None else longer
        if loose is None and is_diff and _closes(line, indent, mark, slack=3):
            loose = n
        n += 1
    return loose if loose is not None else n


def _longer_end(lines: list[str], at: int, end: int, indent: str, mark: str) -> int | None:
    """A later closing mark, where the counts of the last hunk say exactly that this one is a line of the file."""
    start = next((n for n in range(end - 1, at, -1) if HUNK.match(_dedent(lines[n], len(indent)))), None)
    if start is None:
        return None
    body = [_dedent(line, len(indent)) for line in lines[start : min(len(lines), end + 400)]]
    hunk, _ = read_hunk(body[:1], 0, 0)
    if hunk.old_count is None or hunk.new_count is None:
        return None
    old, new = hunk.old_count, hunk.new_count
    for k, line in enumerate(body[1:], start + 1):
        if k > end and (old, new) == (0, 0):
            return k if _closes(line, "", mark, slack=0) else None
        if old < 0 or new < 0 or (k == end and (old, new) == (0, 0)):
            return None
        sign = item_of(line).sign
        old -= sign != "+"
        new -= sign != "-"
    return None


def _kind(body: Sequence[str], *, is_diff: bool) -> BlockKind:
    if any(SEARCH.match(line) for line in body) and any(DIVIDER.match(line) for line in body):
        return BlockKind.SEARCH
    if any(BEGIN_PATCH.match(line) for line in body):
        return BlockKind.ENVELOPE
    pair = any(line.startswith(("--- ", "+++ ")) and is_file_header(body, n) for n, line in enumerate(body))
    if is_diff or pair or any(line.startswith("diff --git ") or _STRICT_HUNK.match(line) for line in body):
        return BlockKind.DIFF
    return BlockKind.CODE
