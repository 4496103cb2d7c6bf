"""Which file a change means, and whether it may be touched. Every refusal here comes before anything is placed."""

from __future__ import annotations

import re

from cutegen_git.words.errors import PatchProblem

from . import names
from .change import prepared
from .merge import merge
from .records import FileChange
from .task import Task


def target(task: Task, change: FileChange) -> tuple[str | None, bool]:
    """The file meant, and whether it is to be created; (None, False) after a refusal."""
    stated = (change.old, change.new, *(change.rename or ()), *(change.copy or ()))
    real = [_without_suffix(task, name) for name in stated if name and name != names.NULL]
    if not real:
        return _unnamed(task, change), False
    creating = change.old == names.NULL or change.creates
    if _is_refused(task, change, real, creating=creating):
        return None, False
    if creating:
        return new_path(task, names.spellings(real[-1])[0]), True
    path = _meant(task, change, real)
    if path or task.failures:
        return path, False
    return _missing(task, real[0], change)


def _without_suffix(task: Task, name: str) -> str:
    """`kernel.cu.orig` as `kernel.cu`, where only that is a file."""
    plain = re.sub(r"(\.(orig|old|new|bak|modified|patched)|~)$", "", name)
    return plain if task.known(name) is None and task.known(plain) else name


def _is_refused(task: Task, change: FileChange, real: list[str], *, creating: bool) -> bool:
    """Notes why a change is out of the question, by its names or its kind."""
    before = len(task.failures)
    goals = {pair[1] for pair in (change.rename, change.copy) if pair}
    sources = {change.copy[0]} if change.copy else set()
    if change.binary and not any(map(names.unsafe, real)):
        text = f"{real[-1]}: a patch must be text; binary content is refused."
        task.fail(PatchProblem.BINARY_PATCH, text)
        return True
    for name in dict.fromkeys(real):
        path = None if creating or name in goals else task.known(name)
        failure = names.refuse(name, path, task.allowed, task.links)
        if failure and not (name in sources and path in task.files):
            task.failures.append(failure)
            return True
    _refuse_kind(task, change, real[-1])
    return len(task.failures) > before


def _refuse_kind(task: Task, change: FileChange, name: str) -> None:
    """Links, submodules and mode changes never pass."""
    if "120000" in change.modes:
        task.fail(PatchProblem.SYMLINK, f"{name}: a patch must not make symbolic links.", name)
    elif change.modes:
        what = "a submodule" if "160000" in change.modes else "another file mode"
        text = f"{name}: a patch must not set {what}; change the text only."
        task.fail(PatchProblem.MODE_CHANGE, text, name)


def _meant(task: Task, change: FileChange, real: list[str]) -> str | None:
    """The existing file that the header names; two different ones are refused, except with a rename."""
    if change.rename or change.copy:
        return task.known(real[0])
    paths = {path for path in map(task.known, real) if path}
    bases = {name.replace("\\", "/").rsplit("/", 1)[-1].lower() for name in real}
    if paths and (len(paths) > 1 or len(bases) > 1):
        text = f"The header names two files, {' and '.join(real[:2])}. Use one name on both lines."
        task.fail(PatchProblem.NO_FILE_NAME, text)
        return None
    return next(iter(paths), None)


def new_path(task: Task, path: str) -> str | None:
    """The path of a file to be created, or None after a refusal."""
    taken = [one for one, text in task.files.items() if text or one != path]
    clash = names.refuse_new(path, [*taken, *task.links])
    clash = clash or names.refuse_new(path, [one for one in task.result if one != path])
    if clash is None and not task.is_allowed(path):
        clash = names.refuse(path, path, task.allowed, task.links)
    if clash:
        task.failures.append(clash)
        return None
    return path


def _missing(task: Task, name: str, change: FileChange) -> tuple[str | None, bool]:
    """A name of no file: a new file if the hunk says so, else a refusal."""
    path = names.spellings(name)[0]
    adds_only = bool(change.hunks) and not any(hunk.olds() for hunk in change.hunks)
    from_zero = all(hunk.old_start in (None, 0) for hunk in change.hunks)
    if change.whole is not None or (adds_only and from_zero):
        return new_path(task, path), True
    here = ", ".join(task.editable()) or "none"
    text = f"There is no file {path}. Files that can be changed: {here}."
    task.fail(PatchProblem.FILE_NOT_FOUND, text, path)
    return None, False


def _unnamed(task: Task, change: FileChange) -> str | None:
    """The one file that fits hunks without a file name."""
    editable = task.editable()
    if len(editable) == 1:
        return editable[0]
    fitting = [path for path in editable if _fits(task, path, change)]
    mentioned = {word for line in task.found.prose.split("\n") for word in names.mentioned(line)}
    told = [path for path in fitting if {path, path.rsplit("/", 1)[-1]} & mentioned]
    for group in (fitting, told):
        if len(group) == 1:
            return group[0]
    what = "fit several files" if fitting else "fit no file"
    text = f"The diff names no file, and its hunks {what}: {', '.join(editable)}."
    task.fail(PatchProblem.NO_FILE_NAME, text)
    return None


def _fits(task: Task, path: str, change: FileChange) -> bool:
    hunks, _ = prepared(task, path, change)
    return merge(task.doc(path), hunks, task.index(path)).doc is not None
