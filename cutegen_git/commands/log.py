"""`log`: the evolution as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cutegen_git.app import story
from cutegen_git.app.project import Project
from cutegen_git.app.story import Row
from cutegen_git.core.text import table
from cutegen_git.hands.console import Console


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("log")(log)


def log(
    folder: Annotated[Path, typer.Option("-C", metavar="DIR", help="The task repository.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object an attempt.")] = False,
) -> None:
    """The attempts with outcome, time and speedup: needs neither GPU nor torch.

    `*` stands on main, `+` is the head of its path. Plain git tells the same story:

        git log --first-parent main

        git log --notes='cutegen/verdict/*' --branches
    """
    console = Console(as_json=as_json)
    project = Project.open(folder)
    rows = story.rows(project)
    if as_json:
        for row in rows:
            console.result("", row.record())
        return
    if not rows:
        console.say(f"{project.task.name} has no attempt yet: run `cutegen-git refine {folder}`")
        return
    console.result(table([_HEAD, *(_cells(row) for row in rows)]))
    if project.repo.verdicts_missing():
        console.say("verdicts not fetched: run `cutegen-git sync`")
    if any(not row.believed for row in rows):
        console.say("(claimed): by a runner that [runners] on main does not list; `verify` measures it here")
    if project.repo.is_shallow():
        console.say("history cut off: this is a shallow clone")


_HEAD = ("attempt", "", "move", "outcome", "speedup", "time", "device", "cost", "intent")


def _cells(row: Row) -> tuple[str, ...]:
    speedup = f"{row.speedup:.2f}x" if row.speedup else ""
    if row.interval:
        speedup += f" [{row.interval[0]:.2f}, {row.interval[1]:.2f}]"
    return (
        row.label,
        {"main": "*", "path": "+"}.get(row.standing, ""),
        row.move,
        row.outcome + ("" if row.believed else " (claimed)"),
        speedup,
        f"{row.device_us:.1f} us" if row.device_us else "",
        row.device if row.device != "none" else "",
        "" if row.cost_usd is None else f"${row.cost_usd:.4f}",
        row.subject,
    )
