"""The prompt of the next question, from what git says of the task and from templates.

The system part holds what stays the same over a run (contract, interface, task, rules), so that providers can
cache it; the user part holds what changes. A task repository may override any template by its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from jinja2 import DictLoader, StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from cutegen_git.core import prompt_lines
from cutegen_git.core.prompt_lines import Tried
from cutegen_git.words.errors import TaskError
from cutegen_git.words.task import Family, Task
from cutegen_git.words.verdict import Verdict

REPLY_TOKENS = 16_000
_REPLY_SHOWN_CHARS = 6000  # of a reply that gave no patch, in the prompt that asks for it again
_KEPT_WHEN_SHORT = 5  # ideas
_PRODUCTS = (
    Family.MATMUL,
    Family.CONV,
    Family.FUSED,
    Family.ATTENTION,
)  # a tile product is at the heart of them


class Asked(str, Enum):
    """What the model is asked for; also the name of the template."""

    GENERATE = "generate"
    FIX = "fix"
    OPTIMISE = "optimise"


@dataclass(frozen=True, slots=True)
class Situation:
    """The move that asks."""

    asked: Asked
    label: str = ""  # fix: the attempt to repair; optimise: the base
    outcome: str = ""  # fix: what it ended with, an Outcome, a PatchProblem, "empty-reply", "refused"
    feedback: str = ""  # fix: what the compiler, the judge or the patch engine said, in a few lines
    reply: str = ""  # fix of a reply that gave no patch: that reply
    nth: int = 0  # fix: 1 for the first in a row
    of: int = 0  # fix: how many in a row are allowed


@dataclass(frozen=True, slots=True)
class PromptFacts:
    """What is known."""

    task: Task
    header: str  # of core.abi
    reference: str  # text of reference.py
    sources: Mapping[str, str]  # path -> text of the files that the patch is made against
    device: str = ""  # facts of the device that measures; see prompt_lines.device_text
    verdict: Verdict | None = None  # on the files shown
    parent: Verdict | None = None  # on what they were made from
    roof_us: float | None = None  # geometric mean over rank workloads; None where unknown
    compiler: str = ""  # ptxas and SASS facts
    profile: str = ""  # digest of a profile, where it is due
    history: tuple[Tried, ...] = ()  # oldest first
    reply_tokens: int = REPLY_TOKENS


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is sent."""

    system: str
    user: str


def build(situation: Situation, facts: PromptFacts, templates: Mapping[str, str]) -> Prompt:
    """The prompt. TaskError for a template that is missing or does not render."""
    environment = _environment(templates)
    values = _values(situation, facts, templates)
    system = _render(environment, "system.md.j2", values)
    return Prompt(system, _render(environment, f"{situation.asked.value}.md.j2", values))


def merged(shipped: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """The shipped templates with those of the task repository put over them. TaskError for an unknown name."""
    for name in own:
        if name not in shipped and not name.startswith("family/"):
            raise TaskError(f"prompts/{name} overrides nothing; known are {', '.join(sorted(shipped))}")
    return {**shipped, **own}


def shorter(facts: PromptFacts) -> PromptFacts | None:
    """With the oldest ideas and the profile left out, never a source; None where nothing is left to leave out."""
    if len(facts.history) > _KEPT_WHEN_SHORT or facts.profile:
        return replace(facts, history=facts.history[-_KEPT_WHEN_SHORT:], profile="")
    return None


def _values(situation: Situation, facts: PromptFacts, templates: Mapping[str, str]) -> dict[str, object]:
    task = facts.task
    menu = templates.get(f"family/{task.family.value}.md") or templates.get("family/other.md", "")
    return {
        "task": task,
        "arch_number": int(re.sub(r"\D", "", task.arch) or 0),
        "header": facts.header,
        "reference": facts.reference,
        "tensors": prompt_lines.tensor_lines(task),
        "sizes": prompt_lines.size_lines(task),
        "precision": prompt_lines.precision_text(task.precision),
        "accumulate": task.precision.accumulate,
        "constants": [spec.name for spec in task.signature.tensors() if spec.constant],
        "reply_tokens": facts.reply_tokens,
        "example": templates.get("example.cu", ""),
        "menu": menu.strip(),
        "forms": templates.get("family/matmul.cu", "") if task.family in _PRODUCTS else "",
        "device": facts.device.strip(),
        "sources": dict(sorted(facts.sources.items())),
        "standing": prompt_lines.standing_lines(facts.verdict, facts.parent, facts.roof_us),
        "compiler": facts.compiler.strip(),
        "profile": facts.profile.strip(),
        "history": prompt_lines.tried_lines(facts.history),
        "kind": prompt_lines.kind_of(situation.outcome),
        "label": situation.label,
        "outcome": situation.outcome,
        "feedback": situation.feedback.strip(),
        "reply": prompt_lines.middle_out(situation.reply.strip(), _REPLY_SHOWN_CHARS),
        "nth": situation.nth,
        "of": situation.of,
    }


def _environment(templates: Mapping[str, str]) -> ImmutableSandboxedEnvironment:
    # A task repository may come from a stranger: its templates may neither reach Python nor change a value.
    environment = ImmutableSandboxedEnvironment(
        loader=DictLoader(dict(templates)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["fenced"] = prompt_lines.fenced
    return environment


def _render(environment: ImmutableSandboxedEnvironment, name: str, values: Mapping[str, object]) -> str:
    try:
        text = environment.get_template(name).render(values)
    except (TemplateError, TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
        line = getattr(error, "lineno", None)
        raise TaskError(f"prompts/{name}{f', line {line}' if line else ''}: {error}") from error
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"
