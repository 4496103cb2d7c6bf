"""Runs a candidate on cases and looks at everything that it may have got wrong."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from cutegen_git.core.feedback.check import describe
from cutegen_git.judge.cases import Case, Stage
from cutegen_git.judge.compare import inspect
from cutegen_git.judge.protocol import Candidate, Trouble
from cutegen_git.judge.standard import Finding, same_bits
from cutegen_git.words.verdict import Outcome

LOOK_AFTER_S = 0.02  # a held launch gets this long to do what it should not


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a candidate does not pass."""

    outcome: Outcome
    why: str  # one sentence
    lines: Sequence[str] = ()  # for the model
    elements: int = 0  # of the output that is refused: the larger, the more it tells

    @property
    def feedback(self) -> str:
        return "\n".join(self.lines or (self.why,))


@dataclass
class Checker:
    """The checks of one candidate. Plain wrong comes before imprecise: the latter is kept until the end."""

    imprecise: Refusal | None = None
    worst_used: float = 0.0  # of a budget, over all cases
    _last: dict[str, tuple[torch.Tensor, ...]] = field(default_factory=dict)  # outputs by workload

    def run(self, candidate: Candidate, stage: Stage) -> Refusal | None:
        """One call from poisoned outputs, and all that can be seen after it."""
        trouble = candidate.call(stage.call())
        if trouble:
            return at(stage.case, trouble)
        return self.look(candidate, stage)

    def look(self, candidate: Candidate, stage: Stage) -> Refusal | None:
        """The state of memory after a call."""
        if said := stage.damage() or candidate.damage():
            why = f"it writes out of bounds at {stage.case.where()}: {said}"
            return Refusal(Outcome.OUT_OF_BOUNDS, why)
        if name := stage.changed_input():
            why = f"it changes its input {name} at {stage.case.where()}; inputs are read-only"
            return Refusal(Outcome.INPUT_MODIFIED, why)
        refusal = self._results(stage)
        self._last[stage.case.plan.workload.label()] = stage.copies()
        return refusal

    def held(self, candidate: Candidate, stage: Stage) -> Refusal | None:
        """A call behind a held stream. After `run` with the same stage."""
        stage.poison()

        def look() -> str:
            time.sleep(LOOK_AFTER_S)
            return stage.written_early()

        trouble = candidate.call_held(stage.call(), look)
        return at(stage.case, trouble) if trouble else self.look(candidate, stage)

    def repeated(self, candidate: Candidate, stage: Stage, first: Sequence[torch.Tensor]) -> Refusal | None:
        """The same call in another process: the same bits."""
        refusal = self.run(candidate, stage)
        if refusal or not stage.task.precision.deterministic:
            return refusal
        return differs(stage, first)

    def _results(self, stage: Stage) -> Refusal | None:
        for output, standard in zip(stage.outputs(), stage.case.standards, strict=True):
            seen = inspect(output, standard)
            self.worst_used = max(self.worst_used, seen.used)
            if seen.finding is None:
                continue
            refusal = self._refusal(stage, seen.finding)
            if refusal.outcome is not Outcome.PRECISION_DOWNGRADE:
                return refusal
            if self.imprecise is None or refusal.elements > self.imprecise.elements:
                self.imprecise = refusal
        return None

    def _refusal(self, stage: Stage, finding: Finding) -> Refusal:
        case, outcome = stage.case, finding.outcome
        word = "imprecise" if outcome is Outcome.PRECISION_DOWNGRADE else "wrong"
        lines = describe(finding.mismatch, case.where(), case.plan.kind, word=word)
        if outcome is Outcome.NON_FINITE_OUTPUT:
            lines.append(
                "all memory around tensors and in the workspace is NaN: reading it, or reading before writing, gives this"
            )
        if outcome is Outcome.PRECISION_DOWNGRADE:
            task = stage.task.precision
            lines.append(f"the task asks for {task.policy} products and {task.accumulate} sums")
        before = self._last.get(case.plan.workload.label())
        if outcome is Outcome.WRONG_RESULT and before and _all_same(stage.outputs(), before):
            outcome = Outcome.CACHED_RESULT
            lines.insert(0, "the output is that of the call before, which had other inputs")
        return Refusal(outcome, lines[0], lines, finding.mismatch.total)


def differs(stage: Stage, first: Sequence[torch.Tensor]) -> Refusal | None:
    """Refused where outputs are not bit for bit those of an earlier run."""
    if _all_same(stage.outputs(), first):
        return None
    why = (
        f"two runs with the same inputs differ at {stage.case.where()}: a race, memory read before it is written, or"
        " atomics in an order that changes"
    )
    return Refusal(Outcome.NONDETERMINISTIC, why)


def at(case: Case, trouble: Trouble) -> Refusal:
    """A trouble with its place."""
    why = f"{trouble.why} ({case.where()})"
    return Refusal(trouble.outcome, why)


def _all_same(one: Sequence[torch.Tensor], two: Sequence[torch.Tensor]) -> bool:
    return all(same_bits(a, b) for a, b in zip(one, two, strict=True))
