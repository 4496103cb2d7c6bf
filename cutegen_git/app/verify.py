"""Judge attempts, record what was found, tag what passed, and let the path and main follow.

Needs neither a model nor a key. Everything it decides can be decided again from git.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cutegen_git.core import policy
from cutegen_git.core.history import NO_DEVICE, History, Judged
from cutegen_git.hands import machine
from cutegen_git.words.attempt import Commit, Label
from cutegen_git.words.device import EMULATOR
from cutegen_git.words.errors import RepoError
from cutegen_git.words.move import Advance
from cutegen_git.words.verdict import Outcome, Verdict

from . import claims_sign
from .bench import Bench
from .project import Project

Said = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Verified:
    """One attempt with its verdict."""

    commit: Commit
    verdict: Verdict
    tag: str | None = None  # short name, where a claim was made now
    known: bool = False  # True: the verdict was there already and nothing ran
    merged: str | None = None  # the new main, where it moved


def setting(project: Project, bench: Bench) -> policy.Setting:
    return policy.Setting(project.task.limits, project.task.device, bench.here)


def targets(project: Project, revisions: Sequence[str], *, pending: bool, here: str) -> list[Commit]:
    """The attempts to judge: those named, those that have no verdict here, or HEAD's."""
    if pending:
        judged = project.history().attempts
        return [item.commit for item in judged if item.applied and not _settled(item, here)]
    found = []
    for revision in revisions or ["HEAD"]:
        commit = (
            project.find(revision) or _of_merge(project, revision) or project.adopt(revision, machine.now_s())
        )
        if commit is None:
            if revision == "best":
                raise RepoError(
                    f"no attempt is measured on {project.task.device} yet: run `cutegen-git verify --pending` there"
                )
            raise RepoError(
                f"{revision} is no attempt and no commit with files under kernel/; `cutegen-git log` lists the attempts"
            )
        found.append(commit)
    return found


def _settled(judged: Judged, here: str) -> bool:
    if judged.on(here):
        return True
    return here == NO_DEVICE and any(v.device == NO_DEVICE for v in judged.verdicts)


def _of_merge(project: Project, revision: str) -> Commit | None:
    """The attempt whose kernel a merge on main carries: it is not measured again."""
    commit = project.repo.resolve(revision)
    kernel = project.repo.tree_of(commit, "kernel") if commit else ""
    return next((item for item in project.attempts() if kernel and item.kernel_tree == kernel), None)


def verify_one(
    project: Project, bench: Bench, commit: Commit, *, record: bool = True, again: bool = False
) -> Verified:
    """The verdict on one attempt: the one that stands, or a new one, recorded and tagged."""
    history = project.history()
    standing = history.at(commit.id)
    known = standing.on(bench.here) if standing else None
    if known and not again:
        return Verified(commit, known, known=True)
    if record:  # a missing signing key is better known before a GPU has worked
        claims_sign.key_file_for(project.task, bench.runner, machine.environment())
    best = history.best(bench.here)
    judging = bench.judge(commit, best.commit if best and best.commit.id != commit.id else None)
    emulated = standing.on(EMULATOR) if standing else None
    if bench.facts and emulated and emulated.device == EMULATOR:
        bench.note_disagreement(commit, emulated, judging.verdict)
    if not record:
        return Verified(commit, judging.verdict)
    line = project.record(judging.verdict, judging.samples, judging.feedback)
    tag = project.claim(commit, judging.verdict, line, judging.facts, judging.verdict.at)
    return Verified(commit, judging.verdict, tag)


def follow(project: Project, bench: Bench) -> list[tuple[Judged, str | None]]:
    """Path and main moved to where the verdicts say; each mover with the new main, if that moved."""
    moved: list[tuple[Judged, str | None]] = []
    for _ in range(8):  # a path move and a merge at most; more would be our bug
        history = project.history()
        move = policy.next_advance(history, setting(project, bench))
        if move is None:
            return moved
        moved.append(advance(project, history, move, bench.here, machine.now_s()))
    raise RepoError(
        "main does not come to rest; please report this with the output of `cutegen-git log --json`"
    )


def advance(
    project: Project, history: History, move: Advance, here: str, at: int
) -> tuple[Judged, str | None]:
    """The attempt and the new main, if the home device judged and main moved."""
    judged = history.find(move.attempt)
    assert judged is not None
    home = project.task.device
    message = promotion_message(history, judged, home) if here == home else None
    return judged, project.advance(judged, move.path, message=message, at=at)


def promotion_message(history: History, judged: Judged, device: str) -> str:
    """What a reviewer reads on main: what won, by how much, what lost."""
    verdict = judged.on(device)
    assert verdict is not None
    timing = verdict.timing
    assert timing is not None
    attempt = judged.commit.attempt
    rivals = [
        (item.speedup(device), item)
        for item in history.attempts
        if item.label < judged.label and item.speedup(device) is not None
    ]
    before = max(rivals, key=lambda pair: pair[0] or 0)[1] if rivals else None
    lines = [
        f"{attempt.label}: {attempt.subject}"[:72],
        "",
        f"{timing.speedup:.2f}x torch {timing.baseline} on {device} (95 % interval {timing.low:.2f} to {timing.high:.2f}):",
        f"{timing.device_us:.1f} us against {timing.baseline_us:.1f} us.",
    ]
    if before:
        lines.append(f"Before: {before.label} with {before.speedup(device):.2f}x.")
    line = _line(history, judged)
    lost = [
        item
        for item in history.attempts
        if (before is None or item.label > before.label)
        and item.label < judged.label
        and item.label not in line
    ]
    if lost:
        lines += ["", "Tried since and left behind:"]
        lines += [
            f"- {item.label} {item.commit.attempt.subject} ({outcome_text(item, device)})" for item in lost
        ]
    lines += ["", f"Format: 1\nPromotes: {attempt.label}\nDevice: {device}\nTask: {attempt.task}"]
    return "\n".join(lines) + "\n"


def _line(history: History, judged: Judged) -> set[Label]:
    """The attempts that this one was made from: they are part of what won."""
    found: set[Label] = set()
    here: Judged | None = judged
    while here is not None:
        found.add(here.label)
        above = here.commit.attempt.parent_attempt
        here = history.find(above) if above is not None else None
    return found


def outcome_text(judged: Judged, device: str) -> str:
    """One or two words: "0.93x", "wrong-result", "no-diff", "not measured"."""
    if not judged.applied:
        return judged.commit.attempt.outcome or ""
    verdict = judged.on(device)
    if verdict is None:
        return "not measured"
    return f"{verdict.timing.speedup:.2f}x" if verdict.timing else verdict.outcome.value


def falls_short(verdict: Verdict, *, at_least: float | None, than: Verdict | None) -> str:
    """Why a verdict does not do; "" if it does. For exit codes and git bisect."""
    if verdict.outcome is not Outcome.PASSED:
        return verdict.why or verdict.outcome.value
    if at_least is None and than is None:
        return ""
    if verdict.timing is None:
        return "it was checked and not timed"
    if at_least is not None and verdict.timing.speedup < at_least:
        return f"{verdict.timing.speedup:.2f}x is below {at_least:.2f}x"
    if than is not None and than.timing and verdict.timing.high < than.timing.low:
        return f"{verdict.timing.speedup:.2f}x is slower than {than.timing.speedup:.2f}x"
    return ""
