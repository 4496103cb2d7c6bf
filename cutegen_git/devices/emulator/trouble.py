"""How a run's end is said to the judge, and which rule refused.

A rule that a GPU once proved wrong (see `disagreements`) is advice from then on: the launch's result decides, where
the run came to one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from cutegen_git.judge.protocol import Trouble
from cutegen_git.words.verdict import Outcome

from . import report
from .report import Report
from .rewrite import Unsupported
from .run import EmulatorRun, RunStatus

CALL_TIMEOUT_S = 120.0
# A veto says what is wrong for certain; the judge has an outcome for each, the one that a GPU's verdict would have.
_OUTCOMES: Mapping[str, Outcome] = {
    "oob-global": Outcome.OUT_OF_BOUNDS,
    "oob-shared": Outcome.OUT_OF_BOUNDS,
    "oob-wild": Outcome.OUT_OF_BOUNDS,
    "use-after-free": Outcome.OUT_OF_BOUNDS,
    "input-written": Outcome.INPUT_MODIFIED,
    "deadlock": Outcome.TIMEOUT,
    "misaligned": Outcome.CRASHED,
    "trap": Outcome.CRASHED,
    "assert": Outcome.CRASHED,
    "stack-overflow": Outcome.CRASHED,
    "crash": Outcome.CRASHED,
    "launch-limit": Outcome.LAUNCH_FAILED,
    "barrier-divergence": Outcome.LAUNCH_FAILED,
    "barrier-exited": Outcome.LAUNCH_FAILED,
    "warp-exited": Outcome.LAUNCH_FAILED,
}
FORBIDDEN = "it started or signalled a process, or opened a socket, and was killed"
KIND = re.compile(r"\[([a-z][a-z0-9.-]*)\] ")
DEMOTED = "a GPU once disagreed with this rule, so it refuses nothing"
# Where only a demoted rule ended the run there is no result to look at.
_CUT_SHORT = (RunStatus.STOPPED, RunStatus.CRASHED, RunStatus.LAUNCH_ERROR)


def kind_of(why: str) -> str | None:
    """The rule behind a refusal of the emulator's, from a verdict's `why`; None where it was no rule."""
    found = KIND.match(why)
    return found[1] if found else None


def demoted(found: EmulatorRun, kinds: Collection[str]) -> EmulatorRun:
    """The same run with the vetoes of these rules as findings."""
    reports = (_demoted(one) if one.kind in kinds else one for one in found.reports)
    return replace(found, reports=tuple(sorted(reports, key=report.rank)))


def _demoted(one: Report) -> Report:
    if one.severity != "veto":
        return one
    return replace(one, severity="finding", detail=f"{one.detail}; {DEMOTED}")


def trouble_of(found: EmulatorRun) -> Trouble | None:
    """How a run ended as the judge says it; None where results may be looked at."""
    if found.unsupported is not None or found.status is RunStatus.UNSUPPORTED:
        return Trouble(Outcome.UNSUPPORTED, cannot_run(found.unsupported))
    if found.vetoes:
        worst = found.vetoes[0]
        why = f"[{worst.kind}] {report.sentence(worst)}"
        return Trouble(_OUTCOMES.get(worst.kind, Outcome.LAUNCH_FAILED), why)
    ended_by = next((one for one in found.reports if one.detail.endswith(DEMOTED)), None)
    if ended_by and found.status in _CUT_SHORT:
        return Trouble(Outcome.UNSUPPORTED, f"the run ended early: {report.sentence(ended_by)}")
    match found.status:
        case RunStatus.OK:
            return None
        case RunStatus.LAUNCH_ERROR:
            return Trouble(Outcome.LAUNCH_FAILED, f"launch returned CUDA error {found.code}")
        case RunStatus.TIMEOUT:
            return Trouble(Outcome.TIMEOUT, f"it did not end within {CALL_TIMEOUT_S:.0f} s on the emulator")
        case RunStatus.FORBIDDEN:
            return Trouble(Outcome.FORBIDDEN_CALL, FORBIDDEN)
        case RunStatus.INFRASTRUCTURE:
            return Trouble(Outcome.INFRASTRUCTURE, _cannot_say(found))
        case _:
            return Trouble(Outcome.CRASHED, f"the process ended with {found.code}: {found.said[-200:]}")


def _cannot_say(found: EmulatorRun) -> str:
    if "calls" not in found.confined:
        return f"the process could not be confined, so it does not count: {found.said[-200:]}"
    return f"the emulator failed: {found.said[-200:]}"


def cannot_run(what: Unsupported | None) -> str:
    if what is None:
        return "the emulator cannot run it"
    place = f" ({what.file}:{what.line})" if what.line else ""
    return f"the emulator cannot run {what.construct}{place}"
