"""`sync`: share attempts, verdicts, claims and paths with a remote, or take them from a bundle file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tomli
import typer

from cutegen_git.hands import sync as hands_sync
from cutegen_git.hands.console import Console
from cutegen_git.hands.repo import Repo


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("sync")(sync)


def sync(
    source: Annotated[
        str | None, typer.Argument(metavar="[REMOTE|BUNDLE]", help="A remote, a URL, or a bundle file.")
    ] = None,
    folder: Annotated[Path, typer.Option("-C", metavar="DIR", help="The task repository.")] = Path(),
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="Write everything into this bundle instead."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Fetch and push all that plain git leaves behind: notes, attempts, claims and paths.

    Nothing is forced and nothing is lost: attempts and claims are created once, branches only move forward, and
    notes are joined line by line. A bundle file is read; `git clone FILE.bundle g` and then
    `cutegen-git sync FILE.bundle -C g` gives the whole repository. `[publish] transcript = false` in task.toml
    keeps prompts, replies and prices at home.
    """
    console = Console(as_json=as_json)
    if source is not None and export is not None:
        raise typer.BadParameter("give a remote or bundle, or --export, not both")
    with Repo.open(folder) as repo:
        share = publishes_transcripts(repo)
        if export is not None:
            report = hands_sync.export(repo, export, share_transcripts=share)
        else:
            report = hands_sync.sync(repo, source, cwd=Path.cwd(), share_transcripts=share)
    record = {"source": report.source, "came": report.came, "went": report.went, "stayed": report.stayed}
    console.result("\n".join(report.lines()), record)


def publishes_transcripts(repo: Repo) -> bool:
    """False where main's task.toml says `[publish] transcript = false`, or cannot be read."""
    files = repo.files_at("refs/heads/main", "task.toml") if repo.resolve("refs/heads/main") else {}
    try:
        table = tomli.loads(files.get("task.toml", b"").decode())
    except (tomli.TOMLDecodeError, UnicodeDecodeError):
        return False
    publish = table.get("publish", {})
    return publish.get("transcript", True) is not False if isinstance(publish, dict) else False
