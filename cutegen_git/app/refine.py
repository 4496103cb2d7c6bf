"""The loop: ask the policy for the next move, do it, until there is none.

Everything that a move leaves behind stands in git before the next one, so a run that was stopped anywhere
continues by being started again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from cutegen_git.core import policy, prompt, transcript
from cutegen_git.core.history import History, Judged
from cutegen_git.core.text import duration, timing_text, usd, verdict_line
from cutegen_git.core.transcript import Transcript
from cutegen_git.hands import machine
from cutegen_git.hands.console import Console
from cutegen_git.hands.model import prices
from cutegen_git.hands.model.talk import Ask, Model, Reply
from cutegen_git.words.attempt import Commit
from cutegen_git.words.errors import ModelError, ModelTrouble
from cutegen_git.words.move import Advance, Fix, Generate, Measure, Move, Optimise, Stop, Wait

from . import briefing, propose, verify
from .bench import Bench
from .project import Project, notes_ref
from .propose import Order

Asking = Generate | Fix | Optimise


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended."""

    move: Stop | Wait
    attempts: int  # made in this run
    best: Judged | None

    def made_text(self) -> str:
        return f"{self.attempts} attempt{'' if self.attempts == 1 else 's'}"


@dataclass
class Run:
    """One run of refine on one task repository. The caller holds the repository's lock."""

    project: Project
    bench: Bench
    console: Console
    model: Model
    made: int = 0
    started_s: float = field(default_factory=time.monotonic)

    def to_the_end(self) -> Ended:
        """Make moves until the policy stops or waits."""
        for order, said in propose.waiting(self.project):
            self.console.say(f"{order.label}: the reply came before the last run ended; going on with it")
            self._settled(propose.settle(self.project, order, said))
        while True:
            history = self.project.history()
            move = policy.next_move(history, self.setting)
            ended = self._make(move, history)
            if ended is not None:
                return Ended(ended, self.made, self.project.history().best(self.setting.judging))

    @property
    def setting(self) -> policy.Setting:
        return verify.setting(self.project, self.bench)

    def _make(self, move: Move, history: History) -> Stop | Wait | None:
        """None when there is more to do."""
        match move:
            case Stop() | Wait():
                return move
            case Measure():
                self._measure(history, move)
            case Advance():
                self._advance(history, move)
            case Generate() | Fix() | Optimise():
                return self._ask(move, history)
        return None

    def _measure(self, history: History, move: Measure) -> None:
        judged = history.find(move.attempt)
        assert judged is not None
        verified = verify.verify_one(self.project, self.bench, judged.commit)
        report(self.console, verified)

    def _advance(self, history: History, move: Advance) -> None:
        judged, merged = verify.advance(self.project, history, move, self.bench.here, machine.now_s())
        self.console.say(
            f"{judged.label} is the best of path/{move.path}" + ("; merged into main" if merged else ""),
            style="green",
        )

    def _ask(self, move: Asking, history: History) -> Wait | None:
        label = self.project.next_label()
        brief = self._brief(history, move)
        if not self.made:
            estimate = estimate_text(self.model.name, brief, machine.environment())
            if estimate:
                self.console.say(estimate)
        self.console.busy(f"{label}: asking {self.model.name} to {_words(move)}{self._budget(history)}")
        try:
            reply = self._reply(str(label), brief, history, move)
        except ModelError as error:
            if error.trouble is ModelTrouble.NO_ANSWER:
                return Wait(str(error))
            raise
        order = Order(
            label=str(label),
            path=move.path,
            move=type(move).__name__.lower(),
            parent=brief.parent,
            parent_attempt=brief.parent_attempt,
            seen=brief.seen,
            policy=policy.VERSION,
            task=self.project.task_hash,
            at=machine.now_s(),
            outcome=reply.outcome or "",
        )
        said = Transcript(
            str(label), reply.model, brief.system, brief.user, reply.text, reply.finish_reason, reply.usage
        )
        propose.keep(self.project, order, said)
        self._settled(propose.settle(self.project, order, said))
        return None

    def _brief(self, history: History, move: Asking, *, short: bool = False) -> briefing.Brief:
        return briefing.brief(self.project, history, move, self.setting, device=self.bench.facts, short=short)

    def _reply(self, label: str, brief: briefing.Brief, history: History, move: Asking) -> Reply:
        """The model's answer; a prompt that is too long for it is shortened once."""
        try:
            return self._call(label, brief)
        except ModelError as error:
            if error.trouble is not ModelTrouble.CONTEXT_LENGTH:
                raise
            self.console.say(f"{label}: {error}; asking again with a shorter history")
            return self._call(label, self._brief(history, move, short=True))

    def _call(self, label: str, brief: briefing.Brief) -> Reply:
        """The answer. What calls without one have cost goes to the ledger, whatever happens next."""
        try:
            return self.model.ask(Ask(label, brief.system, brief.user, brief.parent))
        except ModelError as error:
            calls = getattr(error, "calls", ())
            if calls:
                lines = transcript.dump_calls(label, calls).rstrip("\n").split("\n")
                for line in lines:
                    self.project.repo.notes_append(
                        notes_ref("ledger", self.project.writer), brief.parent, line
                    )
            raise

    def _settled(self, commit: Commit) -> None:
        self.made += 1
        attempt = commit.attempt
        text = f"{attempt.label}  {attempt.subject}"
        if attempt.outcome:
            self.console.result(
                f"{text}: nothing applied ({attempt.outcome})",
                {"attempt": str(attempt.label), "outcome": attempt.outcome},
            )
        else:
            self.console.say(f"{text}  ({attempt.model}, {usd(attempt.spend.cost_usd)})")

    def _budget(self, history: History) -> str:
        spent, limits = history.spent(), self.project.task.limits
        left = max(0.0, limits.minutes - spent.minutes)
        return (
            f"  [{spent.attempts}/{limits.attempts} attempts, ${spent.usd:.2f} of ${limits.usd:.2f}, "
            f"{left:.0f} min left]"
        )


