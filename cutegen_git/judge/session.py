"""The judge of one task on one device: resident, so that only the first verdict pays for torch and references."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import torch

from cutegen_git.core import roofline, stats
from cutegen_git.hands.build import Build
from cutegen_git.judge import baselines
from cutegen_git.judge.cases import Case, Plan, Stage, check_plans, make_case, seed_of
from cutegen_git.judge.checks import Checker, Refusal
from cutegen_git.judge.honest import Honesty
from cutegen_git.judge.protocol import BrokenDevice, Candidate, DeviceHandle, Trouble
from cutegen_git.judge.reference import Reference
from cutegen_git.judge.timing import Sampler
from cutegen_git.words.task import Axes, Role, Task
from cutegen_git.words.verdict import Outcome, Timing

RANK_KINDS = ("normal", "normal")  # two sets of inputs: contents change at the same pointers while timing
_PROBED = (Outcome.CRASHED, Outcome.TIMEOUT, Outcome.LAUNCH_FAILED)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the judge found. `samples` decide `timing` again by `core.stats.decide`."""

    outcome: Outcome
    why: str = ""  # one sentence; "" when passed
    feedback: str = ""  # lines for the model
    timing: Timing | None = None
    samples: Mapping[str, Sequence[int]] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)  # phase -> wall seconds
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Session:
    """Holds inputs, references and tuned baselines. One attempt at a time."""

    task: Task
    reference: Reference
    device: DeviceHandle
    cache_dir: Path = field(kw_only=True)
    say: Callable[[str], None] = field(kw_only=True)
    _honesty: Honesty = field(init=False)
    _rank: dict[str, list[Case]] = field(init=False, default_factory=dict)
    _baseline: baselines.Baseline | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._honesty = Honesty(self.task, self.reference)

    def judge(self, build: Build, *, commit: str, secret: bytes, incumbent: Build | None = None) -> Judgement:
        """The judgement on a kernel that was built. Never raises for a bad kernel."""
        problem = ""
        for _ in range(2):
            try:
                return _Judging(self, build, seed_of(secret, commit), incumbent).run()
            except (BrokenDevice, torch.OutOfMemoryError) as error:
                problem = str(error).splitlines()[0]
            except RuntimeError as error:  # torch's own CUDA errors: the candidate has another context
                problem = f"{type(error).__name__}: {str(error).splitlines()[0]}"
            self.say(f"the judge had trouble and tries once more: {problem}")
        problem = self.device.probe() or problem
        return Judgement(Outcome.INFRASTRUCTURE, problem, "")

    def weights(self) -> dict[str, float]:
        """Of rank workloads by label: what `stats.decide` wants beside the samples."""
        return {workload.label(): workload.weight for workload in self.task.of_role(Role.RANK)}

    def rank_cases(self, seed: int) -> Mapping[str, Sequence[Case]]:
        """Inputs and references of rank workloads, made once: they are the dearest."""
        if not self._rank:
            made: dict[str, list[Case]] = {}
            for workload in self.task.of_role(Role.RANK):
                made[workload.label()] = [
                    make_case(
                        Plan(workload, kind),
                        self.reference,
                        self._honesty,
                        self.device.torch_device,
                        seed + n,
                    )
                    for n, kind in enumerate(RANK_KINDS)
                ]
            self._rank = made
        return self._rank

    def baseline(self) -> baselines.Baseline:
        """Tuned at the first kernel that passes its checks."""
        if self._baseline is None:
            self.say("timing torch's own forms (once a session)")
            first = {label: cases[0] for label, cases in self._rank.items()}
            self._baseline = baselines.tune(self.reference, first, self.device)
        return self._baseline


