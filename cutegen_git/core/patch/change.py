"""What a change does to its file: hunks laid in, a text replaced, created, deleted, or moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cutegen_git.words.errors import PatchProblem

from . import canon, explain, formats, names, repair
from .index import Index
from .merge import Outcome, merge, tidy
from .records import Failure, FileChange, Hunk, Item
from .task import Task
from .text import Doc, encode, join


def prepared(task: Task, path: str, change: FileChange) -> tuple[list[Hunk], list[Failure]]:
    """The hunks of one change, repaired as far as the whole diff shows its damage, split at elisions."""
    document = task.doc(path)
    hunks: list[Hunk] = list(change.hunks)
    if repair.is_escaped(hunks, "\n".join(document.texts)):
        hunks = [repair.unescaped(hunk) for hunk in hunks]
    index = task.index(path)
    out: list[Hunk] = []
    failures: list[Failure] = []
    for hunk in hunks:
        lost = next((item for item in hunk.items if _is_lost(index, item)), None)
        if lost:
            failures.append(_elided(path, lost.text, hunk, removed=lost.sign == "-"))
        out += [replace(part, items=tidy(part.items)) for part in split_elisions(index, hunk)]
    return [hunk for hunk in out if hunk.changes()], failures


def _elided(path: str, line: str, hunk: Hunk | None = None, *, removed: bool = False) -> Failure:
    kind = "removed" if removed else "added"
    text = f'{path}: the {kind} line "{line.strip()}" stands for code that was left out.'
    return Failure(PatchProblem.ELIDED_CONTENT, path, text, hunk)


def _is_lost(index: Index, item: Item) -> bool:
    """Does a changed line stand for code that the reply left out?"""
    test = {"+": repair.stands_for_code, "-": repair.is_elision}.get(item.sign)
    return test is not None and test(item.text) and not index.has(item.text, repair.SPACED)


def split_elisions(index: Index, hunk: Hunk) -> list[Hunk]:
    """The hunk cut at kept lines that are only dots, where the file has no such line."""
    cuts = [
        n
        for n, item in enumerate(hunk.items)
        if item.sign == " " and repair.is_elision(item.text) and not index.has(item.text, repair.SPACED)
    ]
    if not cuts:
        return [hunk]
    parts: list[Hunk] = []
    edges = [-1, *cuts, len(hunk.items)]
    for low, high in zip(edges, edges[1:], strict=False):
        start = hunk.old_start if low < 0 else None
        tail = hunk.soft_tail if high == len(hunk.items) else 0
        items = hunk.items[low + 1 : high]
        part = replace(hunk, items=items, old_start=start, old_count=None, new_start=None, new_count=None)
        parts.append(replace(part, soft_tail=tail))
    return [part for part in parts if part.items]


def lay_in(task: Task, path: str, hunks: list[Hunk]) -> None:
    """All hunks of a file, or the reasons why not."""
    document = task.doc(path)
    if is_rewrite(document, hunks):
        rewrite(task, path, [item.text for item in hunks[0].items])
        return
    new = merged(task, path, hunks)
    if new is not None:
        task.put(path, encode(join(new)))


def merged(task: Task, path: str, hunks: list[Hunk]) -> Doc | None:
    """The file with the hunks in it; None after noting the failures."""
    outcome = merge(task.doc(path), hunks, task.index(path))
    task.applied_before += sum(misfit.already for misfit in outcome.misfits)
    if outcome.doc is None:
        task.failures += _explained(task, path, hunks, outcome)
    return outcome.doc


def _explained(task: Task, path: str, hunks: Sequence[Hunk], outcome: Outcome) -> list[Failure]:
    lines = task.doc(path).texts
    out = [explain.clash(path, pair) for pair in outcome.clashes]
    numbers = {id(hunk): n for n, hunk in enumerate(hunks, 1)}
    for misfit in outcome.misfits:
        if misfit.already:
            continue
        number = numbers.get(id(misfit.hunk), 1)
        brief = len(task.failures) + len(out) >= explain.HUNKS
        failure = explain.misfit(path, lines, misfit, number, brief=brief)
        if (misfit.hunk.block, misfit.hunk.items[-1:]) in task.open_ends:
            failure = replace(failure, problem=PatchProblem.TRUNCATED)
        out.append(failure)
    return out


def is_rewrite(document: Doc, hunks: Sequence[Hunk]) -> bool:
    """Is it a single hunk that only adds a complete new text of the file?"""
    if len(hunks) != 1 or hunks[0].olds() or not document.texts:
        return False
    if hunks[0].old_count == 0 and hunks[0].old_start:
        return False
    return formats.looks_whole([item.text for item in hunks[0].items], document.texts)


def rewrite(task: Task, path: str, lines: list[str]) -> None:
    """The whole text of a file replaced; lines that stay keep their bytes."""
    old = task.doc(path)
    lost = next((line for line in lines if repair.stands_for_code(line) and line not in old.texts), None)
    if lost is not None:
        task.failures.append(_elided(path, lost))
        return
    new = encode(join(rewritten(old, lines)))
    if path in task.result and task.result[path] is not None and new == task.files.get(path):
        return  # the reply only quotes the file as it was, beside its diff
    task.put(path, new)


def rewritten(old: Doc, lines: Sequence[str]) -> Doc:
    """`lines` as the new text of `old`: equal lines keep their trailing blanks and line ends."""
    gone, born = canon.alignment(
        [encode(text.rstrip()) + b"\n" for text in old.texts],
        [encode(line.rstrip()) + b"\n" for line in lines],
    )
    texts: list[str] = []
    ends: list[str] = []
    at = 0
    for n, line in enumerate(lines):
        while not born[n] and gone[at]:
            at += 1
        texts.append(line if born[n] else old.texts[at])
        ends.append(old.end if born[n] else old.ends[at] or old.end)
        at += not born[n]
    if ends and old.ends and not old.ends[-1]:
        ends[-1] = ""
    return Doc(tuple(texts), tuple(ends))


def create(task: Task, path: str, change: FileChange) -> None:
    """A new file with the added lines of the change."""
    lines = list(change.whole or ())
    open_end = False
    for hunk in change.hunks:
        items = hunk.items[: len(hunk.items) - hunk.soft_tail]
        if any(item.sign == "-" for item in items):
            text = f"{path} is created, yet the diff removes lines from it."
            task.fail(PatchProblem.CONTEXT_NOT_FOUND, text, path)
            return
        lines += [item.text if item.sign == "+" else item.raw for item in items]
        open_end = bool(items) and items[-1].no_newline
    lost = next((line for line in lines if repair.stands_for_code(line)), None)
    if lost is not None:
        task.failures.append(_elided(path, lost))
        return
    task.put(path, encode("\n".join(lines) + ("" if open_end or not lines else "\n")))


def delete(task: Task, path: str, change: FileChange) -> None:
    """The file goes only if the diff shows all that it loses, or says nothing but "deleted"."""
    hunks, failures = prepared(task, path, change)
    task.failures += failures
    if hunks:
        left = merged(task, path, hunks)
        if left is None:
            return
        if any(text.strip() for text in left.texts):
            text = f"{path} is deleted, but the diff removes only a part of its lines."
            task.fail(PatchProblem.CONTEXT_NOT_FOUND, text, path)
            return
    task.put(path, None)


def move(task: Task, path: str, change: FileChange) -> None:
    """A rename or a copy, with or without hunks; the new path was checked before."""
    pair = change.rename or change.copy
    if pair is None:
        return
    text: bytes | None = task.files[path]
    hunks, failures = prepared(task, path, change)
    task.failures += failures
    if hunks:
        new = merged(task, path, hunks)
        text = encode(join(new)) if new is not None else None
    if change.rename:
        task.put(path, None)
    if text is not None:
        task.put(names.spellings(pair[1])[0], text)
