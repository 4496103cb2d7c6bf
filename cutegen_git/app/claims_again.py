"""A claim measured again on the device that it is about: the new verdict, and the line that it writes."""

from __future__ import annotations

from dataclasses import dataclass

from cutegen_git.core import log
from cutegen_git.hands import machine
from cutegen_git.words.errors import RepoError

from . import claims_sign, verify
from .bench import Bench
from .claims_evidence import find_tag
from .claims_fate import judge_claim
from .claims_line import ClaimLine
from .project import Project
from .verify import Verified


@dataclass(frozen=True, slots=True)
class Again:
    """What measuring again gave."""

    tag: str  # short name
    verified: Verified
    line: ClaimLine | None  # None: the verdict says nothing about the claim (another device, no GPU)

    @property
    def text(self) -> str:
        """For people."""
        if self.line is None:
            found = self.verified.verdict
            return (
                f"{self.tag}: neither reproduced nor refuted here ({found.outcome.value} on {found.device})"
            )
        measured = f" with {self.line.measured[0]:.2f}x" if self.line.measured else ""
        why = f": {self.line.why}" if self.line.why else ""
        return f"{self.tag}: {self.line.fate.value}{measured}, claimed {self.line.claimed:.2f}x{why}"


def measure_again(project: Project, bench: Bench, tag: str, *, record: bool = True) -> Again:
    """The claim judged anew; the line is signed where this machine signs. RepoError where the tag names no attempt."""
    found = find_tag(project, tag)
    commit = next((commit for commit in project.attempts() if commit.id == found.target), None)
    if commit is None:
        raise RepoError(f"{tag} names no attempt of this task; run cutegen-git sync")
    key_file = None
    if record:  # asked for before a GPU works for what would not count
        key_file = claims_sign.key_file_for(project.task, bench.runner, machine.environment())
    verified = verify.verify_one(project, bench, commit, record=record, again=True)
    line = None
    if record:
        verdict_id = log.verdict_id(log.render_verdict(verified.verdict))
        line = judge_claim(project, tag, verified.verdict, verdict_id, key_file=key_file)
    return Again(found.ref.removeprefix("refs/tags/"), verified, line)
