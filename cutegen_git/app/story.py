"""What a reviewer reads: attempts with outcome, time, speedup and cost, from git alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cutegen_git.core import history as records
from cutegen_git.core import roofline
from cutegen_git.core.chart_lanes import parents_first
from cutegen_git.core.history import Judged
from cutegen_git.core.shapes import span_bytes
from cutegen_git.core.transcript import Transcript, load_all
from cutegen_git.words.attempt import Commit, Label
from cutegen_git.words.task import Role, Task
from cutegen_git.words.verdict import Timing, Verdict

from .project import KERNEL, PATHS, Project


@dataclass(frozen=True, slots=True)
class Row:
    """One attempt as `log`, `show` and `report` tell it."""

    commit: Commit
    parent: Label | None  # the attempt whose kernel it changes
    verdict: Verdict | None  # the one that counts most: of the home device, else the newest about the kernel
    counted: tuple[Verdict, ...]  # of runners that count, oldest first
    verdicts: tuple[Verdict, ...]  # all
    believed: bool  # False: claimed by a runner that [runners] on main does not list
    standing: str  # "main", "path", "": where the attempt stands now
    tags: tuple[str, ...]  # short names of its claims
    current: bool  # False: of an earlier task.toml or reference.py
    roof: float | None  # share of the stated memory bandwidth; None where it cannot be known

    @property
    def label(self) -> str:
        return str(self.commit.attempt.label)

    @property
    def outcome(self) -> str:
        """Of the verdict, or why nothing applied, or "not measured"."""
        return self.commit.attempt.outcome or (self.verdict.outcome.value if self.verdict else "not measured")

    @property
    def timing(self) -> Timing | None:
        return self.verdict.timing if self.verdict and not self.commit.attempt.outcome else None

    def on(self, device: str) -> tuple[Verdict | None, bool]:
        """The verdict for a device, and whether it counts: what a stranger claims never hides one that does."""
        counts = Judged(self.commit, self.counted).on(device)
        return counts or Judged(self.commit, self.verdicts).on(device), counts is not None

    def record(self) -> dict[str, object]:
        """For `--json`."""
        attempt, verdict, timing = self.commit.attempt, self.verdict, self.timing
        resources = verdict.resources if verdict else None
        return {
            "label": self.label,
            "commit": self.commit.id,
            "parent": str(self.parent) if self.parent else None,
            "path": attempt.path,
            "move": attempt.move,
            "subject": attempt.subject,
            "outcome": self.outcome,
            "device": verdict.device if verdict else "",
            "why": verdict.why if verdict else "",
            "speedup": timing.speedup if timing else None,
            "interval": (timing.low, timing.high) if timing else None,
            "device_us": timing.device_us if timing else None,
            "call_us": timing.call_us if timing else None,
            "baseline": timing.baseline if timing else None,
            "baseline_us": timing.baseline_us if timing else None,
            "roof": self.roof,
            "registers": resources.registers if resources else None,
            "smem_bytes": resources.smem_bytes if resources else None,
            "spill_bytes": resources.spill_bytes if resources else None,
            "cost_usd": attempt.spend.cost_usd,
            "tokens_in": attempt.spend.tokens_in,
            "tokens_out": attempt.spend.tokens_out,
            "model": attempt.model,
            "believed": self.believed,
            "standing": self.standing,
            "tags": self.tags,
            "current": self.current,
        }


def rows(project: Project) -> list[Row]:
    """Every attempt of every era by label, with the verdict that counts most."""
    commits = project.attempts()
    believed = records.judged(commits, project.verdicts())
    claims = project.verdicts(trusted=False)
    claimed = records.judged(commits, {at: filter(_is_plausible, found) for at, found in claims.items()})
    parents = _Parents(project, commits)
    tags = _tags(project)
    heads = set(project.repo.refs(PATHS).values())
    main_kernel = project.repo.tree_of(project.main, KERNEL)
    found = []
    for mine, any_ones in zip(believed, claimed, strict=True):
        commit = mine.commit
        own = _pick(mine, project.task.device)
        verdict = own or _pick(any_ones, project.task.device)
        stands = commit.attempt.outcome is None and commit.kernel_tree != ""
        standing = "main" if stands and commit.kernel_tree == main_kernel else ""
        current = commit.attempt.task == project.task_hash
        found.append(
            Row(
                commit=commit,
                parent=parents.of(commit),
                verdict=verdict,
                counted=mine.verdicts,
                verdicts=any_ones.verdicts,
                believed=own is not None or verdict is None,
                standing=standing or ("path" if commit.id in heads else ""),
                tags=tuple(tags.get(commit.id, ())),
                current=current,
                roof=_roof(project.task, verdict) if current else None,
            )
        )
    return found


def in_graph_order(found: Sequence[Row]) -> tuple[list[Row], list[int | None]]:
    """The rows with every parent before its children, and the index of each row's parent among them."""
    index = {row.label: number for number, row in enumerate(found)}
    parents = [index.get(str(row.parent)) if row.parent else None for row in found]
    order = parents_first(parents)
    place = {old: new for new, old in enumerate(order)}
    moved = ((parents[old], new) for new, old in enumerate(order))
    # A forged history may name a parent in a circle: then there is none.
    safe = [place[old] if old is not None and place[old] < new else None for old, new in moved]
    return [found[old] for old in order], safe


