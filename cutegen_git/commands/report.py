"""`report`: the evolution for people who have no checkout, as a page or as markdown."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from cutegen_git.app import report as app_report
from cutegen_git.app import report_markdown
from cutegen_git.app.project import Project
from cutegen_git.hands.console import Console
from cutegen_git.words.errors import TaskError


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("report")(report)


def report(
    folder: Annotated[Path, typer.Option("-C", metavar="DIR", help="The task repository.")] = Path(),
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write; `-` is stdout.")
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="In brief, for a job summary or a pull request.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """What was reached, on which device, against what, how surely, and every attempt with its diff.

    The HTML file holds everything, has no script and asks the network for nothing. Needs neither GPU nor torch.

        cutegen-git report -o report.html

        cutegen-git report --markdown >> "$GITHUB_STEP_SUMMARY"
    """
    if markdown and as_json:
        raise typer.BadParameter("give --markdown or --json, not both")
    if output is None and not (markdown or as_json):
        raise typer.BadParameter("give -o FILE.html, or --markdown, or --json")
    project = Project.open(folder)
    if as_json:
        Console(as_json=True).result("", app_report.record(app_report.gather(project)))
        return
    text = report_markdown.markdown(project) if markdown else app_report.html(project)
    if output is None or str(output) == "-":
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
        return
    _write(output, text)
    Console().say(f"wrote {output} ({len(text.encode()) / 1024:.0f} KiB)")


def _write(path: Path, text: str) -> None:
    """The file whole or not at all."""
    half = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        half.write_bytes(text.encode())
        half.replace(path)
    except OSError as error:
        half.unlink(missing_ok=True)
        raise TaskError(
            f"cannot write {path}: {error.strerror or error}; name another file with -o"
        ) from None
