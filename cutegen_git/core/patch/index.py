"""A file prepared for looking up runs of lines: every distinct line becomes one character, looking is `str.find`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from . import repair

_MANY = 50


@dataclass(slots=True)
class Index:
    """A file prepared for looking up hunks at every tolerance."""

    lines: Sequence[str]
    _levels: dict[int, tuple[dict[str, str], str]] = field(default_factory=dict)
    _dense: tuple[list[int], str] | None = None

    def _level(self, level: int) -> tuple[dict[str, str], str]:
        if level not in self._levels:
            key, ids, out = repair.LEVELS[level], dict[str, str](), list[str]()
            for line in self.lines:
                out.append(ids.setdefault(key(line), _char(len(ids))))
            self._levels[level] = ids, "".join(out)
        return self._levels[level]

    def has(self, text: str, level: int = 0) -> bool:
        return repair.LEVELS[level](text) in self._level(level)[0]

    def find(self, texts: Sequence[str], level: int) -> list[int]:
        """The starts of all places (at most a few dozen) where these lines stand."""
        ids, text = self._level(level)
        key = repair.LEVELS[level]
        wanted = [ids.get(key(one)) for one in texts]
        if not wanted or None in wanted:
            return []
        return _all("".join(one or "" for one in wanted), text)

    def find_dense(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Like `find` at the widest tolerance, with blank lines of the file and of `texts` overlooked."""
        ids, text = self._level(repair.SPACED)
        if self._dense is None:
            blank = ids.get("")
            kept = [n for n, one in enumerate(text) if one != blank]
            self._dense = kept, "".join(text[n] for n in kept)
        kept, dense = self._dense
        wanted = [ids.get(repair.LEVELS[repair.SPACED](one)) for one in texts if one.strip()]
        if len(wanted) < 2 or None in wanted:
            return []
        places = _all("".join(one or "" for one in wanted), dense)
        return [tuple(kept[start : start + len(wanted)]) for start in places]

    def holds(self, line: int, texts: Sequence[str], level: int) -> bool:
        """Do `texts` stand at `line`?"""
        ids, text = self._level(level)
        key = repair.LEVELS[level]
        return 0 <= line and text[line : line + len(texts)] == "".join(
            ids.get(key(one), "\0") for one in texts
        )


def _char(n: int) -> str:
    return chr(n + 1 if n + 1 < 0xD800 else n + 0x801)


def _all(needle: str, hay: str) -> list[int]:
    out: list[int] = []
    at = hay.find(needle)
    while at >= 0 and len(out) < _MANY:
        out.append(at)
        at = hay.find(needle, at + 1)
    return out
