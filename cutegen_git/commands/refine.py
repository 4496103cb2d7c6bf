"""`refine`: the agent."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from cutegen_git.app import refine as app_refine
from cutegen_git.app import replay
from cutegen_git.app import verify as app_verify
from cutegen_git.app.bench import Bench
from cutegen_git.app.project import Project
from cutegen_git.app.where import Where
from cutegen_git.core import policy, taskfile
from cutegen_git.hands import machine
from cutegen_git.hands.console import Console
from cutegen_git.hands.model import choose, recording
from cutegen_git.words.move import Wait


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("refine")(refine)


def refine(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="The task repository.")] = Path(),
    at: Annotated[Path | None, typer.Option("-C", metavar="DIR", help="The same, as git takes it.")] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", "-m", metavar="NAME", help="anthropic/…, openai/…, ollama/…, handoff, replay:SOURCE"
        ),
    ] = None,
    attempts: Annotated[int | None, typer.Option("--attempts", help="[stop] attempts", min=0)] = None,
    usd: Annotated[float | None, typer.Option("--usd", help="[stop] usd", min=0.0)] = None,
    minutes: Annotated[float | None, typer.Option("--minutes", help="[stop] minutes", min=0.0)] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say the next move and the limits; spend nothing.")
    ] = False,
    device: Annotated[
        Where,
        typer.Option(
            "--device",
            envvar="CUTEGEN_GIT_DEVICE",
            help="Where to judge; auto takes a GPU, else the emulator.",
        ),
    ] = Where.AUTO,
    nvcc: Annotated[Path | None, typer.Option(help="nvcc to build with.")] = None,
    cutlass: Annotated[Path | None, typer.Option(help="CUTLASS checkout to build with.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a result.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Let a model write and improve the kernel, one commit an attempt.

    Ctrl-C ends cleanly; running it again continues. Nothing is spent before the limits are shown.
    Without `--model` the task's `[model] name` is taken; the shipped example replays its recorded replies.
    """
    started = time.monotonic()
    console = Console(quiet=quiet, as_json=as_json)
    project = Project.open(at or folder)
    env = machine.environment()
    project.task = taskfile.override(
        project.task, env, model=model, attempts=attempts, usd=usd, minutes=minutes
    )
    project.repo.refuse_unready()
    bench = Bench(project, console.busy, nvcc=nvcc, cutlass=cutlass, wanted=device.value)
    if dry_run:
        move = policy.next_move(project.history(), app_verify.setting(project, bench))
        console.result(f"next: {move}", {"move": type(move).__name__.lower()})
        return
    with project.repo.lock(wait_s=0.0):
        project.repo.recover()
        name = project.task.model or ""
        if name.startswith("replay:") and _has_history(name, project):
            replay.Replay(project, bench, console, name.removeprefix("replay:")).to_the_end()
            return
        chosen = choose.open_model(name or None, repo_dir=project.repo.root, env=env, say=console.say)
        console.say(app_refine.limits_text(project, chosen, history=project.history()))
        run = app_refine.Run(project, bench, console, chosen)
        ended = run.to_the_end()
    text = app_refine.farewell(project, ended, run.setting.judging, time.monotonic() - started)
    console.result(text, {"ended": "waiting" if isinstance(ended.move, Wait) else "stopped", "text": text})


def _has_history(name: str, project: Project) -> bool:
    """True for a recorded repository, which is made again move by move; a folder of replies only answers."""
    place = recording.find(name.removeprefix("replay:"), project.repo.root)
    return not recording.has_replies(place)
