"""A recorded run made again: the same replies, moves, dates and merges, through today's code.

Only tree and message are worked out anew, so heads and attempt refs arrive at the recorded ids unless today's
patch engine or formats would decide otherwise; that is said. Where a device is here, every attempt is judged
and tagged on it; elsewhere the recorded verdicts are shown as recorded.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import takewhile

from cutegen_git.core.history import NO_DEVICE, Judged
from cutegen_git.core.text import verdict_line
from cutegen_git.hands.console import Console
from cutegen_git.hands.model import recording
from cutegen_git.words.attempt import Commit
from cutegen_git.words.errors import ModelError, ModelTrouble

from . import propose, story, verify
from .bench import Bench
from .project import MAIN, PATHS, Project
from .propose import Order
from .refine import report


@dataclass(frozen=True, slots=True)
class Merge:
    """A recorded promotion: main moved to an attempt."""

    commit: str
    attempt: str  # commit id of its second parent
    at: int


@dataclass
class Replay:
    """One replay into one task repository. The caller holds its lock."""

    project: Project
    bench: Bench
    console: Console
    source: str
    same: dict[str, str] = field(default_factory=dict)  # recorded commit id -> ours

    def to_the_end(self) -> None:
        """Every recorded attempt made, judged where possible, and promoted as recorded."""
        with recording.opened(self.source, self.project.repo.root) as folder:
            self.recorded = Project.open(folder)
            self.recorded.trusts_all = True
            commits = self.recorded.history().attempts
            merges = {merge.attempt: merge for merge in _merges(self.recorded)}
            self._start()
            known = {str(commit.attempt.label): commit for commit in self.project.attempts()}
            self.console.say(
                f"replaying {len(commits)} recorded attempts of {self.recorded.task.name}, "
                f"measured on {self.recorded.task.device}; no model is asked"
            )
            for judged in commits:
                self._one(judged, known.get(str(judged.label)), merges.get(judged.commit.id))
            self._farewell(commits)

    def _start(self) -> None:
        """The recorded start of main, the commit under its first merge, stands for ours."""
        self.same[_start(self.recorded)] = _start(self.project)

    def _one(self, recorded: Judged, ours: Commit | None, merge: Merge | None) -> None:
        if ours is None:
            ours = self._attempt(recorded)
        self.same[recorded.commit.id] = ours.id
        attempt = ours.attempt
        if attempt.outcome:
            self.console.result(
                f"{attempt.label}  nothing applied ({attempt.outcome}): {attempt.subject}",
                {"attempt": str(attempt.label), "outcome": attempt.outcome},
            )
        else:
            if self.bench.here != NO_DEVICE:
                report(self.console, verify.verify_one(self.project, self.bench, ours))
            if self.bench.facts is None:
                self._as_recorded(recorded)
        if merge is not None:
            self._promote(recorded, ours, merge)

    def _attempt(self, recorded: Judged) -> Commit:
        commit = recorded.commit
        said = story.transcript(self.recorded, commit)
        if said is None or not commit.parents or commit.parents[0] not in self.same:
            raise ModelError(
                ModelTrouble.NO_ANSWER, f"the recording has no reply for {recorded.label}; it ends before it"
            )
        attempt = commit.attempt
        order = Order(
            label=str(attempt.label),
            path=attempt.path,
            move=attempt.move,
            parent=self.same[commit.parents[0]],
            parent_attempt=str(attempt.parent_attempt or ""),
            seen=attempt.seen,
            policy=attempt.policy,
            task=self.project.task_hash,
            at=commit.at,
            outcome=attempt.outcome if attempt.outcome in propose.SPOKEN else "",
            tool=attempt.tool,
        )
        propose.keep(self.project, order, said)
        return propose.settle(self.project, order, said)

    def _as_recorded(self, recorded: Judged) -> None:
        verdict = recorded.on(self.recorded.task.device)
        text = verdict_line(str(recorded.label), verdict) if verdict else f"{recorded.label}  no verdict"
        record = {
            "attempt": str(recorded.label),
            "recorded": True,
            "outcome": verdict.outcome.value if verdict else None,
            "speedup": verdict.timing.speedup if verdict and verdict.timing else None,
        }
        self.console.result(f"{text}  (as recorded)", record, style="dim")

    def _promote(self, recorded: Judged, ours: Commit, merge: Merge) -> None:
        """Path and main as recorded, with a message worked out from the verdicts that stood then."""
        made = next((m for m in _merges(self.project) if m.attempt == ours.id), None)
        if made is not None:  # by a run before this one
            self.same[merge.commit] = made.commit
            return
        home = self.recorded.task.device
        history = self.recorded.history()
        then = [
            replace(item, verdicts=tuple(v for v in item.verdicts if v.at <= merge.at))
            for item in history.attempts
            if item.commit.at <= merge.at
        ]
        message = verify.promotion_message(
            replace(history, attempts=tuple(then)),
            next(item for item in then if item.label == recorded.label),
            home,
        )
        merged = self.project.advance(
            Judged(ours, ()), recorded.commit.attempt.path, message=message, at=merge.at
        )
        if merged:
            self.same[merge.commit] = merged

    def _farewell(self, commits: tuple[Judged, ...]) -> None:
        pairs = [(self.same.get(item.commit.id), item.commit.id) for item in commits]
        refs = self.recorded.repo.refs
        heads = [*refs(PATHS).items(), (MAIN, self.recorded.main)]
        pairs += [(self.project.repo.resolve(ref), recorded) for ref, recorded in heads]
        equal = sum(ours == recorded for ours, recorded in pairs)
        self.console.say(f"{equal} of {len(pairs)} heads and attempts have the recorded ids")
        if equal == len(pairs) and self.bench.facts is None:
            place = recording.find(self.source, self.project.repo.root)
            self.console.say(
                f"the recorded verdicts and claims belong to these ids: cutegen-git sync {place}"
            )
        best = self.project.history().best(self.bench.here) if self.bench.facts else None
        if best is not None:
            claims = self.project.claims(best.label, self.bench.here)
            self.console.result(f"best here: {', '.join(claims) or best.label}", {"best": claims})
        self.console.say(
            "the recording ends here. `cutegen-git log` shows the evolution; to go on, name a model: "
            "`cutegen-git refine --model anthropic/…` (or openai/…, ollama/…, handoff)"
        )


def _merges(project: Project) -> list[Merge]:
    """The promotions on main, oldest first."""
    line = project.repo.commits(project.repo.history(MAIN, first_parent=True))
    return [Merge(raw.id, raw.parents[1], raw.at) for raw in reversed(line) if len(raw.parents) == 2]


def _start(project: Project) -> str:
    """The newest commit of main that is no promotion and has none before it."""
    oldest_first = project.repo.commits(reversed(project.repo.history(MAIN, first_parent=True)))
    return list(takewhile(lambda raw: len(raw.parents) < 2, oldest_first))[-1].id
