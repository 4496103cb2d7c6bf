"""What a report says, as records: read once from git, the same for HTML, markdown and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cutegen_git.core import log
from cutegen_git.core.cards import CARDS
from cutegen_git.core.history import History, Judged, Spent
from cutegen_git.core.log import Claim
from cutegen_git.words.task import Task
from cutegen_git.words.verdict import Timing, Verdict

from . import story
from .project import Project
from .story import Row

DIFF_LINES = 1500  # of one attempt; a whole kernel is rarely longer


@dataclass(frozen=True, slots=True)
class Entry:
    """One attempt with everything that its row unfolds."""

    row: Row
    parent: int | None  # index among the entries
    diff: tuple[str, ...]  # lines, against the commit it was made on
    diff_cut: int  # lines left out
    feedback: str  # what the next prompt was told
    profile: str  # digest of Nsight Compute, "" where there is none


@dataclass(frozen=True, slots=True)
class Best:
    """The fastest attempt on one device, with what its claim rests on."""

    device: str  # slug
    device_name: str
    judged: Judged
    verdict: Verdict
    timing: Timing
    tag: str  # short name of the claim; "" where there is none
    facts: Mapping[str, str]  # of the claim: driver, clocks, versions

    @property
    def sure(self) -> str:
        """What the interval says."""
        if self.timing.low > 1:
            return "faster than torch: the whole interval lies above 1x"
        if self.timing.high < 1:
            return "slower than torch: the whole interval lies below 1x"
        return "no difference to torch is shown: the interval holds 1x"


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that a report says."""

    task: Task
    task_hash: str
    main: str  # commit id
    entries: tuple[Entry, ...]  # parents before children
    best: tuple[Best, ...]  # one a device: the home device first
    spent: Spent
    rate_bytes: float | None  # see story.rank_bytes
    strangers: tuple[str, ...]  # runners whose verdicts are shown and do not count
    remarks: tuple[str, ...]  # what a reader must know besides, in our own words

    @property
    def paths(self) -> list[str]:
        """Slugs in the order of their first attempt."""
        return list(dict.fromkeys(entry.row.commit.attempt.path for entry in self.entries))

    @property
    def devices(self) -> list[str]:
        """Devices with a timed attempt of this era, the home device first."""
        return [best.device for best in self.best]

    def outcomes(self) -> list[tuple[str, int]]:
        """How often each outcome came, most frequent first."""
        return Counter(entry.row.outcome for entry in self.entries).most_common()


def gather(project: Project) -> Facts:
    """All facts of a task repository. Needs neither GPU nor torch, and no clock."""
    rows, parents = story.in_graph_order(story.rows(project))
    feedback, profile = story.notes_of(project, "feedback"), story.notes_of(project, "profile")
    entries = []
    for row, parent in zip(rows, parents, strict=True):
        diff = _diff(project, row)
        told = feedback.get(row.commit.id, ""), profile.get(row.commit.id, "")
        entries.append(Entry(row, parent, diff[:DIFF_LINES], max(0, len(diff) - DIFF_LINES), *told))
    history = project.history()
    return Facts(
        task=project.task,
        task_hash=project.task_hash,
        main=project.main,
        entries=tuple(entries),
        best=tuple(_best_of_each(project, history)),
        spent=history.spent(),
        rate_bytes=story.rank_bytes(project.task),
        strangers=tuple(
            sorted(
                {v.runner for row in rows for v in row.verdicts}
                - {v.runner for row in rows for v in row.counted}
            )
        ),
        remarks=tuple(_remarks(project, rows)),
    )


def _diff(project: Project, row: Row) -> tuple[str, ...]:
    if row.commit.attempt.outcome:
        return ()
    parent = row.commit.parents[0] if row.commit.parents else ""
    lines = project.repo.diff(parent, row.commit.id, ("kernel",)).rstrip("\n").split("\n")
    return tuple(line for line in lines if not line.startswith("index ")) if lines != [""] else ()


def _best_of_each(project: Project, history: History) -> list[Best]:
    timed = {v.device for judged in history.attempts for v in judged.verdicts if v.timing}
    home = project.task.device
    claims = _claims(project)
    found = []
    for device in sorted(timed, key=lambda slug: (slug != home, slug)):
        judged = history.best(device)
        verdict = judged.on(device) if judged else None
        if judged is None or verdict is None or verdict.timing is None:
            continue
        tag = log.tag_name(judged.label, verdict)
        claim = claims.get((tag, judged.commit.id))
        rests = claim is not None and claim.verdict == log.verdict_id(log.render_verdict(verdict))
        facts = claim.facts if claim and rests else {}
        card = CARDS.get(device)
        name = facts.get("Gpu") or (card.name if card else device)
        found.append(
            Best(
                device,
                name,
                judged,
                verdict,
                verdict.timing,
                tag.removeprefix("refs/tags/") if rests else "",
                facts,
            )
        )
    return found


def _claims(project: Project) -> dict[tuple[str, str], Claim]:
    """(full ref name, commit) -> claim. Who reads one asks for the verdict that it must rest on."""
    found = {}
    for tag in project.repo.tags():
        claim = log.parse_claim(tag.message)
        if claim:
            found[tag.ref, tag.target] = claim
    return found


def _remarks(project: Project, rows: Sequence[Row]) -> list[str]:
    found = []
    if project.repo.verdicts_missing():
        found.append("Verdicts are not fetched here: run cutegen-git sync and make the report again.")
    if old := sum(not row.current for row in rows):
        found.append(
            f"Made for an earlier task.toml or reference.py, so that they no longer count: {old} attempts."
        )
    if project.repo.is_shallow():
        found.append("This is a shallow clone: older history is cut off.")
    return found
