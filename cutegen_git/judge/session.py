"""The judge of one task on one device: resident, so that only the first verdict pays for torch and references."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from cutegen_git.hands.build import Build
from cutegen_git.judge import baselines
from cutegen_git.judge.cases import Case, Plan, aligned_sizes, make_case, seed_of
from cutegen_git.judge.honest import Honesty
from cutegen_git.judge.judgement import Judgement
from cutegen_git.judge.judging import Judging
from cutegen_git.judge.protocol import BrokenDevice, DeviceHandle
from cutegen_git.judge.reference import Reference
from cutegen_git.words.errors import TaskError
from cutegen_git.words.task import Role, Task, Workload
from cutegen_git.words.verdict import Outcome

__all__ = ["Judgement", "Session"]

RANK_SETS = 2
TRIES = 2


@dataclass
class Session:
    """Holds inputs, references and tuned baselines. One attempt at a time."""

    task: Task
    reference: Reference
    device: DeviceHandle
    cache_dir: Path = field(kw_only=True)
    say: Callable[[str], None] = field(kw_only=True)
    honesty: Honesty = field(init=False)
    hidden: tuple[Workload, ...] = field(init=False)
    tuned: baselines.Baseline | None = field(init=False, default=None)
    _rank: dict[str, list[Case]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.honesty = Honesty(self.task, self.reference)
        self.hidden = self._hidden()

    def _hidden(self) -> tuple[Workload, ...]:
        """Sizes that no prompt shows, as far as the reference allows them."""
        axes = aligned_sizes(self.task)
        if axes is None or any(axes == workload.axes for workload in self.task.workloads):
            return ()
        try:
            self.reference.check_signature(self.task.signature, axes)
        except TaskError:
            return ()
        return (Workload(axes, Role.CHECK),)

    def judge(self, build: Build, *, commit: str, secret: bytes, incumbent: Build | None = None) -> Judgement:
        """The judgement on a kernel that was built. Never raises for a bad kernel."""
        problem = ""
        for _ in range(TRIES):
            try:
                return Judging(self, build, seed_of(secret, commit), incumbent).run()
            except (BrokenDevice, torch.OutOfMemoryError) as error:
                problem = _first_line(error)
            except RuntimeError as error:  # torch's own CUDA errors: the candidate has another context
                problem = f"{type(error).__name__}: {_first_line(error)}"
            self.say(f"the judge had trouble: {problem}")
        problem = self.device.probe() or problem
        return Judgement(Outcome.INFRASTRUCTURE, problem, f"not the kernel's fault: {problem}")

    def weights(self) -> dict[str, float]:
        """Of rank workloads by label: what `stats.decide` wants beside the samples."""
        return {workload.label(): workload.weight for workload in self.task.of_role(Role.RANK)}

    def rank_cases(self, seed: int) -> Mapping[str, Sequence[Case]]:
        """Inputs and references of rank workloads, made once: they are the dearest.

        Empty where the device cannot time. torch.OutOfMemoryError if they do not fit the device.
        """
        if not self._rank and self.device.facts.can_time:
            self._rank = {w.label(): self._sets(w, seed) for w in self.task.of_role(Role.RANK)}
        return self._rank

    def _sets(self, workload: Workload, seed: int) -> list[Case]:
        """Two sets of inputs, so that contents change at the same pointers while timing; one where memory is short."""
        made: list[Case] = []
        for number in range(RANK_SETS):
            try:
                plan, place = Plan(workload, "normal"), self.device.torch_device
                made.append(make_case(plan, self.reference, self.honesty, place, seed + number))
            except torch.OutOfMemoryError:
                if not made:
                    raise
                self.say(
                    f"memory holds one set of inputs for {workload.label()}: it is timed with that one alone"
                )
        return made

    def baseline(self) -> baselines.Baseline:
        """Tuned at the first kernel that passes its checks."""
        if self.tuned is None:
            self.say("timing torch's own forms (once a session)")
            first = {label: cases[0] for label, cases in self._rank.items()}
            self.tuned = baselines.tune(self.reference, first, self.device)
        return self.tuned


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
