"""`doctor`: what this machine can do, what is missing, and how to get it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cutegen_git.app import doctor as app_doctor
from cutegen_git.app.doctor import Examination, Role
from cutegen_git.app.doctor_finding import Finding, State
from cutegen_git.core.text import table
from cutegen_git.hands import machine
from cutegen_git.hands.cache import Cache
from cutegen_git.hands.console import Console

UNUSABLE = 128


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("doctor")(doctor)


def doctor(
    folder: Annotated[Path, typer.Option("-C", metavar="DIR", help="A task repository.")] = Path(),
    fix: Annotated[
        bool,
        typer.Option(
            "--fix", help="Install nvcc (340 MB, by pip, into this environment) and CuTe's headers."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """What this machine can do, what is missing, why it matters, and the fix.

    Exit code 0 even where something is missing, 128 where not even a review is possible.
    """
    console = Console(as_json=as_json)
    environment, cache = machine.environment(), Cache.default()
    found = app_doctor.examine(environment, cache, folder)
    if fix and app_doctor.mend(found, environment, cache, console.say):
        found = app_doctor.examine(environment, cache, folder)
    console.result(text(found), found.record())
    if not found.usable:
        raise typer.Exit(UNUSABLE)


def text(found: Examination) -> str:
    """The table, then what to do, then what each role can do."""
    rows = [(finding.state.value, finding.name, finding.found) for finding in found.findings]
    advice = [_advice(finding) for finding in found.findings if finding.state is not State.OK]
    roles = table([(role.value, found.says(role)) for role in Role])
    return "\n\n".join([table(rows), *advice, roles])


def _advice(finding: Finding) -> str:
    return f"{finding.name}: {finding.matters}\n  fix: {finding.fix}"
