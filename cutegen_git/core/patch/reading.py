"""From the pieces of a reply to file changes; refuses replies that are cut off, undecided, or hold no edit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from cutegen_git.words.errors import PatchProblem

from . import formats, names, repair
from .find import END_PATCH
from .records import Block, BlockKind, FileChange, Hunk
from .task import Task
from .unified import is_exact, is_short, parse

_CHOICE = re.compile(
    r"\b(option|alternative|variant|version|approach)\s+(\d|[A-Z]\b|one|two)|\balternatively\b|^or[:,]",
    re.IGNORECASE | re.MULTILINE,
)


def read(task: Task) -> list[FileChange]:
    """All changes of the reply, in order."""
    if task.found.cut_in_thought:
        task.fail(PatchProblem.TRUNCATED, "The reply ends inside its thinking block.")
        return []
    changes: list[FileChange] = []
    for number, block in enumerate(task.found.blocks):
        changes += _read_block(task, block, number)
    _check_choice(task, changes)
    whole = [] if task.failures else _read_whole_files(task, fallback=not changes)
    if not changes and not whole and not task.failures:
        task.fail(PatchProblem.NO_DIFF, "The reply holds no edit that can be applied.")
    return changes + whole


def _read_block(task: Task, block: Block, number: int) -> list[FileChange]:
    if block.kind is BlockKind.SEARCH:
        changes, is_whole = formats.search_replace(block, number)
        if not is_whole:
            task.fail(PatchProblem.TRUNCATED, "A SEARCH/REPLACE block has no end.")
        return changes
    if block.kind is BlockKind.ENVELOPE:
        begins = any(line.startswith("*** Begin Patch") for line in block.lines)
        if begins and not any(END_PATCH.match(line) for line in block.lines):
            task.fail(PatchProblem.TRUNCATED, 'The patch has no "*** End Patch" line.')
        return formats.envelope(block, number)
    return _read_diff(task, block, number) if block.kind is BlockKind.DIFF else []


def _read_diff(task: Task, block: Block, number: int) -> list[FileChange]:
    parsed = [replace(one, hunks=tuple(map(_with_signs, one.hunks))) for one in parse(block.lines, number)]
    if not block.closed and parsed and parsed[-1].hunks:
        task.open_ends.add((number, parsed[-1].hunks[-1].items[-1:]))
        if _is_cut(task, block, parsed[-1]):
            task.fail(
                PatchProblem.TRUNCATED, "The last hunk of the diff is not whole: the reply was cut off."
            )
    return [_named(task, change, block) for change in parsed if _says_something(change)]


def _with_signs(hunk: Hunk) -> Hunk:
    """The hunk without a gutter that hides the signs."""
    plain = None if hunk.changes() else repair.without_gutter(hunk)
    return plain if plain and plain.changes() else hunk


def _says_something(change: FileChange) -> bool:
    """Is there anything to do, or to refuse?"""
    wants = change.rename or change.copy or change.modes
    return bool(wants or change.deletes or change.binary or change.creates) or any(
        hunk.changes() for hunk in change.hunks
    )


def _named(task: Task, change: FileChange, block: Block) -> FileChange:
    """The change with the name from the text around it, where the diff itself has none."""
    if change.old or change.new or not block.hint:
        return change
    path = task.known(block.hint)
    return replace(change, old=path, new=path) if path and task.is_allowed(path) else change


def _is_cut(task: Task, block: Block, change: FileChange) -> bool:
    """Did the reply end before its last hunk did? `block` is not closed.

    A whole reply closes its fence: without that, the counts and the last line must prove the hunk whole. A bare
    diff has nothing to close, so there only a body shorter than its counts tells.
    """
    last = change.hunks[-1]
    tail = last.items[-1] if last.items else None
    if tail is None or not last.changes():
        return not is_exact(last)
    ends_kept = tail.sign == " " and _is_file_line(task, change, tail.text, tail.raw)
    if block.label or task.found.lines[block.first].lstrip()[:3] in ("```", "~~~"):
        return tail.sign == "+" or not (is_exact(last) or (last.old_count is None and ends_kept))
    return is_short(last) and not ends_kept


def _is_file_line(task: Task, change: FileChange, *texts: str) -> bool:
    path = task.known(change.new or change.old or "")
    paths = [path] if path else task.editable()
    return any(text in task.doc(one).texts for one in paths for text in texts)


def _check_choice(task: Task, changes: Sequence[FileChange]) -> None:
    """Several diffs introduced as alternatives are a question, not a patch."""
    blocks = [task.found.blocks[n] for n in sorted({change.block for change in changes})]
    if len({block.lines for block in blocks}) < 2:
        return
    for block in blocks:
        floor = max((other.last for other in task.found.blocks if other.last <= block.first), default=0)
        if _CHOICE.search("\n".join(task.found.lines[max(floor, block.first - 4) : block.first])):
            task.fail(PatchProblem.CONFLICTING_DIFFS, "The reply offers several diffs as alternatives.")
            return


def _read_whole_files(task: Task, *, fallback: bool) -> list[FileChange]:
    """The complete new files in code fences.

    Beside a diff (not `fallback`) only a fence with a file name of its own counts.
    """
    out: dict[str, FileChange] = {}
    for number, block in enumerate(task.found.blocks):
        path = _code_target(task, block, fallback=fallback) if block.kind is BlockKind.CODE else None
        if path is None:
            continue
        if not block.closed:
            text = f"The new text of {path} has no end: the fence is not closed."
            task.fail(PatchProblem.TRUNCATED, text, path)
        if path in out and out[path].whole != block.lines:
            task.fail(PatchProblem.CONFLICTING_DIFFS, f"The reply holds several texts of {path}.", path)
        out[path] = FileChange(path, path, whole=block.lines, block=number)
    return list(out.values())


def _code_target(task: Task, block: Block, *, fallback: bool) -> str | None:
    """The file that a code fence replaces or creates as a whole, or None for a fragment."""
    first = next((line for line in block.lines if line.strip()), "")
    lone = block.hint if block.named else names.lone_name(first)
    hint = lone or (block.hint if fallback else "")
    path = task.known(hint) if hint else None
    if hint and path is None:
        new = names.spellings(hint)[0]
        return new if lone and task.is_allowed(new) and names.unsafe(hint) is None else None
    if path is None and not fallback:
        return None
    candidates = [path] if path else task.editable()
    olds = {one: task.doc(one).texts for one in candidates if task.is_allowed(one)}
    whole = [one for one, old in olds.items() if formats.looks_whole(block.lines, old)]
    if len(candidates) > 1:  # without a name, only the exported function tells which file it is
        whole = [one for one in whole if formats.exported(olds[one])]
    return whole[0] if len(whole) == 1 else None
