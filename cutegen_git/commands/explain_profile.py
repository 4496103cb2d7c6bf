"""`explain-profile`: what Nsight Compute printed, as numbers and as the few lines that a model is sent."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from cutegen_git.core.feedback.ncu import Profile, Trouble, as_json, digest, explain
from cutegen_git.words.errors import TaskError


def register(app: typer.Typer) -> None:
    """Adds the command to the plumbing panel."""
    app.command("explain-profile", rich_help_panel="Plumbing")(command)


def command(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="What ncu printed, or its log file; - reads stdin.")
    ],
    rc: Annotated[str, typer.Option("--rc", metavar="N", help="ncu's exit code, or timeout.")] = "0",
    target: Annotated[
        str | None,
        typer.Option("--target", metavar="KERNEL", help="The kernel that is asked about; else the longest."),
    ] = None,
    parent: Annotated[
        str | None, typer.Option("--parent", metavar="FILE", help="The parent's output, to tell the change.")
    ] = None,
    compulsory_bytes: Annotated[
        int | None,
        typer.Option("--compulsory-bytes", metavar="N", min=1, help="What must be read and written once."),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
) -> None:
    """Explain what Nsight Compute said, in any of its layouts, locales and units.

    The text is what a model would be sent; with --json also every metric in base units (ns, bytes, percent).
    Where there is no profile, its reason and the remedy are the result; metrics that were not measured are absent.
    """
    result = explain(read(file), exit_code=_exit_code(rc), target=target or None)
    if json_:
        typer.echo(json.dumps(as_json(result), indent=2, allow_nan=False))
    elif isinstance(result, Trouble):
        typer.echo(f"{result.problem.value}: {result.message}\n{result.remedy}".rstrip())
    else:
        old = explain(read(parent), exit_code=0, target=target or None) if parent else None
        if isinstance(old, Trouble):
            typer.echo(f"no comparison: {old.problem.value} in {parent}", err=True)
        shown = old if isinstance(old, Profile) else None
        typer.echo(digest(result, parent=shown, compulsory_bytes=compulsory_bytes))


def read(file: str) -> str:
    """The text of a file; of stdin for "-"."""
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise TaskError(f"cannot read {file}: {error.strerror}") from None
    return raw.decode("utf-8", "replace")


def _exit_code(text: str) -> int | None:
    if text in ("timeout", "none"):
        return None
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a number nor timeout", param_hint="--rc") from None
