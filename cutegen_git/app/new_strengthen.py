"""Lints the checks of a task, and adds sizes until wrong answers fail. What was done is said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cutegen_git.app.new_axes import Derived
from cutegen_git.app.new_sizes import choose, elements, runs
from cutegen_git.judge.lint import Lint, lint
from cutegen_git.judge.reference import Reference
from cutegen_git.words.task import Role, Task, Workload

_ROUNDS = 3
_LIMIT = 2_000_000  # elements of all tensors in an added check


def strengthened(
    reference: Reference, task: Task, derived: Derived, *, stated: bool
) -> tuple[Task, list[str]]:
    """The task whose checks refuse every mutant that adding sizes can refuse, and what to tell the user.

    `stated`: the user named the checks, so that they may miss what the usual ones see.
    """
    notes: list[str] = []
    found = lint(reference, task)
    for axes in choose(reference, derived.axes, derived.steps) if stated else ():
        missed = _missed(reference, task, found, axes)
        if missed:
            task = _with_check(task, axes)
            notes.append(
                f"Check {_text(axes)} was added, because the others cannot tell: {', '.join(missed)}."
            )
            found = lint(reference, task)
    for _ in range(_ROUNDS):
        larger = None if found.is_sound else _larger(reference, task, derived)
        if larger is None:
            break
        notes.append(
            f"Check {_text(larger)} was added, because the others accept: {', '.join(found.accepted)}."
        )
        task = _with_check(task, larger)
        found = lint(reference, task)
    return task, notes + _told(found)


def _missed(reference: Reference, task: Task, found: Lint, axes: Mapping[str, int]) -> list[str]:
    """The mutants that a check at these sizes refuses and no check of the task does."""
    alone = replace(task, workloads=(Workload(axes, Role.CHECK),))
    return [name for name in lint(reference, alone).refused if name not in found.refused]


def _with_check(task: Task, axes: Mapping[str, int]) -> Task:
    checks = (*task.of_role(Role.CHECK), Workload(axes, Role.CHECK))
    return replace(task, workloads=(*checks, *task.of_role(Role.RANK)))


def _larger(reference: Reference, task: Task, derived: Derived) -> dict[str, int] | None:
    """About three times the largest check in every axis, odd multiples of the steps, no larger than at rank."""
    checks = [workload.axes for workload in task.of_role(Role.CHECK)]
    most = {name: max(axes[name] for axes in checks) for name in derived.axes}
    for factor in (3, 2):
        axes = {}
        for name, size in derived.axes.items():
            step = derived.steps[name]
            count = max(min(factor * most[name], size) // step, 1)
            axes[name] = step * (count if count % 2 else max(count - 1, 1))
        if axes and axes not in checks and elements(reference, axes) <= _LIMIT and runs(reference, axes):
            return axes
    return None


def _told(found: Lint) -> list[str]:
    notes = []
    if found.accepted:
        notes.append(f"Weak: the checks accept these wrong answers: {', '.join(found.accepted)}.")
    if found.without_effect:
        notes.append(f"No result depends on: {', '.join(found.without_effect)}.")
    if found.trivial:
        notes.append(f"On this data the right answer is: {', '.join(found.trivial)}. Is that meant?")
    return notes


def _text(axes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {size}" for name, size in axes.items())
