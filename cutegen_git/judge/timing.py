"""Takes samples: attempt, incumbent and baseline in turn, in fresh processes, with the results checked all along."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median

import torch

from cutegen_git.judge.baselines import Baseline
from cutegen_git.judge.cases import Case, Stage
from cutegen_git.judge.checks import Checker, Refusal, at, differs
from cutegen_git.judge.protocol import BrokenDevice, Candidate, DeviceHandle, Trouble
from cutegen_git.words.task import Task
from cutegen_git.words.verdict import Outcome

PROCESSES = 3  # fresh ones: the same kernel differs by up to 0.5 % between two
BLOCKS_MIN, BLOCKS_MAX = 3, 8  # a process and workload
BLOCKS_NS = 4_000_000_000  # device time of all blocks of a process, for kernels far slower than torch
TURN_MIN, TURN_MAX = 2, 10  # calls a turn
TURN_NS = 15_000_000  # device time a turn, within those counts
CALLS_MIN, CALLS_MAX, CALLS_NS = 3, 10, 100_000_000  # of the call number, a process
BATCH_NS = 20_000_000
FIRST = 3  # calls for a first estimate
Opener = Callable[[Case], "Candidate | Trouble"]  # a fresh process for a rank case


def count_for(span_ns: int, call_ns: float, least: int, most: int) -> int:
    """Calls that fill a span, within limits."""
    return int(max(least, min(most, span_ns / max(1.0, call_ns))))


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
                stage = Stage.set_up(self.task, cases[0], self.device)
                with candidate, self._rival(incumbent, stage) as rival:
                    refusal = _Process(self, label, process, candidate, rival, stage).run()
                if refusal:
                    return refusal
        return None

    @contextmanager
    def _rival(self, incumbent: Opener | None, stage: Stage) -> Iterator[Candidate | None]:
        """The incumbent passed once; where it fails now it is left out and the verdict says so."""
        rival = incumbent(stage.case) if incumbent else None
        if rival is None or isinstance(rival, Trouble):
            if rival is not None:
                self.notes.append(f"the incumbent was left out: {rival.why}")
            yield None
            return
        with rival:
            trouble = rival.call(stage.call())
            if trouble:
                self.notes.append(f"the incumbent was left out: {trouble.why}")
            yield None if trouble else rival


@dataclass
class _Process:
    """One fresh process and one workload: bounds, blocks, calls."""

    sampler: Sampler
    label: str
    process: int
    candidate: Candidate
    rival: Candidate | None
    stage: Stage
    checker: Checker = field(default_factory=Checker)
    ns: dict[str, float] = field(default_factory=dict)  # first estimates by arm

    def run(self) -> Refusal | None:
        self.stage.poison()  # the incumbent was here
        refusal = self.checker.run(self.candidate, self.stage) or self._estimate() or self._bounded()
        cases = self.sampler.cases[self.label]
        for block in range(0 if refusal else self._blocks()):
            which = block % len(cases)
            self.stage = self.stage.load(cases[which])
            refusal = self._block(block, self.sampler.firsts[self.label][which])
            if refusal:
                return refusal
        return refusal or self.checker.look(self.candidate, self.stage) or self._calls()

    def _estimate(self) -> Refusal | None:
        for arm, candidate in (("attempt", self.candidate), ("incumbent", self.rival)):
            if candidate is None:
                continue
            ticks = candidate.time(self.stage.call(), FIRST)
            if not isinstance(ticks, Trouble):
                self.ns[arm] = median(ticks)
            elif candidate is self.candidate:
                return at(self.stage.case, ticks)
        self.ns["baseline"] = 1000 * self.sampler.baseline.us[self.label]
        return None

    def _bounded(self) -> Refusal | None:
        """The process's own times against the judge's clock over batches of N and 2N, back to back."""
        count = count_for(BATCH_NS, self.ns["attempt"], 2, 2000)
        spans = []
        for size in (count, 2 * count):
            seconds = self.candidate.batch_s(self.stage.call(), size)
            if isinstance(seconds, Trouble):
                return at(self.stage.case, seconds)
            spans.append(seconds)
        slope_ns = (spans[1] - spans[0]) / count * 1e9
        # 10 us: launching alone takes some, and the pipe adds to short batches.
        if self.ns["attempt"] >= 0.7 * slope_ns - 10_000:
            return None
        why = f"it reports {self.ns['attempt'] / 1000:.1f} us a call, but {slope_ns / 1000:.1f} us go by"
        return Refusal(Outcome.TIMING_SUSPICIOUS, why)

    def _count(self, arm: str) -> int:
        return count_for(TURN_NS, self.ns[arm], TURN_MIN, TURN_MAX)

    def _blocks(self) -> int:
        block_ns = sum(2 * self._count(arm) * ns for arm, ns in self.ns.items())
        return count_for(BLOCKS_NS, block_ns, BLOCKS_MIN, BLOCKS_MAX)

    def _block(self, block: int, first: Sequence[torch.Tensor]) -> Refusal | None:
        """A B B A, or A B I I B A with an incumbent."""
        if trouble := self.candidate.call(self.stage.call()):  # new contents: weights are packed again
            return at(self.stage.case, trouble)
        half: list[Callable[[], Refusal | None]] = [
            lambda: self._attempt(block, first),
            lambda: self._baseline(block),
            lambda: self._incumbent(block),
        ]
        for turn in (*half, *reversed(half)):
            if refusal := turn():
                return refusal
        return None

    def _attempt(self, block: int, first: Sequence[torch.Tensor]) -> Refusal | None:
        self.stage.poison()
        ticks = self.candidate.time(self.stage.call(), self._count("attempt"))
        if isinstance(ticks, Trouble):
            return at(self.stage.case, ticks)
        self._keep("attempt", block, ticks)
        if self.stage.task.precision.deterministic:
            return differs(self.stage, first)
        return self.checker.look(self.candidate, self.stage)

    def _incumbent(self, block: int) -> None:
        if self.rival is None or "incumbent" not in self.ns:
            return
        ticks = self.rival.time(self.stage.call(), self._count("incumbent"))
        if not isinstance(ticks, Trouble):
            self._keep("incumbent", block, ticks)

    def _baseline(self, block: int) -> None:
        baseline = self.sampler.baseline
        try:
            ticks = baseline.time(self.label, self.sampler.device, self._count("baseline"))
        except torch.OutOfMemoryError as error:
            raise BrokenDevice(f"no memory left for the baseline: {error}") from error
        self._keep(f"baseline:{baseline.name}", block, ticks)

    def _calls(self) -> Refusal | None:
        count = count_for(CALLS_NS, self.ns["attempt"], CALLS_MIN, CALLS_MAX)
        ticks = self.candidate.time_calls(self.stage.call(), count)
        if isinstance(ticks, Trouble):
            return at(self.stage.case, ticks)
        self._keep("call", 0, ticks)
        return None

    def _keep(self, arm: str, block: int, ticks: Sequence[int]) -> None:
        key = f"{arm}/{self.label}/{self.process}/{block}"
        self.sampler.samples.setdefault(key, []).extend(ticks)
        if arm != "call":
            self.sampler.samples.setdefault(f"mhz:{key}", []).append(self.sampler.device.sm_mhz())
