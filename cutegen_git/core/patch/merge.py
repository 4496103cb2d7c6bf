"""Placed hunks -> edits -> the new file. All hunks are laid over the original at once; contradictions are found here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from . import repair
from .index import Index
from .place import Misfit, Place, locate
from .records import Edit, Hunk, Item
from .text import Doc, as_latin1

_MANY = 40  # hunks from which only those that did not fit are tried in turn, after all others


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a file's hunks: the new text, or why not."""

    doc: Doc | None
    misfits: tuple[Misfit, ...] = ()
    clashes: tuple[tuple[Edit, Edit], ...] = ()
    levels: tuple[int, ...] = ()  # tolerance of each placed hunk


def tidy(items: Sequence[Item]) -> tuple[Item, ...]:
    """The items with lines that are removed and added again at the edges of a change as kept lines."""
    out: list[Item] = []
    at = 0
    while at < len(items):
        if items[at].sign == " ":
            out.append(items[at])
            at += 1
            continue
        end = at
        while end < len(items) and items[end].sign != " ":
            end += 1
        out += _tidy_run(items[at:end])
        at = end
    return tuple(out)


def _tidy_run(run: Sequence[Item]) -> list[Item]:
    olds = [item for item in run if item.sign == "-"]
    news = [item for item in run if item.sign == "+"]
    head = 0
    while head < min(len(olds), len(news)) and _same(olds[head], news[head]):
        head += 1
    tail = 0
    while tail < min(len(olds), len(news)) - head and _same(olds[-1 - tail], news[-1 - tail]):
        tail += 1
    if not head and not tail:
        return list(run)
    kept = [replace(item, sign=" ", raw=item.text) for item in olds]
    middle = [*olds[head : len(olds) - tail], *news[head : len(news) - tail]]
    return [*kept[:head], *middle, *kept[len(olds) - tail :]]


def _same(old: Item, new: Item) -> bool:
    return old.text == new.text and old.no_newline == new.no_newline


def merge(document: Doc, hunks: Sequence[Hunk], index: Index) -> Outcome:
    """The file with all hunks in it. First all against the original, then one after the other."""
    results = _all_twins(index, [locate(index, hunk) for hunk in hunks])
    places = [result for result in results if isinstance(result, Place)]
    misfits = tuple(result for result in results if isinstance(result, Misfit))
    edits = [edit for place in places for edit in edits_of(document, place)]
    edits, clashes = reconcile(edits)
    if clashes:
        return Outcome(None, misfits, tuple(clashes))
    levels = tuple(place.level for place in places)
    if not [one for one in misfits if not one.already]:
        return Outcome(rebuild(document, edits), misfits, levels=levels)
    if places and len(hunks) > 1:
        many = len(hunks) > _MANY
        start = rebuild(document, edits) if many else document
        one_by_one = _in_turn(start, [misfit.hunk for misfit in misfits] if many else hunks)
        if one_by_one is not None:
            return Outcome(one_by_one, levels=levels)
    return Outcome(None, misfits, levels=levels)


def _all_twins(index: Index, results: list[Place | Misfit]) -> list[Place | Misfit]:
    """As many identical hunks as there are places for them: each gets one, and which one makes no difference."""
    out = list(results)
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for n, result in enumerate(results):
        if isinstance(result, Misfit) and result.lines:
            groups.setdefault(tuple((item.sign, item.text) for item in result.hunk.items), []).append(n)
    for members in groups.values():
        first = results[members[0]]
        if isinstance(first, Misfit) and len(first.lines) == len(members) > 1:
            for n, start in zip(members, first.lines, strict=True):
                out[n] = locate(index, replace(first.hunk, old_start=start + 1))
    return out


def _in_turn(document: Doc, hunks: Sequence[Hunk]) -> Doc | None:
    """Each hunk against the result of those before it, or None where one of them has no place even so."""
    for hunk in hunks:
        found = locate(Index(document.texts), hunk)
        if isinstance(found, Misfit):
            if found.already:
                continue
            return None
        document = rebuild(document, edits_of(document, found))
    return document


def edits_of(document: Doc, place: Place) -> list[Edit]:
    """The changes of one placed hunk; kept lines are not touched, so they keep their bytes."""
    added = _adapter(document, place)
    edits: list[Edit] = []
    lines = iter(place.at)
    cursor = start = place.start
    new: list[str] = []

    def flush() -> None:
        nonlocal new
        if cursor > start or new:
            edits.append(Edit(start, cursor, tuple(new), place.hunk))
        new = []

    for item in place.hunk.items:
        if item.sign == "+":
            new.append(added(item))
            continue
        line = next(lines)
        if line < 0:
            continue
        if item.sign == "-" and line == cursor:
            cursor += 1
            continue
        flush()
        start = cursor = line if item.sign == "-" else line + 1
        cursor += item.sign == "-"
    flush()
    return edits


def _adapter(document: Doc, place: Place) -> Callable[[Item], str]:
    """How an added line becomes a line of this file: its characters, indent, encoding and line end."""
    olds = place.hunk.olds()
    pairs = [(item.text, document.texts[n]) for item, n in zip(olds, place.at, strict=True) if n >= 0]
    indent = repair.reindent(pairs) if place.level >= repair.SPACED else str
    latin1 = document.is_latin1
    text = "".join(document.texts)
    removed = [n for item, n in zip(olds, place.at, strict=True) if item.sign == "-" and n >= 0]
    near = removed[0] if removed else max(0, place.start - (not olds))
    end = document.ends[near] if near < len(document.ends) else ""

    def adapt(item: Item) -> str:
        line = indent(repair.clean_added(item.text, text, folded=place.level >= repair.FOLDED))
        return (as_latin1(line) if latin1 else line) + ("" if item.no_newline else end or document.end)

    return adapt


def reconcile(edits: Sequence[Edit]) -> tuple[list[Edit], list[tuple[Edit, Edit]]]:
    """The edits in file order, repeated ones once, and the pairs that contradict each other."""
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.end))
    kept: list[Edit] = []
    clashes: list[tuple[Edit, Edit]] = []
    for edit in ordered:
        last = kept[-1] if kept else None
        if last is None or not _overlap(last, edit):
            kept.append(edit)
        elif (last.start, last.end, last.lines) != (edit.start, edit.end, edit.lines):
            clashes.append((last, edit))
    return kept, clashes


def _overlap(first: Edit, second: Edit) -> bool:
    if first.start == second.start and (first.start == first.end) == (second.start == second.end):
        return True
    return second.start < first.end


def rebuild(document: Doc, edits: Sequence[Edit]) -> Doc:
    """The file after `edits` (in file order, without overlap). Every line but the last is terminated."""
    texts: list[str] = []
    ends: list[str] = []
    cursor = 0
    for edit in [*edits, None]:
        upto = edit.start if edit else len(document.texts)
        texts += document.texts[cursor:upto]
        ends += document.ends[cursor:upto]
        if edit:
            for line in edit.lines:
                end = "\r\n" if line.endswith("\r\n") else "\n" if line.endswith("\n") else ""
                texts.append(line[: len(line) - len(end)])
                ends.append(end)
            cursor = edit.end
    ends = [end or document.end if n + 1 < len(ends) else end for n, end in enumerate(ends)]
    return Doc(tuple(texts), tuple(ends))
