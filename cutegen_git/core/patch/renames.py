"""Which deleted and new files `git diff` shows as a rename: the same text, or at least half of it in common.

git counts the bytes of equal pieces, where a piece is a line or 64 bytes of a longer one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

_PIECE = 64
_MAX = 60000  # git's scale; half of it is the least that counts


def renames(before: Mapping[str, bytes], after: Mapping[str, bytes | None]) -> dict[str, tuple[str, int]]:
    """For every new path that is a renamed old one: that one, and the similarity in percent."""
    gone = sorted(path for path, text in after.items() if text is None and path in before)
    born = sorted(path for path, text in after.items() if text is not None and path not in before)
    scores = [
        (score, old, new)
        for new in born
        for old in gone
        if (score := _score(before[old], after[new] or b"")) * 2 >= _MAX
    ]
    out: dict[str, tuple[str, int]] = {}
    for score, old, new in sorted(scores, key=lambda one: -one[0]):
        if new not in out and old not in {pair[0] for pair in out.values()}:
            out[new] = old, score * 100 // _MAX
    return out


def _score(old: bytes, new: bytes) -> int:
    if old == new:
        return _MAX
    larger, smaller = max(len(old), len(new)), min(len(old), len(new))
    if larger * (_MAX // 2) < (larger - smaller) * _MAX:
        return 0
    have, want = _pieces(old), _pieces(new)
    copied = sum(min(size, want[piece]) for piece, size in have.items())
    return min(copied * _MAX // larger, _MAX - 1)


def _pieces(text: bytes) -> Counter[bytes]:
    """The bytes that each distinct piece makes up."""
    out: Counter[bytes] = Counter()
    for line in re.findall(rb"[^\n]*\n|[^\n]+", text.replace(b"\r\n", b"\n")):
        for at in range(0, len(line), _PIECE):
            piece = line[at : at + _PIECE]
            out[piece] += len(piece)
    return out
