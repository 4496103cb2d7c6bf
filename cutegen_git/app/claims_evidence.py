"""What git holds of one claim, gathered once, and the form in which questions about it are answered."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from cutegen_git.core import log
from cutegen_git.core.log import Claim
from cutegen_git.hands import signing
from cutegen_git.hands.repo import RawTag
from cutegen_git.words.attempt import Label
from cutegen_git.words.errors import RepoError
from cutegen_git.words.verdict import Verdict

from .project import Project, notes_ref


class Answer(str, Enum):
    """How one question came out."""

    OK = "ok"
    NO = "no"
    NOTE = "note"  # worth knowing, and against nothing
    UNKNOWN = "unknown"  # what it takes is not here


@dataclass(frozen=True, slots=True)
class Line:
    """One question answered."""

    answer: Answer
    text: str

    def __str__(self) -> str:
        return f"{self.answer.value:<8}{self.text}"


def ok(text: str) -> Line:
    return Line(Answer.OK, text)


def no(text: str) -> Line:
    return Line(Answer.NO, text)


def note(text: str) -> Line:
    return Line(Answer.NOTE, text)


def unknown(text: str) -> Line:
    return Line(Answer.UNKNOWN, text)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What git holds of one claim."""

    tag: RawTag
    claim: Claim
    signature: str  # of the tag; "" if it has none
    runner: str = ""  # whose notes hold the verdict
    line: str = ""  # the verdict's line
    verdict: Verdict | None = None  # None where the line is missing or altered
    samples: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.tag.ref.removeprefix("refs/tags/")


def gather(project: Project, tag: RawTag) -> Evidence | None:
    """Everything about a claim; None for a tag that is no claim."""
    text, signature = signing.split(tag.message)
    claim = log.parse_claim(text)
    if claim is None:
        return None
    for runner, ref in project.repo.notes_refs("verdict").items():
        for line in project.repo.notes_read_one(ref, tag.target).splitlines():
            if log.verdict_id(line) == claim.verdict:
                verdict = log.parse_verdict(line)
                samples = _samples(project, runner, tag.target, claim.verdict)
                return Evidence(tag, claim, signature, runner, line, verdict, samples)
    return Evidence(tag, claim, signature)


def _samples(project: Project, runner: str, commit: str, verdict: str) -> dict[str, list[int]]:
    """The raw samples of a verdict; empty where there are none or they are damaged."""
    for text in project.repo.notes_read_one(notes_ref("samples", runner), commit).splitlines():
        try:
            record = json.loads(text)
            if record["verdict"] == verdict:
                return {str(key): [int(tick) for tick in ticks] for key, ticks in record["ns"].items()}
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return {}


def find_tag(project: Project, name: str) -> RawTag:
    """The tag meant by a name or an attempt's label. RepoError with the names there are."""
    tags = {tag.ref.removeprefix("refs/tags/"): tag for tag in project.repo.tags()}
    short = name.removeprefix("refs/tags/")
    if short in tags:
        return tags[short]
    label = Label.parse(name)
    meant = [known for known in tags if label and known.partition("/")[2].startswith(f"{label}-")]
    if len(meant) == 1:
        return tags[meant[0]]
    names = (
        ", ".join(meant or sorted(tags))
        or "none here: `cutegen-git sync` fetches claims, `verify` makes them"
    )
    raise RepoError(f"{name} names {'several claims' if meant else 'no claim'}; there are {names}")


def is_claim(project: Project, name: str) -> bool:
    """True for the name of a tag whose message is a claim."""
    ref = f"refs/tags/{name.removeprefix('refs/tags/')}"
    tags = [tag for tag in project.repo.tags() if tag.ref == ref]
    return any(log.parse_claim(signing.split(tag.message)[0]) for tag in tags)
