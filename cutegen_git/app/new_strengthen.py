"""Lints the checks of a task, and adds sizes until wrong answers fail. What was done is said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cutegen_git.app.new_axes import Derived
from cutegen_git.app.new_sizes import elements, runs
from cutegen_git.judge.lint import Lint, lint
from cutegen_git.judge.reference import Reference
from cutegen_git.words.task import Role, Task, Workload

_ROUNDS = 3
_LIMIT = 2_000_000  # elements of all tensors in an added check


def strengthened(reference: Reference, task: Task, derived: Derived) -> tuple[Task, list[str]]:
    """The task whose checks refuse every mutant, as far as adding sizes can do that, and what to tell the user."""
    found, notes = lint(reference, task), []
    for _ in range(_ROUNDS if task.signature.axes else 0):
        if found.is_sound:
            break
        axes = _larger(reference, task, derived)
        if axes is None:
            break
        weak = ", ".join(found.accepted)
        task = _with_check(task, axes)
        found = lint(reference, task)
        notes.append(f"Check {_text(axes)} was added, because the others accept: {weak}.")
    return task, notes + _told(found)


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
        if axes not in checks and elements(reference, axes) <= _LIMIT and runs(reference, axes):
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
