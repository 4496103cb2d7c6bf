"""Where a hunk goes in a file: one place, or none.

An exact line number with fitting context wins; else the context must fit exactly once; a section heading may
decide between equals. Lines are compared in growing tolerance, and the first tolerance that finds a place counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cutegen_git.words.errors import PatchProblem

from . import repair
from .index import Index
from .records import Hunk, Item

_FUNCTION = re.compile(r"^[A-Za-z_$]")


@dataclass(frozen=True, slots=True)
class Place:
    """A hunk that fits: `at[i]` is the line index of the i-th kept or removed item, -1 for a blank that is not there."""

    hunk: Hunk
    at: tuple[int, ...]
    level: int
    start: int  # where lines go that come before any kept or removed item


@dataclass(frozen=True, slots=True)
class Misfit:
    """A hunk that has no place, or several."""

    hunk: Hunk
    problem: PatchProblem
    lines: tuple[int, ...] = ()  # ambiguous: the 0-based first lines of the candidates
    already: bool = False  # its result is in the file


def locate(index: Index, hunk: Hunk) -> Place | Misfit:
    """The one place of a hunk, after the repairs that it needs."""
    found = _locate(index, hunk)
    if isinstance(found, Place) or found.problem is not PatchProblem.CONTEXT_NOT_FOUND:
        return found
    for repaired in _repaired(hunk):
        again = _locate(index, repaired)
        if isinstance(again, Place) or again.problem is PatchProblem.AMBIGUOUS_CONTEXT:
            return again
    return replace(found, already=is_applied(index, hunk))


def _repaired(hunk: Hunk) -> list[Hunk]:
    plain = repair.without_gutter(hunk)
    tries = [plain] if plain else []
    if repair.has_entities(hunk):
        tries.append(repair.unescaped(hunk))
    return tries


def _locate(index: Index, hunk: Hunk) -> Place | Misfit:
    if not hunk.olds():
        return _by_number(index, hunk)
    for level in range(len(repair.LEVELS)):
        for variant, skipped in variants(index, hunk, level):
            starts = index.find([item.text for item in variant.olds()], level)
            if not starts:
                continue
            chosen = choose(index, variant, starts, skipped)
            if chosen is None:
                return Misfit(hunk, PatchProblem.AMBIGUOUS_CONTEXT, tuple(starts))
            length = len(variant.olds())
            return Place(variant, tuple(range(chosen, chosen + length)), level, chosen)
    return _dense_place(index, hunk)


def variants(index: Index, hunk: Hunk, level: int) -> list[tuple[Hunk, int]]:
    """The readings of a hunk to try, with how many old lines were cut from its head."""
    out: list[tuple[Hunk, int]] = []
    for items in _prefix_readings(index, hunk.items, level):
        out.append((replace(hunk, items=items), 0))
    for soft in range(1, min(hunk.soft_tail, 4) + 1):
        items = hunk.items[: len(hunk.items) - soft]
        if any(item.sign != "+" for item in items):
            out += [(replace(hunk, items=one), 0) for one in _prefix_readings(index, items, level)]
    first = hunk.items[0]
    if first.sign == " " and not first.raw and len(hunk.olds()) > 1:
        items = hunk.items[1 : len(hunk.items) - hunk.soft_tail]
        if any(item.sign != "+" for item in items):
            out.append((replace(hunk, items=items), 1))
    return out


def _prefix_readings(index: Index, items: tuple[Item, ...], level: int) -> list[tuple[Item, ...]]:
    """As sent; then with kept lines read as if they had lost their sign, where only that is in the file."""
    readings = [items]
    if level >= repair.SPACED or not any(item.sign == " " and item.raw != item.text for item in items):
        return readings
    unsigned = [
        replace(item, text=item.raw) if item.sign == " " and not index.has(item.text, level) else item
        for item in items
    ]
    allraw = [replace(item, text=item.raw) if item.sign == " " else item for item in items]
    for reading in (tuple(unsigned), tuple(allraw)):
        if reading not in readings:
            readings.append(reading)
    return readings


def choose(index: Index, hunk: Hunk, starts: Sequence[int], skipped: int) -> int | None:
    """The start that the line number or the heading picks, or the only one."""
    if hunk.old_start is not None and hunk.old_start - 1 + skipped in starts:
        return hunk.old_start - 1 + skipped
    if len(starts) == 1:
        return starts[0]
    if hunk.anchors:
        return _by_anchor(index, hunk.anchors, starts)
    return None


def _by_anchor(index: Index, anchors: Sequence[str], starts: Sequence[int]) -> int | None:
    """The only start inside the section that the heading names."""
    inside = list(starts)
    for anchor in anchors:
        heads = _heads(index, anchor)
        inside = [
            start for start in inside if any(head < start <= _section_end(index, head) for head in heads)
        ]
    return inside[0] if len(inside) == 1 else None


def _heads(index: Index, anchor: str) -> list[int]:
    """The lines that an anchor names: the same line, else the lines that begin with it, else those that hold it."""
    wanted = repair.LEVELS[repair.SPACED](anchor)
    keys = [repair.LEVELS[repair.SPACED](line) for line in index.lines]
    tests = (
        [n for n, key in enumerate(keys) if key == wanted],
        [n for n, key in enumerate(keys) if key.startswith(wanted)],
        [n for n, key in enumerate(keys) if wanted in key and _FUNCTION.match(index.lines[n])],
    )
    return next((lines for lines in tests if lines), [])


def _section_end(index: Index, head: int) -> int:
    """The line of the next function-like line after `head`, as git's headings see it."""
    for n in range(head + 1, len(index.lines)):
        if _FUNCTION.match(index.lines[n]):
            return n - 1
    return len(index.lines)


