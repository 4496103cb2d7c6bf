"""How claims stand: stale, reproduced, refuted or withdrawn, and the lines that say so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cutegen_git.core import log
from cutegen_git.core.log import Claim
from cutegen_git.hands import signing
from cutegen_git.words.errors import RepoError
from cutegen_git.words.verdict import JUDGE_VERSION, Outcome, Verdict

from . import claims_sign
from .claims_evidence import find_tag
from .claims_line import ClaimLine, Fate, parse_line, render_line
from .project import Project, notes_ref

SLACK = 0.02  # two sessions on one card differ by less


@dataclass(frozen=True, slots=True)
class Standing:
    """How a claim stands today."""

    tag: str  # short name
    commit: str
    claim: Claim
    stale: str = ""  # why it is: another task, another judge; "" if it is not
    last: ClaimLine | None = None  # the newest line that counts

    @property
    def word(self) -> str:
        """ "refuted", "withdrawn", "stale", "reproduced" or "claimed": what matters most comes first."""
        if self.last is not None and self.last.fate is not Fate.REPRODUCED:
            return str(self.last.fate.value)
        if self.stale:
            return "stale"
        return Fate.REPRODUCED.value if self.last is not None else "claimed"


def standing(project: Project) -> tuple[Standing, ...]:
    """Every claim, by tag name."""
    said = fates(project)
    found = []
    for tag in project.repo.tags():
        text, _ = signing.split(tag.message)
        claim = log.parse_claim(text)
        if claim is None:
            continue
        name = tag.ref.removeprefix("refs/tags/")
        found.append(Standing(name, tag.target, claim, _stale(project, claim), newest(said, name, claim)))
    return tuple(found)


def _stale(project: Project, claim: Claim) -> str:
    if claim.task != project.task_hash:
        return f"main has the task {project.task_hash} now, the claim is about {claim.task}"
    if claim.judge != JUDGE_VERSION:
        return f"judged by version {claim.judge} of the judge, this is {JUDGE_VERSION}"
    return ""


def fates(project: Project) -> Mapping[str, Sequence[ClaimLine]]:
    """Lines that count, by tag, oldest first."""
    found: dict[str, list[ClaimLine]] = {}
    for runner, ref in project.repo.notes_refs("claim").items():
        if not project.believes(runner):
            continue
        notes = project.repo.notes_read(ref)
        counted = claims_sign.counted(project.repo, project.task, runner, notes, namespace=signing.CLAIM)
        for _, text in counted:
            line = parse_line(text)
            if line is not None and line.runner == runner:
                found.setdefault(line.tag, []).append(line)
    return {tag: sorted(lines, key=lambda line: line.at) for tag, lines in found.items()}


def newest(said: Mapping[str, Sequence[ClaimLine]], tag: str, claim: Claim) -> ClaimLine | None:
    """The newest line about a claim, and not about another that had its name."""
    lines = [line for line in said.get(tag, ()) if line.of == claim.verdict]
    return lines[-1] if lines else None


def judge_claim(
    project: Project, tag: str, verdict: Verdict, verdict_id: str, *, key_file: Path | None = None
) -> ClaimLine | None:
    """The line that a new verdict writes about a claim; None where it says nothing about it.

    It says nothing where it is from another device, task or kernel, or not about the kernel. A claim is refuted by
    a kernel that no longer passes, and by a speedup that surely lies more than 2 % below the claimed interval.
    """
    found = find_tag(project, tag)
    claim = log.parse_claim(signing.split(found.message)[0])
    if claim is None or not _speaks_of(verdict, claim):
        return None
    line = _line(found.ref.removeprefix("refs/tags/"), claim, verdict, verdict_id)
    text = render_line(line)
    if key_file is not None:
        claims_sign.sign_line(project.repo, verdict.runner, found.target, text, signing.CLAIM, key_file)
    project.repo.notes_append(notes_ref("claim", verdict.runner), found.target, text)
    return line


def withdraw(
    project: Project, tag: str, runner: str, why: str, at: int, *, key_file: Path | None = None
) -> ClaimLine:
    """The line by which the owner of a claim takes it back. RepoError for what is no claim."""
    found = find_tag(project, tag)
    claim = log.parse_claim(signing.split(found.message)[0])
    if claim is None:
        raise RepoError(f"{tag} is no claim")
    name = found.ref.removeprefix("refs/tags/")
    line = ClaimLine(
        Fate.WITHDRAWN, name, claim.verdict, "", JUDGE_VERSION, at, runner, claim.timing.speedup, why=why
    )
    text = render_line(line)
    if key_file is not None:
        claims_sign.sign_line(project.repo, runner, found.target, text, signing.CLAIM, key_file)
    project.repo.notes_append(notes_ref("claim", runner), found.target, text)
    return line


def _speaks_of(verdict: Verdict, claim: Claim) -> bool:
    same = (verdict.device, verdict.task, verdict.kernel_tree) == (
        claim.device,
        claim.task,
        claim.kernel_tree,
    )
    return (
        same
        and verdict.outcome.is_about_kernel
        and (verdict.outcome is not Outcome.PASSED or verdict.timing is not None)
    )


def _line(tag: str, claim: Claim, verdict: Verdict, verdict_id: str) -> ClaimLine:
    timing = verdict.timing
    fate, why = Fate.REPRODUCED, ""
    if timing is None:
        fate, why = (
            Fate.REFUTED,
            f"{verdict.outcome.value}: {verdict.why}" if verdict.why else verdict.outcome.value,
        )
    elif timing.high < claim.timing.low * (1 - SLACK):
        fate = Fate.REFUTED
        why = (
            f"{timing.speedup:.2f}x is below the claimed {claim.timing.low:.2f}x to {claim.timing.high:.2f}x"
        )
    measured = (timing.speedup, timing.low, timing.high) if timing else None
    return ClaimLine(
        fate, tag, claim.verdict, verdict_id, verdict.judge, verdict.at, verdict.runner, claim.timing.speedup, measured, why
    )  # fmt: skip