@dataclass
class _Judging:
    """One verdict in the making."""

    session: Session
    build: Build
    seed: int
    incumbent: Build | None
    seconds: dict[str, float] = field(default_factory=dict)
    checker: Checker = field(default_factory=Checker)

    def run(self) -> Judgement:
        with self._phase("check"):
            refusal = self._checks()
        if refusal is None and self.session.device.facts.can_time and self.session.task.of_role(Role.RANK):
            return self._timed()
        return self._refused(refusal) if refusal else self._judgement(Outcome.PASSED)

    def _checks(self) -> Refusal | None:
        """Everything but time: check workloads, then rank workloads, then again in a second process."""
        session = self.session
        plans = list(check_plans(session.task))
        firsts: list[tuple[Case, Sequence[torch.Tensor]]] = []
        for axes, group in _by_library(session.task, plans):
            refusal = self._first_process(axes, group, firsts)
            if refusal:
                return refusal
        if refusal := self._rank_checks():
            return refusal
        if self.checker.imprecise:
            return self.checker.imprecise
        return self._second_process(firsts)

    def _first_process(
        self, axes: Axes, plans: Sequence[Plan], firsts: list[tuple[Case, Sequence[torch.Tensor]]]
    ) -> Refusal | None:
        opened = self._open(self.build, axes)
        if isinstance(opened, Trouble):
            return Refusal(opened.outcome, opened.why)
        with opened as candidate:
            for number, plan in enumerate(plans):
                case = self._case(plan, number)
                stage = Stage.set_up(self.session.task, case, self.session.device)
                refusal = self.checker.run(candidate, stage)
                if refusal is None and plan.kind == "normal" and not plan.shift_bytes:
                    firsts.append((case, stage.copies()))
                    refusal = self.checker.held(candidate, stage) if number == 0 else None
                if refusal:
                    return refusal
        return None

    def _rank_checks(self) -> Refusal | None:
        self.firsts: dict[str, list[Sequence[torch.Tensor]]] = {}
        for label, cases in self.session.rank_cases(self.seed).items():
            opened = self._open(self.build, cases[0].axes)
            if isinstance(opened, Trouble):
                return Refusal(opened.outcome, opened.why)
            with opened as candidate:
                for case in cases:
                    stage = Stage.set_up(self.session.task, case, self.session.device)
                    refusal = self.checker.run(candidate, stage)
                    self.firsts.setdefault(label, []).append(stage.copies())
                    refusal = refusal or self.checker.held(candidate, stage)
                    if refusal:
                        return refusal
        return None

    def _second_process(self, firsts: Sequence[tuple[Case, Sequence[torch.Tensor]]]) -> Refusal | None:
        for axes, group in _cases_by_library(self.session.task, firsts):
            opened = self._open(self.build, axes)
            if isinstance(opened, Trouble):
                return Refusal(opened.outcome, opened.why)
            with opened as candidate:
                for case, outputs in reversed(group):  # another order than in the first process
                    stage = Stage.set_up(self.session.task, case, self.session.device)
                    refusal = self.checker.repeated(candidate, stage, outputs)
                    if refusal:
                        return refusal
        return None

    def _timed(self) -> Judgement:
        session = self.session
        with self._phase("baseline"):
            baseline = session.baseline()
        sampler = Sampler(session.task, session.device, baseline, session.rank_cases(self.seed), self.firsts)
        rival = self.incumbent
        with self._phase("time"):
            refusal = sampler.take(
                lambda case: self._open(self.build, case.axes),
                (lambda case: self._open(rival, case.axes)) if rival is not None else None,
            )
        if refusal:
            return self._refused(refusal)
        timing = stats.decide(sampler.samples, weights=session.weights())
        if refusal := self._impossible(sampler.samples):
            return self._refused(refusal, sampler.samples)
        return self._judgement(Outcome.PASSED, timing=timing, samples=sampler.samples, notes=sampler.notes)

    def _impossible(self, samples: Mapping[str, Sequence[int]]) -> Refusal | None:
        task, device = self.session.task, self.session.device.facts
        for workload in task.of_role(Role.RANK):
            own = {key: ticks for key, ticks in samples.items() if f"/{workload.label()}/" in key}
            floor, found = (
                roofline.impossible_us(task, workload.axes, device),
                stats.typical_us(own, "attempt"),
            )
            if found < floor:
                why = (
                    f"{found:.1f} us at {workload.label()} is less than the {floor:.1f} us that moving the data"
                    f" takes on {device.name}"
                )
                return Refusal(Outcome.FASTER_THAN_POSSIBLE, why)
        return None

    def _case(self, plan: Plan, number: int) -> Case:
        session = self.session
        seed = seed_of(str(self.seed).encode(), plan.workload.label(), plan.kind, number)
        return make_case(plan, session.reference, session._honesty, session.device.torch_device, seed)

    def _open(self, build: Build, axes: Axes) -> Candidate | Trouble:
        static = {axis: axes[axis] for axis in self.session.task.static}
        for library in build.libraries:
            if dict(library.static) == static:
                return self.session.device.open(library.path, self.session.task)
        raise BrokenDevice(f"the build has no library for {static}")

    def _refused(self, refusal: Refusal, samples: Mapping[str, Sequence[int]] | None = None) -> Judgement:
        if refusal.outcome in _PROBED and (broken := self.session.device.probe()):
            raise BrokenDevice(
                f"after the candidate ended with {refusal.why!r} the device does not work: {broken}"
            )
        return self._judgement(
            refusal.outcome, why=refusal.why, feedback=refusal.feedback, samples=samples or {}
        )

    def _judgement(
        self,
        outcome: Outcome,
        *,
        why: str = "",
        feedback: str = "",
        timing: Timing | None = None,
        samples: Mapping[str, Sequence[int]] | None = None,
        notes: Sequence[str] = (),
    ) -> Judgement:
        facts = self._facts(samples or {}, notes)
        return Judgement(outcome, why, feedback, timing, samples or {}, dict(self.seconds), facts)

    def _facts(self, samples: Mapping[str, Sequence[int]], notes: Sequence[str]) -> dict[str, str]:
        device = self.session.device
        state = device.state()
        facts = {
            "Gpu": device.facts.name,
            "Driver": device.facts.driver,
            "Torch": torch.__version__,
            "Clocks": ", ".join(f"{name} {value}" for name, value in state.items() if name != "limits"),
            "Confined": state.get("limits", ""),
            "Error-Budget-Used": f"{self.checker.worst_used:.2f}",
        }
        if samples:
            facts["Noise"] = f"{100 * stats.noise_floor(samples):.2f} %"
            facts["Method"] = f"timing {stats.METHOD}, {len({k.split('/')[2] for k in samples})} processes"
        if self.session._baseline is not None:
            lost = self.session._baseline.lost
            facts["Other-Forms"] = "; ".join(f"{name}: {said}" for name, said in lost.items())
        if notes:
            facts["Notes"] = "; ".join(dict.fromkeys(notes))
        return facts

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.monotonic() - started, 3)


def _by_library(task: Task, plans: Sequence[Plan]) -> Iterator[tuple[Axes, list[Plan]]]:
    """Plans that one library serves, in order."""
    groups: dict[tuple[int, ...], list[Plan]] = {}
    for plan in plans:
        groups.setdefault(tuple(plan.workload.axes[axis] for axis in task.static), []).append(plan)
    for group in groups.values():
        yield group[0].workload.axes, group


def _cases_by_library(
    task: Task, firsts: Sequence[tuple[Case, Sequence[torch.Tensor]]]
) -> Iterator[tuple[Axes, list[tuple[Case, Sequence[torch.Tensor]]]]]:
    groups: dict[tuple[int, ...], list[tuple[Case, Sequence[torch.Tensor]]]] = {}
    for item in firsts:
        groups.setdefault(tuple(item[0].axes[axis] for axis in task.static), []).append(item)
    for group in groups.values():
        yield group[0][0].axes, group