def _dense_place(index: Index, hunk: Hunk) -> Place | Misfit:
    """The place of a hunk whose blank lines do not agree with the file's."""
    olds = hunk.olds()
    places = index.find_dense([item.text for item in olds])
    if not places:
        return Misfit(hunk, PatchProblem.CONTEXT_NOT_FOUND)
    if len(places) > 1:
        starts = [place[0] for place in places]
        chosen = choose(index, hunk, starts, 0)
        if chosen is None:
            return Misfit(hunk, PatchProblem.AMBIGUOUS_CONTEXT, tuple(starts))
        places = [place for place in places if place[0] == chosen]
    at = _with_blanks(index, olds, places[0])
    return (
        Misfit(hunk, PatchProblem.CONTEXT_NOT_FOUND)
        if at is None
        else Place(hunk, at, repair.SPACED, places[0][0])
    )


def _with_blanks(index: Index, olds: Sequence[Item], place: tuple[int, ...]) -> tuple[int, ...] | None:
    """A line for every item: blank items take the next blank line of the file, if there is one."""
    out: list[int] = []
    lines = iter(place)
    cursor = place[0]
    for item in olds:
        if item.text.strip():
            cursor = next(lines)
            out.append(cursor)
            cursor += 1
        elif cursor < len(index.lines) and not index.lines[cursor].strip() and out:
            out.append(cursor)
            cursor += 1
        elif item.sign == "-":
            return None
        else:
            out.append(-1)
    return tuple(out)


def _by_number(index: Index, hunk: Hunk) -> Place | Misfit:
    """Only additions: "-N,0" means after line N, if the other side of the header agrees."""
    start = hunk.old_start
    if not index.lines:
        return Place(hunk, (), 0, 0)
    if start is None or hunk.old_count != 0 or not 0 < start <= len(index.lines):
        return Misfit(hunk, PatchProblem.NO_CONTEXT)  # "-0,0" on a file with text is a habit, not a place
    return Place(hunk, (), 0, start)


def is_applied(index: Index, hunk: Hunk) -> bool:
    """Does the file hold the hunk's result already (or is the hunk upside down)?

    Kept lines must vouch for the place, on both sides of lines that are only removed: else a line that never was
    in the file would pass for one that is gone already.
    """
    items = list(hunk.items)
    while items and items[-1].sign == " " and not items[-1].text.strip():
        items.pop()
    news = [item.text for item in items if item.sign != "-"]
    kept = [n for n, item in enumerate(items) if item.sign == " " and item.text.strip()]
    if not kept or sum(bool(text.strip()) for text in news) < 2:
        return False
    adds = any(item.sign == "+" and item.text.strip() for item in items)
    places = [start for level in range(repair.SPACED + 1) for start in index.find(news, level)]
    changed = [n for n, item in enumerate(items) if item.sign != " "]
    before, after = kept[0] < changed[0], kept[-1] > changed[-1]
    if adds:
        return bool(places)
    if not (before and after):
        edge = len(index.lines) - len(news) if before else 0
        places = [start for start in places if start == edge]
    gone = {item.text.strip() for item in items if item.sign == "-" and re.search(r"\w", item.text)}
    around = (index.lines[max(0, n - len(items)) : n + len(news) + len(items)] for n in places)
    return bool(places) and not any(line.strip() in gone for lines in around for line in lines)
