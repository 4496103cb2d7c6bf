"""Takes samples: attempt, incumbent and baseline in turn, in fresh processes, with the results checked all along."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

import torch

from cutegen_git.judge.baselines import Baseline
from cutegen_git.judge.cases import Case, Stage
from cutegen_git.judge.checks import Checker, Refusal, at, differs
from cutegen_git.judge.protocol import BrokenDevice, Candidate, DeviceHandle, Trouble
from cutegen_git.words.task import Task
from cutegen_git.words.verdict import Outcome

PROCESSES = 3  # fresh ones: the same kernel differs by 0.5 % between two
BLOCKS = 8  # a process and workload
TURN_NS = 15_000_000  # of device time a turn, within these counts:
TURN_MIN, TURN_MAX = 2, 10
CALLS = 10  # for the call number, a process
BATCH_NS = 20_000_000
Opener = Callable[[Case], "Candidate | Trouble"]  # a fresh process for a rank case


@dataclass
class Sampler:
    """Collects the samples of one verdict."""

    task: Task
    device: DeviceHandle
    baseline: Baseline
    cases: Mapping[str, Sequence[Case]]  # by workload: one or two sets of inputs of a rank workload
    firsts: Mapping[str, Sequence[Sequence[torch.Tensor]]]  # outputs of the checking process, one a case
    samples: dict[str, list[int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def take(self, attempt: Opener, incumbent: Opener | None) -> Refusal | None:
        """All samples, or why the attempt is refused after all."""
        for process in range(PROCESSES):
            for label, cases in self.cases.items():
                candidate = attempt(cases[0])
                if isinstance(candidate, Trouble):
                    return at(cases[0], candidate)
                with candidate:
                    refusal = self._process(candidate, incumbent, label, process)
                if refusal:
                    return refusal
        return None

    def _process(
        self, candidate: Candidate, incumbent: Opener | None, label: str, process: int
    ) -> Refusal | None:
        cases = self.cases[label]
        stage = Stage.set_up(self.task, cases[0], self.device)
        checker = Checker()
        refusal = checker.run(candidate, stage) or self._bounded(candidate, stage)
        rival = None if refusal else self._open_rival(incumbent, stage)
        try:
            for block in range(BLOCKS):
                if refusal:
                    return refusal
                which = block % len(cases)
                stage = stage.load(cases[which])
                turns = _Turns(
                    self, candidate, rival, stage, self.firsts[label][which], label, process, block
                )
                refusal = turns.take()
            return refusal or self._call_times(candidate, stage, label, process)
        finally:
            if rival is not None:
                rival.__exit__(None, None, None)

    def _open_rival(self, incumbent: Opener | None, stage: Stage) -> Candidate | None:
        """The incumbent passed once; where it fails now it is left out and the verdict says so."""
        if incumbent is None:
            return None
        rival = incumbent(stage.case)
        trouble = rival if isinstance(rival, Trouble) else rival.call(stage.call())
        if trouble:
            self.notes.append(f"the incumbent was left out: {trouble.why}")
            return None
        assert not isinstance(rival, Trouble)
        return rival

    def _bounded(self, candidate: Candidate, stage: Stage) -> Refusal | None:
        """The process's own times against the judge's clock over batches of N and 2N, back to back."""
        call = stage.call()
        ticks = candidate.time(call, 3)
        if isinstance(ticks, Trouble):
            return at(stage.case, ticks)
        count = max(2, min(2000, BATCH_NS // max(1, int(median(ticks)))))
        spans = []
        for size in (count, 2 * count):
            seconds = candidate.batch_s(call, size)
            if isinstance(seconds, Trouble):
                return at(stage.case, seconds)
            spans.append(seconds)
        slope_ns = (spans[1] - spans[0]) / count * 1e9
        # 10 us: launching alone takes some, and the pipe adds to short batches.
        if median(ticks) >= 0.7 * slope_ns - 10_000:
            return None
        why = f"it reports {median(ticks) / 1000:.1f} us a call, but {slope_ns / 1000:.1f} us go by"
        return Refusal(Outcome.TIMING_SUSPICIOUS, why)

    def _call_times(self, candidate: Candidate, stage: Stage, label: str, process: int) -> Refusal | None:
        ticks = candidate.time_calls(stage.call(), CALLS)
        if isinstance(ticks, Trouble):
            return at(stage.case, ticks)
        self.samples[f"call/{label}/{process}/0"] = list(ticks)
        return None


@dataclass(frozen=True, slots=True)
class _Turns:
    """One block: A B B A, or A B I I B A with an incumbent."""

    sampler: Sampler
    candidate: Candidate
    rival: Candidate | None
    stage: Stage
    first: Sequence[torch.Tensor]
    label: str
    process: int
    block: int

    def take(self) -> Refusal | None:
        if trouble := self.candidate.call(self.stage.call()):
            return at(self.stage.case, trouble)
        half: list[Callable[[], Refusal | None]] = [self._attempt, self._baseline]
        if self.rival is not None:
            half.append(self._incumbent)
        for turn in (*half, *reversed(half)):
            if refusal := turn():
                return refusal
        return None

    def _count(self) -> int:
        return int(max(TURN_MIN, min(TURN_MAX, TURN_NS / (1000 * self.sampler.baseline.us[self.label]))))

    def _attempt(self) -> Refusal | None:
        self.stage.poison()
        ticks = self.candidate.time(self.stage.call(), self._count())
        if isinstance(ticks, Trouble):
            return at(self.stage.case, ticks)
        self._keep("attempt", ticks)
        if self.stage.task.precision.deterministic:
            return differs(self.stage, self.first)
        return Checker().look(self.candidate, self.stage)

    def _incumbent(self) -> Refusal | None:
        assert self.rival is not None
        ticks = self.rival.time(self.stage.call(), self._count())
        if not isinstance(ticks, Trouble):
            self._keep("incumbent", ticks)
        return None

    def _baseline(self) -> Refusal | None:
        baseline = self.sampler.baseline
        try:
            ticks = baseline.time(self.label, self.sampler.device, self._count())
        except torch.OutOfMemoryError as error:
            raise BrokenDevice(f"no memory left for the baseline: {error}") from error
        self._keep(f"baseline:{baseline.name}", ticks)
        return None

    def _keep(self, arm: str, ticks: Sequence[int]) -> None:
        rest = f"{self.label}/{self.process}/{self.block}"
        self.sampler.samples.setdefault(f"{arm}/{rest}", []).extend(ticks)
        self.sampler.samples.setdefault(f"mhz:{arm}/{rest}", []).append(self.sampler.device.sm_mhz())
