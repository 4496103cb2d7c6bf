"""What a model is told: facts gathered from git and this machine, put into the prompts."""

from __future__ import annotations

from dataclasses import dataclass

from cutegen_git.core import abi, log, prompt, prompt_lines
from cutegen_git.core.cards import CARDS
from cutegen_git.core.history import History, Judged
from cutegen_git.core.policy import Setting
from cutegen_git.core.prompt import Asked, PromptFacts, Situation
from cutegen_git.core.prompt_lines import Tried
from cutegen_git.hands.model import templates as shipped_templates
from cutegen_git.words.device import EMULATOR, Device
from cutegen_git.words.move import Fix, Generate, Optimise
from cutegen_git.words.task import Role
from cutegen_git.words.verdict import Resources, Verdict

from . import propose, story
from .project import Project

Asking = Generate | Fix | Optimise


@dataclass(frozen=True, slots=True)
class Brief:
    """A prompt with what its answer will hang on."""

    system: str
    user: str
    parent: str  # commit id
    parent_attempt: str  # label, "" for none
    seen: str  # ids of the verdicts that it shows


def brief(
    project: Project,
    past: History,
    move: Asking,
    setting: Setting,
    *,
    device: Device | None = None,
    short: bool = False,
) -> Brief:
    """The prompt for a move. `device` is the judging one where it is here; `short` leaves the oldest ideas out."""
    base = _base(past, move)
    parent = base.commit.id if base else project.main
    facts = _facts(project, past, base, parent, setting, device)
    if short:
        facts = prompt.shorter(facts) or facts
    text = prompt.build(_situation(project, base, move, setting), facts, templates(project))
    verdict = standing(base, setting) if base else None
    seen = log.verdict_id(log.render_verdict(verdict)) if verdict else ""
    return Brief(text.system, text.user, parent, str(base.label) if base else "", seen)


def templates(project: Project) -> dict[str, str]:
    """The shipped prompts with those that the task repository has on main put over them."""
    own = {
        path.removeprefix("prompts/"): text.decode("utf-8", "replace")
        for path, text in project.repo.files_at(project.main, "prompts").items()
    }
    return prompt.merged(shipped_templates.shipped(), own)


def _base(past: History, move: Asking) -> Judged | None:
    match move:
        case Generate():
            return None
        case Fix():
            return past.find(move.broken)
        case Optimise():
            return past.find(move.base)


def _situation(project: Project, base: Judged | None, move: Asking, setting: Setting) -> Situation:
    if base is None or isinstance(move, Generate):
        return Situation(Asked.GENERATE)
    if isinstance(move, Optimise):
        return Situation(Asked.OPTIMISE, str(base.label))
    verdict = standing(base, setting)
    outcome = base.commit.attempt.outcome or (verdict.outcome.value if verdict else "")
    feedback, reply = project.feedback(base.commit.id) or (verdict.why if verdict else ""), ""
    if not base.applied:
        said = story.transcript(project, base.commit)
        if said:
            feedback = propose.complaint(project, base.commit, said)
            reply = said.reply.decode("utf-8", "replace")
    return Situation(
        Asked.FIX, str(base.label), outcome, feedback, reply, nth=move.nth, of=setting.limits.fixes
    )


def _facts(
    project: Project, past: History, base: Judged | None, parent: str, setting: Setting, device: Device | None
) -> PromptFacts:
    task = project.task
    rank = task.of_role(Role.RANK)
    static = {axis: rank[0].axes[axis] for axis in task.static} if rank else {}
    judging = device or CARDS.get(setting.judging)
    verdict = standing(base, setting) if base else None
    above = past.at(base.commit.parents[0]) if base and base.commit.parents else None
    kernel = project.repo.files_at(parent, "kernel")
    return PromptFacts(
        task=task,
        header=abi.header(task, static),
        reference=project.reference.decode("utf-8", "replace"),
        sources={path: text.decode("utf-8", "replace") for path, text in kernel.items()},
        device=prompt_lines.device_text(judging) if judging else "",
        verdict=verdict,
        parent=above.on(setting.judging) if above else None,
        compiler=_resources(verdict.resources) if verdict and verdict.resources else "",
        history=tuple(_tried(past, item, setting) for item in past.attempts),
    )


def standing(judged: Judged, setting: Setting) -> Verdict | None:
    """What is known best: the home device's verdict, else the emulator's."""
    return judged.on(setting.judging) or judged.on(EMULATOR)


def _tried(past: History, judged: Judged, setting: Setting) -> Tried:
    device, verdict = setting.judging, standing(judged, setting)
    outcome = judged.commit.attempt.outcome or (verdict.outcome.value if verdict else "not measured")
    above = past.at(judged.commit.parents[0]) if judged.commit.parents else None
    return Tried(
        str(judged.label),
        judged.commit.attempt.subject,
        outcome,
        judged.speedup(device),
        _change(verdict, above.on(device) if above else None),
    )


def _change(verdict: Verdict | None, before: Verdict | None) -> float | None:
    if verdict and before and verdict.timing and before.timing:
        return before.timing.device_us / verdict.timing.device_us
    return None


def _resources(found: Resources) -> str:
    return (
        f"{found.registers} registers a thread, {found.smem_bytes} bytes of static shared memory, "
        f"{found.spill_bytes} bytes of spills"
    )
