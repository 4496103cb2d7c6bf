"""What is exported, and the claim that it rests on."""

from __future__ import annotations

from cutegen_git.core import history as records
from cutegen_git.core import log
from cutegen_git.core.chart_text import visible
from cutegen_git.words.attempt import Commit
from cutegen_git.words.device import EMULATOR
from cutegen_git.words.errors import RepoError
from cutegen_git.words.verdict import Outcome, Verdict

from .bench_facts import refuse
from .export_task import Exported
from .project import Project
from .story import interval_text


def gather(project: Project, revision: str, *, unverified: bool = False) -> Exported:
    """RepoError where there is no such kernel, or none that passed and `unverified` does not allow that."""
    commit = project.find(revision)
    if commit is None:
        if revision == "best":
            raise RepoError(
                f"nothing is verified on {project.task.device} yet; name an attempt, or run `cutegen-git verify`"
            )
        raise RepoError(f"{revision} is no attempt here; `cutegen-git log` lists them")
    label = str(commit.attempt.label)
    if commit.attempt.outcome is not None:
        raise RepoError(f"{label} has no kernel of its own: {commit.attempt.outcome}")
    if commit.attempt.task != project.task_hash:
        raise RepoError(f"{label} was made for an earlier task.toml or reference.py; verify it again first")
    sources = project.kernel_files(commit.id)
    if why := refuse(sources, project.odd_kernel_files(commit.id)):
        raise RepoError(f"{label} cannot be exported: {why}")
    verdict = _verdict(project, commit)
    if verdict is None and not unverified:
        raise RepoError(
            f"{label} has no passing verdict of a GPU that counts here; run `cutegen-git verify {label}`, "
            "`cutegen-git sync`, or add --unverified"
        )
    first = f"Kernel: attempt {label} of the task {project.task.name}, commit {commit.id}: {commit.attempt.subject}"
    # One line each, whatever a stranger wrote: they become comments in Python.
    about = tuple(" ".join(visible(line).split()) for line in (first, *_claim(project, commit, verdict)))
    return Exported(project.task, label, project.reference, sources, about)


def _verdict(project: Project, commit: Commit) -> Verdict | None:
    """The home device's verdict if it passed there, else the newest of another GPU. An emulator sees no races."""
    (judged,) = records.judged([commit], project.verdicts())
    home = judged.on(project.task.device)
    if home is not None:
        return home if home.outcome is Outcome.PASSED else None
    verdicts = [judged.on(verdict.device) for verdict in judged.verdicts if verdict.device != EMULATOR]
    return next((v for v in reversed(verdicts) if v and v.outcome is Outcome.PASSED), None)


def _claim(project: Project, commit: Commit, verdict: Verdict | None) -> tuple[str, ...]:
    if verdict is None:
        return (
            "UNVERIFIED: no verdict of a GPU that counts says that it is right; check it before you use it.",
        )
    tags = [(tag.ref.removeprefix("refs/tags/"), log.parse_claim(tag.message)) for tag in project.repo.tags()]
    found = next(((name, claim) for name, claim in tags if claim and claim.verdict and _backs(claim, commit, verdict)), None)  # fmt: skip
    passed = f"Verdict: passed on {verdict.device} ({verdict.code}) by the runner {verdict.runner}."
    if found is None:
        return (passed, "No tag claims a speedup for it.")
    name, claim = found
    timing = claim.timing
    facts = "; ".join(f"{key} {value}" for key, value in claim.facts.items())
    return (
        passed,
        f"Claim: tag {name}: {timing.speedup:.2f}x (95 % interval {interval_text(timing)}) against "
        f"torch {timing.baseline} on {claim.device}: {timing.baseline_us:.1f} us before, "
        f"{timing.device_us:.1f} us after.",
        *((f"Measured with: {facts}.",) if facts else ()),
    )


def _backs(claim: log.Claim, commit: Commit, verdict: Verdict) -> bool:
    return (
        claim.kernel_tree == commit.kernel_tree
        and claim.task == commit.attempt.task
        and claim.device == verdict.device
    )
