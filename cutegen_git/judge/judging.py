"""One verdict in the making: cheap checks first, then rank sizes, then a second process, then time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

import torch

from cutegen_git.core import roofline, stats
from cutegen_git.core.feedback.check import where_it_fails
from cutegen_git.hands.build import Build
from cutegen_git.judge.baselines import Baseline
from cutegen_git.judge.cases import Case, Plan, Stage, check_plans, make_case, seed_of
from cutegen_git.judge.checks import Checker, Refusal
from cutegen_git.judge.honest import Honesty
from cutegen_git.judge.judgement import Judgement
from cutegen_git.judge.protocol import BrokenDevice, Candidate, DeviceHandle, Trouble
from cutegen_git.judge.reference import Reference
from cutegen_git.judge.timing import Sampler
from cutegen_git.words.task import Axes, Role, Task, Workload
from cutegen_git.words.verdict import Outcome, Timing

_PROBED = (Outcome.CRASHED, Outcome.TIMEOUT, Outcome.LAUNCH_FAILED)
# After these the process still works, and other sizes tell the model more.
_GO_ON = (Outcome.WRONG_RESULT, Outcome.NON_FINITE_OUTPUT)
Outputs = Sequence[torch.Tensor]


Item = TypeVar("Item")


def by_library(
    task: Task, items: Sequence[Item], axes_of: Callable[[Item], Axes]
) -> Iterator[tuple[Axes, list[Item]]]:
    """Items that one library serves, in order, with axes that name that library."""
    groups: dict[tuple[int, ...], list[Item]] = {}
    for item in items:
        groups.setdefault(tuple(axes_of(item)[axis] for axis in task.static), []).append(item)
    for group in groups.values():
        yield axes_of(group[0]), group


class Resident(Protocol):
    """What outlives one verdict: the session."""

    task: Task
    reference: Reference
    device: DeviceHandle
    honesty: Honesty
    hidden: tuple[Workload, ...]
    tuned: Baseline | None

    def rank_cases(self, seed: int) -> Mapping[str, Sequence[Case]]: ...

    def baseline(self) -> Baseline: ...

    def weights(self) -> dict[str, float]: ...


@dataclass
class Judging:
    """Judges one build once."""

    session: Resident
    build: Build
    seed: int
    incumbent: Build | None
    seconds: dict[str, float] = field(default_factory=dict)
    checker: Checker = field(default_factory=Checker)
    wrong: list[tuple[str, Refusal]] = field(default_factory=list)  # by workload
    right: list[str] = field(default_factory=list)  # workloads
    small: list[tuple[Case, Outputs]] = field(default_factory=list)  # first results at check sizes
    rank: dict[str, list[Outputs]] = field(default_factory=dict)  # first results at rank sizes
    advice: list[str] = field(default_factory=list)

    def run(self) -> Judgement:
        with self._phase("check"):
            refusal = self._checks()
        if refusal:
            return self._refused(refusal)
        return self._timed() if self.rank else self._judgement(Outcome.PASSED)

    def _checks(self) -> Refusal | None:
        """Everything but time."""
        task, is_real = self.session.task, self.session.device.facts.can_time
        refusal = None
        for axes, plans in by_library(
            task, list(check_plans(task, self.session.hidden)), lambda plan: plan.workload.axes
        ):
            refusal = refusal or self._small(axes, plans)
        if self.wrong:
            return self._most_telling()
        refusal = refusal or (self._rank() if is_real else None) or self.checker.imprecise
        if refusal or not is_real:  # a simulated device repeats itself
            return refusal
        for axes, group in by_library(task, self.small, lambda item: item[0].axes):
            refusal = refusal or self._again(axes, group)
        return refusal

    def _small(self, axes: Axes, plans: Sequence[Plan]) -> Refusal | None:
        with self._process(self.build, axes) as candidate:
            if isinstance(candidate, Trouble):
                return Refusal(candidate.outcome, candidate.why)
            for number, plan in enumerate(plans):
                is_first = plan.kind == "normal" and not plan.shift_bytes
                if self.wrong and not is_first:
                    continue
                stage = Stage.set_up(self.session.task, self._case(plan, number), self.session.device)
                refusal = self._small_one(candidate, stage, is_first=is_first)
                if refusal and refusal.outcome in _GO_ON and self.session.device.facts.can_time:
                    self.wrong.append((plan.workload.label(), refusal))
                elif refusal:
                    return refusal
        return None

    def _small_one(self, candidate: Candidate, stage: Stage, *, is_first: bool) -> Refusal | None:
        refusal = self.checker.run(candidate, stage)
        self.advice += [line for line in candidate.advice() if line not in self.advice]
        if refusal or not is_first:
            return refusal
        self.right.append(stage.case.plan.workload.label())
        self.small.append((stage.case, stage.copies()))
        if len(self.small) == 1 and self.session.device.facts.can_time:
            return self.checker.held(candidate, stage)
        return None

    def _rank(self) -> Refusal | None:
        try:
            cases = self.session.rank_cases(self.seed)
        except torch.OutOfMemoryError:
            name = self.session.device.facts.name
            return Refusal(
                Outcome.UNSUPPORTED, f"a rank workload and its reference do not fit the memory of {name}"
            )
        for label, sets in cases.items():
            with self._process(self.build, sets[0].axes) as candidate:
                if isinstance(candidate, Trouble):
                    return Refusal(candidate.outcome, candidate.why)
                for case in sets:
                    stage = Stage.set_up(self.session.task, case, self.session.device)
                    refusal = self.checker.run(candidate, stage)
                    self.rank.setdefault(label, []).append(stage.copies())
                    refusal = refusal or self.checker.held(candidate, stage)
                    if refusal:
                        return self._with_places(refusal, [label])
        return None

    def _again(self, axes: Axes, group: Sequence[tuple[Case, Outputs]]) -> Refusal | None:
        """The same calls in another process and another order: the same bits."""
        with self._process(self.build, axes) as candidate:
            if isinstance(candidate, Trouble):
                return Refusal(candidate.outcome, candidate.why)
            for case, outputs in reversed(group):
                stage = Stage.set_up(self.session.task, case, self.session.device)
                if refusal := self.checker.repeated(candidate, stage, outputs):
                    return refusal
        return None

    def _most_telling(self) -> Refusal:
        """Of several wrong results the largest, with the sizes that fail and those that do not."""
        _, refusal = max(self.wrong, key=lambda item: item[1].elements)
        return self._with_places(refusal, [label for label, _ in self.wrong])

    def _with_places(self, refusal: Refusal, labels: Sequence[str]) -> Refusal:
        lines = [*(refusal.lines or (refusal.why,)), *where_it_fails(labels, self.right)]
        return replace(refusal, lines=tuple(lines))

    def _timed(self) -> Judgement:
        session = self.session
        with self._phase("baseline"):
            baseline = session.baseline()
        sampler = Sampler(session.task, session.device, baseline, session.rank_cases(self.seed), self.rank)
        rival = self.incumbent
        with self._phase("time"):
            refusal = sampler.take(
                lambda case: self._open(self.build, case.axes),
                (lambda case: self._open(rival, case.axes)) if rival is not None else None,
            )
        refusal = refusal or self._impossible(sampler.samples)
        if refusal:
            return self._refused(refusal, sampler.samples)
        timing = stats.decide(sampler.samples, weights=session.weights())
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
        return make_case(plan, session.reference, session.honesty, session.device.torch_device, seed)

    @contextmanager
    def _process(self, build: Build, axes: Axes) -> Iterator[Candidate | Trouble]:
        opened = self._open(build, axes)
        if isinstance(opened, Trouble):
            yield opened
        else:
            with opened as candidate:
                yield candidate

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
            refusal.outcome, why=refusal.why, lines=refusal.lines or (refusal.why,), samples=samples
        )

    def _judgement(
        self,
        outcome: Outcome,
        *,
        why: str = "",
        lines: Sequence[str] = (),
        timing: Timing | None = None,
        samples: Mapping[str, Sequence[int]] | None = None,
        notes: Sequence[str] = (),
    ) -> Judgement:
        feedback = "\n".join([*lines, *self.advice])
        facts = self._facts(samples or {}, notes)
        return Judgement(outcome, why, feedback, timing, samples or {}, dict(self.seconds), facts)

    def _facts(self, samples: Mapping[str, Sequence[int]], notes: Sequence[str]) -> dict[str, str]:
        device, tuned = self.session.device, self.session.tuned
        state = dict(device.state())
        facts = {
            "Gpu": device.facts.name,
            "Driver": device.facts.driver,
            "Torch": torch.__version__,
            "Confined": state.pop("limits", ""),
            "Clocks": ", ".join(f"{name} {value}" for name, value in state.items()),
            "Error-Budget-Used": f"{self.checker.worst_used:.2f}",
            "Notes": "; ".join(dict.fromkeys(notes)),
        }
        if samples:
            processes = {key.split("/")[2] for key in samples}
            facts["Noise"] = f"{100 * stats.noise_floor(samples):.2f} %"
            facts["Method"] = f"timing {stats.METHOD}, {len(processes)} processes"
        if tuned is not None:
            facts["Other-Forms"] = "; ".join(f"{name}: {said}" for name, said in tuned.lost.items())
        return {name: value for name, value in facts.items() if value}

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.monotonic() - started, 3)