def report(console: Console, verified: verify.Verified) -> None:
    """An attempt's verdict as a result line."""
    label, verdict = str(verified.commit.attempt.label), verified.verdict
    text = verdict_line(label, verdict) + (f"  tag {verified.tag}" if verified.tag else "")
    style = "green" if verdict.timing else ("yellow" if not verdict.outcome.is_about_kernel else "red")
    record = {
        "attempt": label,
        "outcome": verdict.outcome.value,
        "device": verdict.device,
        "why": verdict.why,
        "speedup": verdict.timing.speedup if verdict.timing else None,
        "tag": verified.tag,
    }
    console.result(text, record, style=style)


def limits_text(project: Project, model: Model, *, history: History) -> str:
    """What the run may use up; said before the first paid call."""
    limits, spent = project.task.limits, history.spent()
    return (
        f"model {model.name}; limits: {limits.attempts} attempts ({spent.attempts} made), ${limits.usd:.2f} "
        f"({usd(spent.usd)} spent), {limits.minutes:g} min ({spent.minutes:.0f} used), {limits.fixes} fixes in a row"
    )


def estimate_text(model: str, brief: briefing.Brief, env: Mapping[str, str]) -> str:
    """What one question may cost at most, by the model's price list; "" for a model that costs nothing."""
    price = prices.price(model, env)
    tokens_in = prices.estimate_tokens(brief.system + brief.user)
    if price is None:
        return (
            f"{model} has no known price: the run is limited by tokens, {tokens_in} for this question "
            "(CUTEGEN_GIT_PRICE=IN,OUT per million tokens makes it dollars)"
        )
    if not any(price):
        return ""
    tokens_out = prices.max_output(model, env) or prompt.REPLY_TOKENS
    most = tokens_in * price[0] + tokens_out * price[1]
    return (
        f"about {tokens_in} tokens in and at most {tokens_out} out: {usd(most)} at most a question"
        if most
        else ""
    )


def farewell(project: Project, ended: Ended, device: str, seconds: float) -> str:
    """The last line of a run: what was reached and what to do next."""
    best = ended.best
    reached = "no attempt has passed yet"
    if best is not None:
        verdict = best.on(device)
        assert verdict is not None
        assert verdict.timing is not None
        reached = f"best: {best.label} with {timing_text(verdict.timing, device)}"
    reason = ended.move.reason if isinstance(ended.move, Stop) else ended.move.why
    kind = "stopped" if isinstance(ended.move, Stop) else "waiting"
    return f"{kind}: {reason}\n{reached}; {ended.made_text()} in {duration(seconds)}"


def _words(move: Asking) -> str:
    match move:
        case Generate():
            return "write the first kernel"
        case Fix():
            return f"repair {move.broken} (try {move.nth})"
        case Optimise():
            return f"make {move.base} faster"
