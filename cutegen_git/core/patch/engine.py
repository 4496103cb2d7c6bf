"""From a raw reply to a Patch, or one PatchError that lists all that is wrong. All or nothing over all files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from cutegen_git.words.errors import PatchProblem

from . import canon, change, explain, names
from .find import find
from .reading import read
from .records import Failure, FileChange, Patch
from .target import new_path, target
from .task import Task
from .text import decode, reply_lines

_CUT = frozenset(
    "length max_tokens max_output_tokens model_length content_filter incomplete token_limit".split()
)


def apply_reply(
    reply: bytes,
    files: Mapping[str, bytes],
    *,
    allowed: Sequence[str],
    finish_reason: str | None = None,
    links: Collection[str] = (),
) -> Patch:
    """The patch that a reply stands for, applied to `files` (all files of the task repository).

    `allowed` are globs of files that may change ("*" stops at "/"); `links` are paths that are symbolic links.
    Raises PatchError, whose text is written to be sent back to the model.
    """
    if (finish_reason or "").lower() in _CUT:
        text = f"The reply was cut off by the provider ({finish_reason})."
        raise explain.error([Failure(PatchProblem.TRUNCATED, "", text)])
    task = Task(files, tuple(allowed), frozenset(links), find(reply_lines(decode(reply))))
    changes = read(task)
    task.stop_if_failed()
    for one in changes:
        if one.whole is None:
            _route(task, one)
    task.stop_if_failed()
    for path, hunks in task.hunks.items():
        change.lay_in(task, path, hunks)
    for one in changes:  # whole files last: beside a diff they may only repeat its result
        if one.whole is not None:
            _route(task, one)
    task.stop_if_failed()
    return _finish(task)


def _route(task: Task, one: FileChange) -> None:
    """Sends a change to its file, if it may go there."""
    path, is_new = target(task, one)
    if path is None:
        return
    if one.rename or one.copy:
        pair = one.rename or one.copy or ("", "")
        if new_path(task, names.spellings(pair[1])[0]) is not None:
            change.move(task, path, one)
    elif is_new:
        change.create(task, path, one)
    elif one.whole is not None:
        change.rewrite(task, path, list(one.whole))
    elif one.deletes or one.new == names.NULL:
        change.delete(task, path, one)
    else:
        hunks, failures = change.prepared(task, path, one)
        task.failures += failures
        task.hunks.setdefault(path, []).extend(hunks)


def _finish(task: Task) -> Patch:
    """The patch; a reply that changes nothing is refused, and so is a path that slipped through."""
    changed = {path: new for path, new in task.result.items() if new != task.files.get(path)}
    for path in changed:
        failure = names.refuse(path, path, task.allowed, task.links)
        if failure:
            task.failures.append(failure)
    if not changed and (task.applied_before or task.result):
        text = "The reply changes nothing: the file holds all of its result, or - and + are swapped."
        task.fail(PatchProblem.REVERSED_OR_ALREADY_APPLIED, text)
    elif not changed:
        task.fail(PatchProblem.NO_DIFF, "The diff holds no added and no removed line.")
    task.stop_if_failed()
    diff, added, removed = canon.unified(task.files, changed)
    return Patch(changed, diff, added, removed, task.found.prose)
