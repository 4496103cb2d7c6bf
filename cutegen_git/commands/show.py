"""`show`: one attempt with everything that is known of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cutegen_git.app import story
from cutegen_git.app.project import Project
from cutegen_git.core.text import usd, verdict_line
from cutegen_git.hands.console import Console
from cutegen_git.words.attempt import Commit
from cutegen_git.words.errors import RepoError
from cutegen_git.words.verdict import Verdict


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("show")(show)


def show(
    revision: Annotated[
        str, typer.Argument(metavar="REV", help="Attempt (12), `best`, or any git revision.")
    ],
    folder: Annotated[Path, typer.Option("-C", metavar="DIR", help="The task repository.")] = Path(),
    reply: Annotated[bool, typer.Option("--reply", help="Also the model's whole reply.")] = False,
    prompt: Annotated[bool, typer.Option("--prompt", help="Also the prompt.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """One attempt: intent, verdicts per device, claims, diff. Needs neither GPU nor torch."""
    console = Console(as_json=as_json)
    project = Project.open(folder)
    commit = project.find(revision)
    if commit is None:
        raise RepoError(
            f"{revision} is no attempt here; `cutegen-git log` lists them, `cutegen-git sync` fetches more"
        )
    row = next(row for row in story.rows(project) if row.commit == commit.id)
    diff = project.repo.diff(commit.parents[0] if commit.parents else "", commit.id, ("kernel",))
    said = story.transcript(project, commit) if reply or prompt else None
    record = {**row.record(), "diff": diff, "feedback": project.feedback(commit.id)}
    if said:
        record |= {"reply": said.reply.decode("utf-8", "replace")} if reply else {}
        record |= {"prompt": f"{said.system}\n{said.user}"} if prompt else {}
    console.result(_text(project, commit, row.tags, record), record)


def _text(project: Project, commit: Commit, tags: tuple[str, ...], record: dict[str, object]) -> str:
    attempt = commit.attempt
    lines = [
        f"attempt {attempt.label}  {attempt.subject}",
        f"commit  {commit.id}",
        f"move    {attempt.move} on {attempt.path or 'no path'}"
        + (f", from {attempt.parent_attempt}" if attempt.parent_attempt else ""),
    ]
    if attempt.model:
        lines.append(f"model   {attempt.model}, {usd(attempt.spend.cost_usd)}")
    lines += [f"tag     {tag}" for tag in tags]
    if attempt.body:
        lines += ["", *(f"    {line}".rstrip() for line in attempt.body.splitlines())]
    if attempt.outcome:
        lines += ["", f"nothing applied: {attempt.outcome}"]
    lines += ["", *_verdicts(project, commit)]
    for key, title in (
        ("feedback", "what the next prompt was told"),
        ("prompt", "prompt"),
        ("reply", "reply"),
    ):
        if record.get(key):
            lines += ["", f"--- {title} ---", str(record[key])]
    return "\n".join([*lines, "", str(record["diff"])]).rstrip()


def _verdicts(project: Project, commit: Commit) -> list[str]:
    every = project.verdicts(trusted=False).get(commit.id, [])
    return [verdict_line("verdict", v) + _who(project, v) for v in sorted(every, key=lambda v: v.at)] or [
        "not measured"
    ]


def _who(project: Project, verdict: Verdict) -> str:
    believed = project.believes(verdict.runner)
    return "" if believed else f"  (claimed by {verdict.runner}, not verified here)"
