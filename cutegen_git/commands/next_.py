"""`next`: what refine would do now, and why."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from cutegen_git.app.bench import Bench
from cutegen_git.app.project import Project
from cutegen_git.app.verify import setting
from cutegen_git.core import policy
from cutegen_git.hands.console import Console


def register(app: typer.Typer) -> None:
    """Adds the plumbing verb."""
    app.command("next", rich_help_panel="Plumbing")(next_)


def next_(
    folder: Annotated[Path, typer.Option("-C", metavar="DIR", help="The task repository.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """The next move and what it rests on, without making it."""
    console = Console(as_json=as_json)
    project = Project.open(folder)
    bench = Bench(project, console.busy)
    move = policy.next_move(project.history(), setting(project, bench))
    facts = {field.name: str(getattr(move, field.name)) for field in fields(move)}
    text = ", ".join(f"{name} {value}" for name, value in facts.items())
    console.result(f"{type(move).__name__.lower()}: {text}", {"move": type(move).__name__.lower(), **facts})
