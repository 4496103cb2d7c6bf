"""Whether the check workloads of a task tell right from wrong: wrong answers of known kinds must fail.

The comparison is the judge's own. A mutant that is right for the operation (the absolute value of what is squared
anyway) is no mutant there. What a task must not accept: design judge.md, section 4, "Task lint".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

import torch

from cutegen_git.judge.compare import Standard, inspect
from cutegen_git.judge.honest import Honesty
from cutegen_git.judge.lint_mutants import Outputs, Scene, mutants
from cutegen_git.judge.reference import Reference
from cutegen_git.words.errors import TaskError
from cutegen_git.words.task import Role, Task, Workload

KINDS = ("normal", "uniform", "large", "tiny")  # as the judge checks them
_SEED, _OTHER_SEED = 20011, 20021


@dataclass(frozen=True, slots=True)
class Lint:
    """What became of the wrong answers."""

    refused: tuple[str, ...]  # mutants that a check refuses
    accepted: tuple[str, ...]  # mutants that pass every check: the task is weak
    without_effect: tuple[str, ...]  # inputs that no result depends on
    trivial: tuple[str, ...] = ()  # "zeros", "a copy of x": cheap answers that are right on all data tried

    @property
    def is_sound(self) -> bool:
        return not self.accepted


@dataclass
class _Record:
    refused: dict[str, None] = field(default_factory=dict)
    wrong: dict[str, None] = field(default_factory=dict)  # wrong somewhere, and accepted there
    right: dict[str, None] = field(default_factory=dict)  # no mutant so far

    def note(self, name: str, *, is_right: bool, is_accepted: bool) -> None:
        if is_right:
            self.right[name] = None
        elif is_accepted:
            self.wrong[name] = None
        else:
            self.refused[name] = None


def lint(reference: Reference, task: Task) -> Lint:
    """Every mutant held against every check of the task, on the CPU."""
    honesty, record = Honesty(task, reference), _Record()
    workloads = sorted(task.of_role(Role.CHECK), key=lambda workload: prod(workload.axes.values()))
    for kind in KINDS:
        for workload in workloads:
            _one_case(reference, honesty, workload, kind, record)
    accepted = tuple(name for name in record.wrong if name not in record.refused)
    silent = [name for name in record.right if name not in record.refused and name not in record.wrong]
    ignored = tuple(name.removesuffix(" ignored") for name in silent if name.endswith(" ignored"))
    trivial = tuple(
        name for name in silent if name in ("zeros", "one constant") or name.startswith("a copy of")
    )
    return Lint(tuple(record.refused), accepted, ignored, trivial)


def _one_case(reference: Reference, honesty: Honesty, workload: Workload, kind: str, record: _Record) -> None:
    axes = workload.axes
    values = reference.inputs(axes, seed=_SEED, kind=kind)
    other = reference.inputs(axes, seed=_OTHER_SEED, kind=kind)
    scene = Scene(reference, axes, values, other, reference.run64(values, axes))
    standards: tuple[Standard, ...] = ()
    for name, outputs in _runnable(scene, honesty.task, set(record.refused)):
        is_right = _is_right(outputs, scene.exact)
        if not is_right and not standards:
            standards = honesty.standards(values, axes, kind, is_large=False)
        record.note(name, is_right=is_right, is_accepted=not is_right and _is_accepted(outputs, standards))


def _runnable(scene: Scene, task: Task, done: set[str]) -> Iterator[tuple[str, Outputs]]:
    for name, make in mutants(scene, task):
        if name in done:
            continue
        try:
            outputs = make()
        except TaskError:
            continue  # zeros are no index there
        if [output.shape for output in outputs] == [output.shape for output in scene.exact]:
            yield name, outputs


def _is_right(outputs: Outputs, exact: Outputs) -> bool:
    return all(_same(output, right) for output, right in zip(outputs, exact, strict=True))


def _same(output: torch.Tensor, right: torch.Tensor) -> bool:
    if not right.is_floating_point():
        return torch.equal(output, right)
    scale = float(torch.nan_to_num(right, 0.0, 0.0, 0.0).abs().max()) if right.numel() else 0.0
    return torch.allclose(output, right, rtol=1e-12, atol=1e-12 * scale, equal_nan=True)


def _is_accepted(outputs: Outputs, standards: tuple[Standard, ...]) -> bool:
    return all(
        inspect(_cast(output, standard.dtype), standard).finding is None
        for output, standard in zip(outputs, standards, strict=True)
    )


def _cast(output: torch.Tensor, dtype: str) -> torch.Tensor:
    """The output as a kernel would have written it."""
    cast: torch.Tensor = output.to(torch.uint8 if dtype == "bool" else getattr(torch, dtype))
    return cast
