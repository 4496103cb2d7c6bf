"""The diff that the commit will show: the same text that `git diff` prints, computed without git.

Leaves out file modes other than 100644. Object names are SHA-1 and seven digits long, git's default in a small repository.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from .myers import changed
from .renames import renames
from .slide import compact
from .text import decode

_CONTEXT = 3
_HEADING = 80
_NO_NEWLINE = b"\n\\ No newline at end of file\n"


def unified(before: Mapping[str, bytes], after: Mapping[str, bytes | None]) -> tuple[str, int, int]:
    """The diff text for the files of `after` (None: deleted), with added and removed line counts."""
    out: list[bytes] = []
    added = removed = 0
    moved = renames(before, after)
    sources = {old for old, _ in moved.values()}
    for path in sorted(set(after) - sources, key=lambda name: name.encode("utf-8", "surrogateescape")):
        source, percent = moved.get(path, (path, 0))
        old, new = before.get(source), after[path]
        if old == new and source == path:
            continue
        body, plus, minus = _body(old or b"", new or b"")
        out += [_header(source, path, percent), _texts(source, path, old, new, has_body=bool(body)), body]
        added, removed = added + plus, removed + minus
    return decode(b"".join(out)), added, removed


def _header(source: str, path: str, percent: int) -> bytes:
    lines = [f"diff --git {_quoted('a/' + source)} {_quoted('b/' + path)}"]
    if source != path:
        lines.append(f"similarity index {percent}%")
        lines += [f"rename from {_quoted(source)}", f"rename to {_quoted(path)}"]
    return _joined(lines)


def _texts(source: str, path: str, old: bytes | None, new: bytes | None, *, has_body: bool) -> bytes:
    """The header lines about the texts of both sides."""
    a, b = _quoted("a/" + source), _quoted("b/" + path)
    lines = ["new file mode 100644"] if old is None else []
    if new is None:
        lines.append("deleted file mode 100644")
    if old != new:
        mode = "" if old is None or new is None else " 100644"
        lines.append(f"index {_name(old)}..{_name(new)}{mode}")
    if has_body:
        lines.append("--- " + ("/dev/null" if old is None else a + _tab(source)))
        lines.append("+++ " + ("/dev/null" if new is None else b + _tab(path)))
    return _joined(lines)


def _tab(path: str) -> str:
    """What ends a name that holds a blank."""
    return "\t" if " " in path else ""


def _joined(lines: Sequence[str]) -> bytes:
    return "".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape")


def _name(content: bytes | None) -> str:
    if content is None:
        return "0000000"
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()[:7]


def _quoted(path: str) -> str:
    """The path as git shows it (core.quotePath on)."""
    raw = path.encode("utf-8", "surrogateescape")
    if all(32 <= c < 127 and c not in b'"\\' for c in raw):
        return path
    escapes = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}
    out = [f"\\{escapes[c]}" if c in escapes else chr(c) if 32 <= c < 127 else f"\\{c:03o}" for c in raw]
    return '"' + "".join(out) + '"'


def records(content: bytes) -> list[bytes]:
    """Lines with their newline."""
    lines = content.split(b"\n")
    tail = lines.pop()
    return [line + b"\n" for line in lines] + ([tail] if tail else [])


def alignment(old: Sequence[bytes], new: Sequence[bytes]) -> tuple[list[bool], list[bool]]:
    """Which lines changed, as git shows it."""
    gone, born = changed(old, new)
    compact(old, gone, new, born)
    compact(new, born, old, gone)
    return gone, born


def _body(before: bytes, after: bytes) -> tuple[bytes, int, int]:
    old, new = records(before), records(after)
    gone, born = alignment(old, new)
    out: list[bytes] = []
    heading, searched = b"", -1
    for group in _grouped(_script(gone, born)):
        first, last = group[0], group[-1]
        s1, s2 = max(first[0] - _CONTEXT, 0), max(first[2] - _CONTEXT, 0)
        e1, e2 = min(last[1] + _CONTEXT, len(old)), min(last[3] + _CONTEXT, len(new))
        heading = _heading(old, s1 - 1, searched) or heading
        searched = s1 - 1
        out.append(_hunk_header(s1, e1 - s1, s2, e2 - s2, heading))
        cursor = s1
        for i1, j1, i2, j2 in group:
            out += [_line(b" ", line) for line in old[cursor:i1]]
            out += [_line(b"-", line) for line in old[i1:j1]]
            out += [_line(b"+", line) for line in new[i2:j2]]
            cursor = j1
        out += [_line(b" ", line) for line in old[cursor:e1]]
    return b"".join(out), sum(born), sum(gone)


def _script(gone: Sequence[bool], born: Sequence[bool]) -> list[tuple[int, int, int, int]]:
    """Changes as (old start, old end, new start, new end)."""
    out = []
    i = j = 0
    while i < len(gone) or j < len(born):
        i1, j1 = i, j
        while i < len(gone) and gone[i]:
            i += 1
        while j < len(born) and born[j]:
            j += 1
        if i > i1 or j > j1:
            out.append((i1, i, j1, j))
        i, j = i + 1, j + 1
    return out


def _grouped(script: Sequence[tuple[int, int, int, int]]) -> list[list[tuple[int, int, int, int]]]:
    groups: list[list[tuple[int, int, int, int]]] = []
    for change in script:
        if groups and change[0] - groups[-1][-1][1] <= 2 * _CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _heading(lines: Sequence[bytes], start: int, limit: int) -> bytes:
    """The nearest line above that begins with a letter, "_" or "$"; looked for down to `limit`, exclusive."""
    for n in range(start, limit, -1):
        if lines[n][:1].isalpha() or lines[n][:1] in (b"_", b"$"):
            return _whole_characters(lines[n].rstrip(b"\n")[:_HEADING].rstrip())
    return b""


def _whole_characters(text: bytes) -> bytes:
    """`text` up to the first byte that is not UTF-8 (the cut at 80 bytes may halve a character)."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        return text[: error.start]
    return text


def _hunk_header(s1: int, n1: int, s2: int, n2: int, heading: bytes) -> bytes:
    old = f"-{s1 + 1 if n1 else s1}" + ("" if n1 == 1 else f",{n1}")
    new = f"+{s2 + 1 if n2 else s2}" + ("" if n2 == 1 else f",{n2}")
    return f"@@ {old} {new} @@".encode() + (b" " + heading if heading else b"") + b"\n"


def _line(sign: bytes, line: bytes) -> bytes:
    return sign + line if line.endswith(b"\n") else sign + line + _NO_NEWLINE
