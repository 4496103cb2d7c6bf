"""`new`: from a torch reference to a task repository that can be refined.

Everything is worked out and tried before the first byte is written; a refusal leaves nothing behind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cutegen_git.app import new_folder
from cutegen_git.app.new_axes import Derived, derive
from cutegen_git.app.new_family import guess
from cutegen_git.app.new_files import files
from cutegen_git.app.new_memory import check_fit, room_bytes
from cutegen_git.app.new_sizes import choose, elements
from cutegen_git.app.new_strengthen import strengthened
from cutegen_git.core.taskfile import parse, render
from cutegen_git.hands.repo import Repo
from cutegen_git.judge.reference import Reference, load
from cutegen_git.words.errors import TaskError
from cutegen_git.words.task import Family, Role, Runner, Task, Workload

Axes = Mapping[str, int]
Say = Callable[[str], None]
# Above this many elements a reference is not run here just to see whether it repeats itself.
TRY_ELEMENTS = 1 << 22


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for."""

    folder: Path
    source: bytes  # of the reference
    origin: str  # for people: "the example gemm", "the KernelBench file 19_ReLU.py"
    name: str
    device: str = "rtx4090"
    family: Family | None = None  # None: guessed
    ranks: Sequence[Axes] = ()  # (): as the file says
    checks: Sequence[Axes] = ()  # (): chosen
    model: str | None = None
    runner: str | None = None  # whose verdicts count
    force_fixed: bool = False
    shrink: bool = False  # rank sizes that do not fit the home device


@dataclass(frozen=True, slots=True)
class Made:
    """A task repository, and what was found on the way."""

    folder: Path
    task: Task
    form: str  # native, kernelbench
    fixed: Mapping[str, str]  # integer of the file that is no axis -> why
    notes: Sequence[str]  # for people, also in task.toml and README


def make(request: Request, say: Say, *, at: int) -> Made:
    """The task repository, with one commit on main. TaskError or RepoError, one line, for every refusal."""
    new_folder.refuse(request.folder)
    say("reading the reference")
    reference = load(request.source)
    derived, ranks = _axes(reference, request, say)
    ranks, notes = _fit(reference, request, ranks, derived)
    say("choosing check sizes")
    checks = _checks(reference, request, derived)
    task = _draft(reference, request, derived, ranks, checks)
    notes += _first_notes(reference, request, derived, task)
    if _can_try(reference, checks):
        reference.check_repeats(min(checks, key=lambda axes: elements(reference, axes)))
        say("holding wrong answers against the checks")
        task, more = strengthened(reference, task, derived, stated=bool(request.checks))
        notes += more
    else:
        notes.append("The shape is too large to be tried without a GPU: the checks were not linted.")
    content = files(task, request.source, origin=request.origin, notes=notes)
    if parse(content["task.toml"].decode()) != task:
        raise AssertionError(f"task.toml does not say what was found:\n{render(task)}")
    message = f"task: {task.name}\n\n{_message(task, request.origin)}\n"
    with Repo.create(request.folder, content, message, at):
        return Made(request.folder, task, reference.form, derived.fixed, notes)


def _axes(reference: Reference, request: Request, say: Say) -> tuple[Derived, list[Axes]]:
    """The signature over its axes, and the rank sizes as wanted."""
    stated = reference.form == "native"
    known = dict(reference.axes)
    if stated and not known and request.ranks:
        known = dict(request.ranks[0])
    if request.force_fixed:
        fixed = known if stated else {}
        if fixed:
            raise TaskError("--force-fixed is for KernelBench files; a native reference states its AXES")
        return Derived(reference.signature({}), {}, {}, dict.fromkeys(known, "--force-fixed")), [{}]
    say("trying which sizes may change")
    if stated and not known:
        _refuse_unstated(reference)
    derived = derive(reference, known, stated=stated)
    ranks: list[Axes] = [_sizes("--rank", given, derived) for given in request.ranks]
    return derived, ranks or [derived.axes]


