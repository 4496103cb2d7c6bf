"""What to do next: a pure function of what git says (design loop.md).

Measuring, advancing and waiting are moves like the others, so a run that was stopped anywhere simply
continues: the next move is what was missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cutegen_git.words.device import EMULATOR
from cutegen_git.words.move import Advance, Fix, Generate, Measure, Move, Optimise, Stop, Wait
from cutegen_git.words.task import Limits
from cutegen_git.words.verdict import Outcome, Verdict

from .history import NO_DEVICE, History, Judged

VERSION = "1"
PATH = "base"  # the one path of a run that names no strategies
MIN_GAIN = 0.01  # the same kernel in two processes differs by 0.5 %, so less is no gain (judge.md, section 5)
PATIENCE = 6  # ideas in a row that did not help
INFRASTRUCTURE_RETRIES = 2


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a run stands besides its history."""

    limits: Limits
    home: str  # slug of the home device
    here: str  # slug of the device that judges here; NO_DEVICE where nothing can run

    @property
    def judging(self) -> str:
        """The device whose verdicts drive the run."""
        return self.home if self.here in (NO_DEVICE, EMULATOR) else self.here


def next_move(history: History, setting: Setting) -> Move:
    """The next move."""
    return (
        _measure(history, setting)
        or next_advance(history, setting)
        or _limit(history, setting.limits)
        or _ask(history, setting)
    )


def _measure(history: History, setting: Setting) -> Move | None:
    """What has a kernel and no verdict, oldest first."""
    for judged in history.attempts:
        if not judged.applied or judged.on(setting.judging):
            continue
        tried = [v for v in judged.verdicts if v.device == setting.here]
        failures = sum(v.outcome is Outcome.INFRASTRUCTURE for v in tried)
        if failures > INFRASTRUCTURE_RETRIES:
            return Stop(f"{judged.label} could not be judged in {failures} tries: {tried[-1].why}")
        if setting.here == EMULATOR and judged.on(EMULATOR):
            continue  # checked; the home device measures it later
        if any(v.outcome is Outcome.UNSUPPORTED for v in tried):
            return _wait([judged], setting)
        return Measure(judged.label, "no verdict yet")
    return None


def next_advance(history: History, setting: Setting) -> Advance | None:
    """The path follows its best; main follows where the home device judged."""
    best = history.best(setting.judging, PATH)
    if best is None:
        return None
    incumbent = history.at(history.path_heads.get(PATH, ""))
    if incumbent is not best and is_gain(best, incumbent, setting.judging):
        return Advance(best.label, PATH)
    if incumbent is not None and setting.judging == setting.home and is_behind(history, incumbent):
        return Advance(incumbent.label, PATH)
    return None


def is_gain(new: Judged, old: Judged | None, device: str) -> bool:
    """True where `new` is faster than `old` on the device by more than what measuring alone can show."""
    fresh, known = new.speedup(device), old.speedup(device) if old else None
    return fresh is not None and (known is None or fresh >= known * (1 + MIN_GAIN))


def is_behind(history: History, incumbent: Judged) -> bool:
    """True where main does not hold the incumbent's kernel."""
    return history.main_kernel_tree != incumbent.commit.kernel_tree


def _limit(history: History, limits: Limits) -> Stop | None:
    spent = history.spent()
    if spent.attempts >= limits.attempts:
        return Stop(f"{spent.attempts} attempts made ([stop] attempts = {limits.attempts})")
    if spent.usd >= limits.usd:
        return Stop(f"${spent.usd:.2f} spent ([stop] usd = {limits.usd:.2f})")
    if spent.unpriced and spent.tokens >= limits.tokens:
        return Stop(f"{spent.tokens} tokens used and no price known ([stop] tokens = {limits.tokens})")
    if spent.minutes >= limits.minutes:
        return Stop(f"{spent.minutes:.0f} minutes used ([stop] minutes = {limits.minutes:g})")
    return None


def _ask(history: History, setting: Setting) -> Move:
    """The next thing to ask a model for."""
    if not history.attempts:
        return Generate(PATH)
    # The path's head and not the fastest number: the two differ only by what measuring can show.
    best = history.at(history.path_heads.get(PATH, "")) or history.best(setting.judging, PATH)
    ahead = unmeasured(history, setting)
    base = ahead[-1] if ahead else best
    last = history.attempts[-1]
    if is_broken(last, setting):
        fixes = fixes_in_a_row(history)
        if fixes < setting.limits.fixes:
            return Fix(last.label, PATH, fixes + 1)
    if len(ahead) >= max(1, setting.limits.unmeasured):
        return _wait(ahead, setting)
    if base is None:
        return Generate(PATH)
    if best is not None and stale_ideas(history, best) >= PATIENCE:
        return Stop(f"{PATIENCE} ideas in a row did not beat {best.label}")
    return Optimise(base.label, PATH)


def unmeasured(history: History, setting: Setting) -> list[Judged]:
    """Attempts that pass on the emulator and wait for the home device, oldest first."""
    return [
        judged
        for judged in history.attempts
        if judged.applied and judged.on(setting.judging) is None and passes(judged.on(EMULATOR))
    ]


def _wait(ahead: Sequence[Judged], setting: Setting) -> Wait:
    labels = ", ".join(str(judged.label) for judged in ahead)
    return Wait(
        f"{labels} {'wait' if len(ahead) > 1 else 'waits'} for `cutegen-git verify --pending` on {setting.judging}"
    )


def is_broken(judged: Judged, setting: Setting) -> bool:
    """True where the attempt gave no kernel, or one that was refused: by the emulator if nothing better judged it."""
    verdict = judged.on(setting.judging) or judged.on(EMULATOR)
    return not judged.applied or (verdict is not None and not passes(verdict))


def passes(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.outcome is Outcome.PASSED


def fixes_in_a_row(history: History) -> int:
    """Repairs asked for since the last attempt that was none."""
    count = 0
    for judged in reversed(history.attempts):
        if judged.commit.attempt.move != "fix":
            return count
        count += 1
    return count


def stale_ideas(history: History, best: Judged) -> int:
    """Ideas tried on top of the best since it was made; repairs of them do not count again."""
    return sum(
        judged.label > best.label and judged.commit.attempt.move == "optimise" for judged in history.attempts
    )
