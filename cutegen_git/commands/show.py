"""`show`: one attempt with everything that is known of it, or two side by side."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cutegen_git.app import report_compare, story
from cutegen_git.app.project import Project
from cutegen_git.app.story import Row
from cutegen_git.core.chart_text import visible
from cutegen_git.core.text import table, usd, verdict_line
from cutegen_git.hands.console import Console
from cutegen_git.words.errors import RepoError
from cutegen_git.words.verdict import Verdict


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("show")(show)


def show(
    revision: Annotated[
        str, typer.Argument(metavar="REV", help="Attempt (12), `best`, or any git revision.")
    ],
    other: Annotated[
        str | None, typer.Argument(metavar="[REV2]", help="A second attempt: both are compared.")
    ] = None,
    folder: Annotated[Path, typer.Option("-C", metavar="DIR", help="The task repository.")] = Path(),
    reply: Annotated[bool, typer.Option("--reply", help="Also the model's whole reply.")] = False,
    prompt: Annotated[bool, typer.Option("--prompt", help="Also the prompt.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """One attempt: intent, verdicts per device, claims, diff. Two: side by side, and the diff from one to the other.

    Needs neither GPU nor torch.
    """
    console = Console(as_json=as_json)
    project = Project.open(folder)
    if other is not None:
        if reply or prompt:
            raise typer.BadParameter("--reply and --prompt are for one attempt")
        _compare(console, project, _row(project, revision), _row(project, other))
        return
    row = _row(project, revision)
    record = _record(project, row, reply=reply, prompt=prompt)
    console.result(_text(project, row, record), record)


def _row(project: Project, revision: str) -> Row:
    """The attempt; RepoError where there is none of that name."""
    commit = project.find(revision)
    found = next((row for row in story.rows(project) if commit and row.commit.id == commit.id), None)
    if found is None:
        raise RepoError(
            f"{revision} is no attempt here; `cutegen-git log` lists them, `cutegen-git sync` fetches more"
        )
    return found


def _record(project: Project, row: Row, *, reply: bool, prompt: bool) -> dict[str, object]:
    commit = row.commit
    record = row.record() | {
        "diff": project.repo.diff(commit.parents[0] if commit.parents else "", commit.id, ("kernel",)),
        "feedback": project.feedback(commit.id),
    }
    if profile := story.notes_of(project, "profile").get(commit.id):
        record["profile"] = profile
    said = story.transcript(project, commit) if reply or prompt else None
    if said:
        record |= {"reply": said.reply.decode("utf-8", "replace")} if reply else {}
        record |= {"prompt": f"{said.system}\n{said.user}"} if prompt else {}
    return record


def _text(project: Project, row: Row, record: dict[str, object]) -> str:
    attempt = row.commit.attempt
    lines = [
        f"attempt {attempt.label}  {attempt.subject}",
        f"commit  {row.commit.id}",
        f"move    {attempt.move} on {attempt.path or 'no path'}"
        + (f", from {row.parent}" if row.parent else ""),
    ]
    if attempt.model:
        lines.append(f"model   {attempt.model}, {usd(attempt.spend.cost_usd)}")
    lines += [f"tag     {tag}" for tag in row.tags]
    if attempt.body:
        lines += ["", *(f"    {line}".rstrip() for line in attempt.body.splitlines())]
    if attempt.outcome:
        lines += ["", f"nothing applied: {attempt.outcome}"]
    lines += ["", *([_verdict(project, v) for v in row.verdicts] or ["not measured"])]
    for key, title in (
        ("profile", "profile"),
        ("feedback", "what the next prompt was told"),
        ("prompt", "prompt"),
        ("reply", "reply"),
    ):
        if record.get(key):
            lines += ["", f"--- {title} ---", str(record[key])]
    return visible("\n".join([*lines, "", str(record["diff"])]).rstrip())


def _verdict(project: Project, verdict: Verdict) -> str:
    believed = project.believes(verdict.runner)
    line = verdict_line("verdict", verdict)
    if verdict.resources:
        res = verdict.resources
        line += f"  ({res.registers} registers, {res.smem_bytes} B static smem, {res.spill_bytes} B spilled)"
    return line if believed else f"{line}  (claimed by {verdict.runner}, not verified here)"


def _compare(console: Console, project: Project, left: Row, right: Row) -> None:
    found = report_compare.compare(project, left, right)
    record = {
        "attempts": [left.record(), right.record()],
        "facts": [asdict(line) for line in found.lines],
        "remark": found.remark,
        "diff": found.diff,
    }
    rows = [("", left.label, right.label, "change")]
    rows += [(line.name, line.left or "-", line.right or "-", line.change) for line in found.lines]
    text = table([tuple(visible(cell).replace("\n", " ") for cell in row) for row in rows])
    parts = [text, found.remark, found.diff or "both have the same kernel"]
    console.result("\n\n".join(visible(part) for part in parts if part).rstrip(), record)
