"""`prompt`: what refine would send now."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cutegen_git.app import briefing, verify
from cutegen_git.app.bench import Bench
from cutegen_git.app.project import Project
from cutegen_git.core import policy
from cutegen_git.hands.console import Console
from cutegen_git.hands.model import prices
from cutegen_git.words.move import Fix, Generate, Optimise


def register(app: typer.Typer) -> None:
    """Adds the plumbing verb."""
    app.command("prompt", rich_help_panel="Plumbing")(prompt)


def prompt(
    folder: Annotated[Path, typer.Option("-C", metavar="DIR", help="The task repository.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """The prompt of the next question to a model, on stdout; nothing is sent."""
    console = Console(as_json=as_json)
    project = Project.open(folder)
    bench = Bench(project, console.busy)
    history, setting = project.history(), verify.setting(project, bench)
    move = policy.next_move(history, setting)
    if not isinstance(move, Generate | Fix | Optimise):
        console.say(f"the next move asks no model: {move}")
        raise typer.Exit(1)
    brief = briefing.brief(project, history, move, setting)
    text = f"{brief.system}\n{brief.user}"
    tokens = prices.estimate_tokens(text)
    console.say(f"{tokens} tokens by estimate, for: {move}")
    console.result(text, {"system": brief.system, "user": brief.user, "tokens": tokens})