def _refuse_unstated(reference: Reference) -> None:
    try:
        reference.signature({})
    except TaskError as error:
        if "KeyError" in str(error):
            raise TaskError(
                "reference.py states no sizes: add AXES = {...}, or give them with --rank M=4096,N=4096"
            ) from error
        raise


def _sizes(flag: str, given: Axes, derived: Derived) -> dict[str, int]:
    """The sizes that a flag gives, the others as the file says, in the order of the signature."""
    for name, size in given.items():
        if name not in derived.axes:
            why = f" ({derived.fixed[name]})" if name in derived.fixed else ""
            raise TaskError(f"{flag}: {name} is no axis{why}; axes are {', '.join(derived.axes) or 'none'}")
        if size % derived.steps[name]:
            raise TaskError(
                f"{flag}: the reference runs only where {name} is a multiple of {derived.steps[name]}"
            )
    return {name: given.get(name, size) for name, size in derived.axes.items()}


def _fit(
    reference: Reference, request: Request, ranks: Sequence[Axes], derived: Derived
) -> tuple[list[Axes], list[str]]:
    if room_bytes(request.device) is None:
        return list(ranks), [f"How much memory {request.device} has is not known here; nothing was checked."]
    fitted = [
        check_fit(reference, axes, derived.steps, request.device, shrink=request.shrink) for axes in ranks
    ]
    notes = [
        f"Rank sizes were made smaller so that they fit {request.device}: {_text(was)} became {_text(axes)}."
        for was, axes in zip(ranks, fitted, strict=True)
        if dict(was) != dict(axes)
    ]
    return fitted, notes


def _text(axes: Axes) -> str:
    return ", ".join(f"{name} = {size}" for name, size in axes.items())


def _checks(reference: Reference, request: Request, derived: Derived) -> list[Axes]:
    if request.checks:
        given = [_sizes("--check", axes, derived) for axes in request.checks]
        for axes in given:
            reference.signature(axes)
        return list(given)
    return list(choose(reference, derived.axes, derived.steps)) or [{}]


def _can_try(reference: Reference, checks: Sequence[Axes]) -> bool:
    return all(elements(reference, axes) <= TRY_ELEMENTS for axes in checks)


def _draft(
    reference: Reference, request: Request, derived: Derived, ranks: Sequence[Axes], checks: Sequence[Axes]
) -> Task:
    trace = reference.trace(ranks[0])
    workloads = [Workload(axes, Role.CHECK) for axes in checks] + [
        Workload(axes, Role.RANK) for axes in ranks
    ]
    return Task(
        name=request.name,
        family=request.family or guess(trace),
        arch="sm_89",
        device=request.device,
        signature=derived.signature,
        workloads=tuple(workloads),
        model=request.model,
        runners={request.runner: Runner(request.device)} if request.runner else {},
    )


def _first_notes(reference: Reference, request: Request, derived: Derived, task: Task) -> list[str]:
    notes: list[str] = []
    if not derived.axes:
        notes.append(
            "One fixed shape: no size of the reference can change, so kernels are checked where they are timed."
        )
    if derived.fixed and not request.force_fixed:
        listed = ", ".join(f"{name} = {reference.axes[name]}" for name in derived.fixed)
        notes.append(f"Part of the operation, not axes: {listed}.")
    steps = {name: step for name, step in derived.steps.items() if step > 1}
    if steps:
        notes.append("; ".join(f"{name} is a multiple of {step}" for name, step in steps.items()) + ".")
    if any(spec.constant for spec in task.signature.tensors()):
        notes.append("Parameters and buffers of Model are inputs marked constant: `prepare` may pack them.")
    return notes


def _message(task: Task, origin: str) -> str:
    return f"{task.family.value} for {task.device}, from {origin}. No kernel yet: the first attempt makes it."


def name_from(text: str) -> str:
    """A task name from a file's or folder's: "19_ReLU.py" gives "ReLU"."""
    stem = re.sub(r"\.py$", "", text)
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "_", re.sub(r"^\d+[_-]+(?=.)", "", stem)).strip("_.-")
    return stem[:64] or "task"