class _Parents:
    """Finds the attempt behind an attempt, also where a person built on a merge of main."""

    def __init__(self, project: Project, commits: Sequence[Commit]) -> None:
        self.project = project
        self.labels = {commit.attempt.label for commit in commits}
        self.by_id = {commit.id: commit.attempt.label for commit in commits}
        self.by_kernel: dict[str, Label] = {}
        for commit in commits:
            if commit.kernel_tree and commit.attempt.outcome is None:
                self.by_kernel.setdefault(commit.kernel_tree, commit.attempt.label)

    def of(self, commit: Commit) -> Label | None:
        named = commit.attempt.parent_attempt
        if named in self.labels and named != commit.attempt.label:
            return named
        for parent in commit.parents[:1]:
            found = self.by_id.get(parent) or self.by_kernel.get(self.project.repo.tree_of(parent, KERNEL))
            return found if found != commit.attempt.label else None
        return None


def _is_plausible(verdict: Verdict) -> bool:
    """False for numbers that no judge writes: a stranger's line must not break a table or a chart."""
    timing = verdict.timing
    if timing is None:
        return True
    times = (timing.device_us, timing.call_us, timing.baseline_us)
    return 1e-4 < timing.low and timing.high < 1e4 and all(0 < us < 1e9 for us in times)


def _pick(judged: Judged, home: str) -> Verdict | None:
    """The home device's verdict if there is one, else the newest about the kernel, else the newest."""
    settled = [v for v in judged.verdicts if v.outcome.is_about_kernel] or list(judged.verdicts)
    return judged.on(home) or (settled[-1] if settled else None)


def _tags(project: Project) -> dict[str, list[str]]:
    """Short names of claims by the commit that they name."""
    found: dict[str, list[str]] = {}
    for tag in project.repo.tags():
        found.setdefault(tag.target, []).append(tag.ref.removeprefix("refs/tags/"))
    return found


def rank_bytes(task: Task) -> float | None:
    """Bytes that must be moved, as the weighted geometric mean over rank workloads, like the time that it is held
    against. None where the task need not read every input, so that only a part of the traffic is known.
    """
    logs, weights = 0.0, 0.0
    for workload in task.of_role(Role.RANK):
        moved = roofline.compulsory_bytes(task, workload.axes)
        every = (*task.signature.tensors(), *task.signature.outputs)
        if moved <= 0 or moved != sum(span_bytes(spec, workload.axes) for spec in every):
            return None
        logs += workload.weight * math.log(moved)
        weights += workload.weight
    return math.exp(logs / weights) if weights else None


def _roof(task: Task, verdict: Verdict | None) -> float | None:
    if verdict is None or verdict.timing is None:
        return None
    stated, moved = roofline.STATED_GB_S.get(verdict.device), rank_bytes(task)
    return moved / (verdict.timing.device_us * 1e3) / stated if stated and moved else None


def interval_text(timing: Timing) -> str:
    """`[1.41, 1.45]`; with a third decimal where two would show no width."""
    digits = 2 if timing.high - timing.low >= 0.02 else 3
    return f"[{timing.low:.{digits}f}, {timing.high:.{digits}f}]"


def notes_of(project: Project, kind: str) -> Mapping[str, str]:
    """Commit id -> text of what runners that count noted: "feedback", "profile"."""
    found: dict[str, str] = {}
    for runner, ref in project.repo.notes_refs(kind).items():
        if project.believes(runner):
            for commit, text in project.repo.notes_read(ref).items():
                found.setdefault(commit, text.strip("\n"))
    return found


def transcript(project: Project, commit: Commit) -> Transcript | None:
    """What was said for an attempt; None where it was kept private or not fetched."""
    for ref in project.repo.notes_refs("transcript").values():
        note = project.repo.notes_read_one(ref, commit.id)
        if note:
            return next(load_all(note), None)
    return None
