"""The one commit made from one reply, one tuning run or one person (design git.md, "The commit")."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering

FORMAT = 1  # of commit trailers, verdict lines and tag messages


@total_ordering
@dataclass(frozen=True, slots=True)
class Label:
    """An attempt's name for people: `0007`, or `b0012` from a second proposing clone. Sorted as numbers."""

    number: int
    clone: str = ""  # one lower-case letter for every proposing clone but the first

    def __post_init__(self) -> None:
        if self.number < 0 or not re.fullmatch(r"[a-z]?", self.clone):
            raise ValueError(f"no label: {self.clone}{self.number}")

    def __str__(self) -> str:
        return f"{self.clone}{self.number:04d}"

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Label):
            return NotImplemented
        return (self.number, self.clone) < (other.number, other.clone)

    @staticmethod
    def parse(text: str) -> Label | None:
        """The label in "0012", "12" or "b0012"; None for anything else."""
        found = re.fullmatch(r"([a-z]?)(\d{1,9})", text)
        return Label(int(found[2]), found[1]) if found else None


@dataclass(frozen=True, slots=True)
class Spend:
    """What a reply used. None means that the provider did not say; it never means nothing."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    seconds: float = 0.0  # waiting for the provider


@dataclass(frozen=True, slots=True)
class Attempt:
    """What an attempt's commit message says."""

    label: Label
    path: str  # slug of the branch path/<slug> it was made for
    move: str  # generate, fix, optimise, person
    subject: str  # the intent, at most 60 characters, no measured result
    body: str = ""  # bottleneck seen, change made, effect expected
    parent_attempt: Label | None = None
    outcome: str | None = (
        None  # only when nothing applied: a PatchProblem, "empty-reply", "refused", "repeated"
    )
    model: str = ""
    prompt: str = ""  # blob id of the prompt
    spend: Spend = Spend()
    patch_id: str = ""  # git patch-id --stable of the diff; "" when nothing applied
    task: str = ""  # task hash
    seen: str = ""  # ids of the verdicts that the prompt showed, comma separated
    policy: str = ""  # version of the rules that chose the move
    tool: str = ""  # cutegen-git version


@dataclass(frozen=True, slots=True)
class Commit:
    """An attempt as it stands in git."""

    id: str
    parents: tuple[str, ...]
    tree: str
    kernel_tree: str  # tree id of kernel/, "" if there is none
    at: int  # committer date, seconds since 1970, UTC
    attempt: Attempt


PATH_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
