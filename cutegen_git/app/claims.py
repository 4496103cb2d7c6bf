"""Claims after they were made: decided again from git alone, measured again, stale (design judge.md, section 7).

Needs neither torch nor nvcc nor a GPU: `verify --offline` runs on any machine that has the repository.
"""

from __future__ import annotations

from dataclasses import dataclass

from cutegen_git.core.log import Claim

from .claims_check import answers
from .claims_evidence import Answer, Line, find_tag, gather, is_claim, no, ok
from .claims_fate import Standing, fates, judge_claim, newest, standing, withdraw
from .claims_line import ClaimLine, Fate
from .project import Project

__all__ = ["OfflineReport", "Standing", "is_claim", "judge_claim", "offline", "standing", "withdraw"]

FALLS_SHORT, CANNOT_JUDGE = 1, 125


@dataclass(frozen=True, slots=True)
class OfflineReport:
    """What git alone says of a claim."""

    tag: str  # short name
    claim: Claim | None  # None: the tag is no claim
    lines: tuple[Line, ...]

    @property
    def exit_code(self) -> int:
        """0: it holds; 1: it does not; 125: not all that it takes is here."""
        found = {line.answer for line in self.lines}
        if Answer.NO in found:
            return FALLS_SHORT
        return CANNOT_JUDGE if Answer.UNKNOWN in found else 0

    @property
    def text(self) -> str:
        """The lines, and one that sums them up."""
        ends = {
            0: "the claim holds",
            FALLS_SHORT: "the claim does not hold",
            CANNOT_JUDGE: "not all of it can be checked here",
        }
        return "\n".join((*map(str, self.lines), f"{self.tag}: {ends[self.exit_code]}"))


def offline(project: Project, tag: str) -> OfflineReport:
    """Every question about a claim that git answers. `tag`: its name, or the label of an attempt with one claim."""
    found = find_tag(project, tag)
    name = found.ref.removeprefix("refs/tags/")
    evidence = gather(project, found)
    if evidence is None:
        return OfflineReport(name, None, (no("the tag's message is no claim, or was damaged"),))
    lines = [*answers(project, evidence)]
    last = newest(fates(project), evidence.name, evidence.claim)
    if last is not None:
        lines.append(_fate_line(last))
    return OfflineReport(name, evidence.claim, tuple(lines))


def _fate_line(last: ClaimLine) -> Line:
    measured = f" with {last.measured[0]:.2f}x" if last.measured else ""
    text = f"{last.fate.value} by {last.runner}{measured}" + (f": {last.why}" if last.why else "")
    return ok(text) if last.fate is Fate.REPRODUCED else no(text)
