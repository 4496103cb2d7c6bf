"""What a reviewer reads: attempts with outcome, time, speedup and cost, from git alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from cutegen_git.core import history as records
from cutegen_git.core.history import Judged
from cutegen_git.core.transcript import Transcript, load_all
from cutegen_git.words.attempt import Commit
from cutegen_git.words.verdict import Verdict

from .project import KERNEL, PATHS, Project


@dataclass(frozen=True, slots=True)
class Row:
    """One attempt as `log` shows it."""

    label: str
    commit: str
    path: str
    move: str
    subject: str
    outcome: str  # of the newest trusted verdict on `device`, or why nothing applied, or "not measured"
    device: str
    why: str
    speedup: float | None
    interval: tuple[float, float] | None
    device_us: float | None
    cost_usd: float | None
    model: str
    believed: bool  # False: claimed by a runner that [runners] on main does not list
    standing: str  # "main", "path", "" : where the attempt stands now
    tags: tuple[str, ...]

    def record(self) -> dict[str, object]:
        return asdict(self)


def rows(project: Project) -> list[Row]:
    """Every attempt of every era by label, with the verdict that counts most."""
    commits = project.attempts()
    believed = records.judged(commits, project.verdicts())
    claimed = records.judged(commits, project.verdicts(trusted=False))
    tags = _tags(project)
    heads = set(project.repo.refs(PATHS).values())
    main_kernel = project.repo.tree_of(project.main, KERNEL)
    found = []
    for mine, any_ones in zip(believed, claimed, strict=True):
        commit = mine.commit
        own = _pick(mine, project.task.device)
        verdict = own or _pick(any_ones, project.task.device)
        standing = "main" if commit.kernel_tree and commit.kernel_tree == main_kernel else ""
        standing = standing or ("path" if commit.id in heads else "")
        found.append(_row(commit, verdict, own is not None, standing, tags))
    return found


def _row(
    commit: Commit, verdict: Verdict | None, believed: bool, standing: str, tags: dict[str, list[str]]
) -> Row:
    attempt = commit.attempt
    timing = verdict.timing if verdict else None
    outcome = attempt.outcome or (verdict.outcome.value if verdict else "not measured")
    return Row(
        label=str(attempt.label),
        commit=commit.id,
        path=attempt.path,
        move=attempt.move,
        subject=attempt.subject,
        outcome=outcome,
        device=verdict.device if verdict else "",
        why=verdict.why if verdict else "",
        speedup=timing.speedup if timing else None,
        interval=(timing.low, timing.high) if timing else None,
        device_us=timing.device_us if timing else None,
        cost_usd=attempt.spend.cost_usd,
        model=attempt.model,
        believed=believed or verdict is None,
        standing=standing,
        tags=tuple(tags.get(commit.id, ())),
    )


def _pick(judged: Judged, home: str) -> Verdict | None:
    """The home device's verdict if there is one, else the newest about the kernel, else the newest."""
    settled = [v for v in judged.verdicts if v.outcome.is_about_kernel] or list(judged.verdicts)
    return judged.on(home) or (settled[-1] if settled else None)


def _tags(project: Project) -> dict[str, list[str]]:
    """Short names of claims by the commit that they name."""
    found: dict[str, list[str]] = {}
    for ref in project.repo.refs("refs/tags/"):
        commit = project.repo.resolve(f"{ref}^{{commit}}")
        if commit:
            found.setdefault(commit, []).append(ref.removeprefix("refs/tags/"))
    return found


def transcript(project: Project, commit: Commit) -> Transcript | None:
    """What was said for an attempt; None where it was kept private or not fetched."""
    for ref in project.repo.notes_refs("transcript").values():
        note = project.repo.notes_read(ref).get(commit.id)
        if note:
            return next(load_all(note), None)
    return None
