"""What git says of a task, as records: attempts with the verdicts that count, and what they have cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cutegen_git.words.attempt import Commit, Label
from cutegen_git.words.verdict import JUDGE_VERSION, Outcome, Verdict

# Found by reading or building: the same for every device.
UNRUN = (Outcome.BUILD_ERROR, Outcome.REJECTED_BEFORE_BUILD, Outcome.FORBIDDEN_SYMBOL)
NO_DEVICE = "none"  # the "device" of a machine that can build and not run


@dataclass(frozen=True, slots=True)
class Judged:
    """An attempt with every verdict that counts, oldest first."""

    commit: Commit
    verdicts: tuple[Verdict, ...]

    @property
    def label(self) -> Label:
        return self.commit.attempt.label

    @property
    def applied(self) -> bool:
        """True where the reply gave a kernel to judge."""
        return self.commit.attempt.outcome is None

    def on(self, device: str) -> Verdict | None:
        """The newest verdict that settles the attempt for a device; what was found without running it holds for all."""
        found = [v for v in self.verdicts if v.judge == JUDGE_VERSION and v.outcome.is_about_kernel]
        mine = [v for v in found if v.device == device]
        broken = [
            v
            for v in found
            if v.outcome in UNRUN or (v.outcome is Outcome.FORBIDDEN_CALL and v.code == "none")
        ]
        settled = mine or broken
        return settled[-1] if settled else None

    def speedup(self, device: str) -> float | None:
        """Baseline time over attempt time on a device; None unless it passed there."""
        verdict = self.on(device)
        return verdict.timing.speedup if verdict and verdict.timing else None


@dataclass(frozen=True, slots=True)
class History:
    """One era of a task (one task hash), as the loop sees it."""

    attempts: tuple[Judged, ...]  # by label
    path_heads: Mapping[str, str]  # slug -> commit id
    main_kernel_tree: str  # tree id of kernel/ on main, "" while there is none
    lost_usd: float = 0.0  # paid for calls that gave no reply

    def find(self, label: Label) -> Judged | None:
        return next((judged for judged in self.attempts if judged.label == label), None)

    def at(self, commit: str) -> Judged | None:
        return next((judged for judged in self.attempts if judged.commit.id == commit), None)

    def best(self, device: str, path: str | None = None) -> Judged | None:
        """The fastest attempt that passed on a device; the earlier of two equals."""
        timed = [
            (speedup, judged)
            for judged in self.attempts
            if (speedup := judged.speedup(device)) is not None and path in (None, judged.commit.attempt.path)
        ]
        return max(timed, key=lambda item: item[0])[1] if timed else None

    def spent(self) -> Spent:
        """What the whole era has used."""
        attempts = [judged.commit.attempt for judged in self.attempts]
        seconds = sum(sum(v.seconds.values()) for judged in self.attempts for v in judged.verdicts)
        costs = [attempt.spend.cost_usd for attempt in attempts if attempt.move != "person"]
        return Spent(
            attempts=sum(attempt.move != "person" for attempt in attempts),
            usd=sum(cost for cost in costs if cost is not None) + self.lost_usd,
            unpriced=sum(cost is None for cost in costs),
            tokens=sum((a.spend.tokens_in or 0) + (a.spend.tokens_out or 0) for a in attempts),
            minutes=(seconds + sum(attempt.spend.seconds for attempt in attempts)) / 60,
        )


@dataclass(frozen=True, slots=True)
class Spent:
    """What a task has used of its limits."""

    attempts: int
    usd: float  # of the calls that had a price
    unpriced: int  # replies whose price the provider did not say
    tokens: int
    minutes: float  # sum of recorded durations


def judged(commits: Iterable[Commit], lines: Mapping[str, Iterable[Verdict]]) -> tuple[Judged, ...]:
    """Attempts by label with their verdicts, given by commit id.

    A verdict on another commit with the same kernel tree and task counts too, so that a merge or a
    repeated kernel is not measured again.
    """
    by_kernel: dict[tuple[str, str], list[Verdict]] = {}
    for verdicts in lines.values():
        for verdict in verdicts:
            by_kernel.setdefault((verdict.kernel_tree, verdict.task), []).append(verdict)
    found = []
    for commit in sorted(commits, key=lambda commit: commit.attempt.label):
        # A reply that gave nothing has its parent's kernel, and none of its credit.
        own = commit.kernel_tree if commit.attempt.outcome is None else ""
        same = by_kernel.get((own, commit.attempt.task), []) if own else []
        found.append(Judged(commit, tuple(sorted(same, key=lambda verdict: verdict.at))))
    return tuple(found)
