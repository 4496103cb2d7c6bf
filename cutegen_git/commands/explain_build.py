"""`explain-build`: a build's output as numbers and as the few lines that a model is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from cutegen_git.core.feedback.compiler import explain

from .apply_reply import read_input


def register(app: typer.Typer) -> None:
    """Adds the command to the plumbing panel."""
    app.command("explain-build", rich_help_panel="Plumbing")(command)


def command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What nvcc printed; - reads stdin.")],
    rc: Annotated[str, typer.Option("--rc", metavar="N", help="nvcc's exit code, or timeout.")] = "0",
    source: Annotated[
        list[Path] | None,
        typer.Option("--source", metavar="PATH", help="A file of the kernel; may be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
) -> None:
    """Explain what nvcc, ptxas or the linker said.

    The text is what a model would be sent; with --json also categories, places and the resources of every kernel.
    """
    raw = read_input(file, "FILE")
    sources = {
        path.as_posix(): read_input(str(path), "--source").decode("utf-8", "replace") for path in source or []
    }
    report = explain(raw.decode("utf-8", "replace"), exit_code=_exit_code(rc), sources=sources or None)
    typer.echo(json.dumps(report.as_json(), indent=2) if as_json else report.feedback)


def _exit_code(text: str) -> int | None:
    if text in ("timeout", "none", ""):
        return None
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a number nor timeout", param_hint="--rc") from None
