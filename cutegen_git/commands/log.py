"""`log`: the evolution as a table or a graph."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console as Rich
from rich.text import Text

from cutegen_git.app import claims, story
from cutegen_git.app.project import Project
from cutegen_git.app.story import Row
from cutegen_git.core.chart_lanes import draw_row, lanes
from cutegen_git.core.chart_text import visible
from cutegen_git.hands.console import Console
from cutegen_git.words.verdict import Outcome

# A clone brings heads and tags and leaves these out.
UNFETCHED = "attempts and verdicts not fetched: run `cutegen-git sync`"


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("log")(log)


def log(
    folder: Annotated[Path, typer.Option("-C", metavar="DIR", help="The task repository.")] = Path(),
    graph: Annotated[bool, typer.Option("--graph", help="Draw which attempt was made from which.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object an attempt.")] = False,
) -> None:
    """The attempts with outcome, time and speedup: needs neither GPU nor torch.

    `*` stands on main, `+` is the head of its path; `roof` is the share of the memory bandwidth that the data sheet
    states, where the task must read all of its inputs. Plain git tells the same story:

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
        fetched = not project.repo.verdicts_missing()
        hint = f"has no attempt yet: run `cutegen-git refine {folder}`" if fetched else UNFETCHED
        console.say(f"{project.task.name}: {hint}")
        return
    rails = [""] * len(rows)
    if graph:
        rows, rails = _drawn(rows)
    # Rich colours only a terminal, and not where NO_COLOR is set.
    Rich(highlight=False, soft_wrap=True).print(_painted(rows, rails))
    _remarks(console, project, rows)


def _remarks(console: Console, project: Project, rows: Sequence[Row]) -> None:
    if project.repo.verdicts_missing():
        console.say(UNFETCHED)
    if any(not row.believed for row in rows):
        console.say("(claimed): by a runner that [runners] on main does not list; `verify` measures it here")
    if old := sum(not row.current for row in rows):
        console.say(f"(earlier): {old} made for an earlier task.toml or reference.py; they no longer count")
    for claim in claims.standing(project):
        if claim.word not in ("claimed", "reproduced"):
            console.say(f"{claim.tag}: {claim.word}" + (f" ({claim.stale})" if claim.stale else ""))
    if project.repo.is_shallow():
        console.say("history cut off: this is a shallow clone")


def _drawn(rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """The rows with parents above children, and the rails of each."""
    ordered, parents = story.in_graph_order(rows)
    plain = not _can_encode("│├┼─●○×·")
    nodes = [_node(row, ascii_only=plain) for row in ordered]
    places = lanes(parents)
    return ordered, [draw_row(p, node, ascii_only=plain) for p, node in zip(places, nodes, strict=True)]


def _can_encode(signs: str) -> bool:
    try:
        signs.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _node(row: Row, *, ascii_only: bool) -> str:
    sign = {"green": "●*", "red": "×x", "dim": "·.", "": "○o"}[_style(row)]
    return sign[1 if ascii_only else 0]


def _style(row: Row) -> str:
    """Green passed, red the kernel's fault, dim nothing applied, plain not known."""
    if row.commit.attempt.outcome:
        return "dim"
    if row.verdict is None or not row.verdict.outcome.is_about_kernel:
        return ""
    return "green" if row.verdict.outcome is Outcome.PASSED else "red"


_RAILS = " │├┼─|+-"
_HEAD = ("attempt", "", "path", "move", "outcome", "speedup", "time", "roof", "device", "cost", "intent")
_OPTIONAL = ("path", "roof", "speedup", "time", "cost")  # columns that go where they say nothing


def _cells(row: Row) -> tuple[str, ...]:
    timing, cost = row.timing, row.commit.attempt.spend.cost_usd
    remarks = ("" if row.believed else " (claimed)") + ("" if row.current else " (earlier)")
    return (
        row.label,
        {"main": "*", "path": "+"}.get(row.standing, ""),
        row.commit.attempt.path,
        row.commit.attempt.move,
        row.outcome + remarks,
        f"{timing.speedup:.2f}x {story.interval_text(timing)}" if timing else "",
        f"{timing.device_us:.1f} us" if timing else "",
        f"{100 * row.roof:.0f} %" if row.roof else "",
        row.verdict.device if row.verdict and row.verdict.device != "none" else "",
        "" if cost is None else f"${cost:.4f}",
        row.commit.attempt.subject,
    )


def _painted(rows: Sequence[Row], rails: Sequence[str]) -> Text:
    """The table, columns two blanks apart, each row's rails before it and its outcome in colour."""
    table = [_HEAD, *(tuple(visible(cell).replace("\n", " ") for cell in _cells(row)) for row in rows)]
    keep = [n for n, name in enumerate(_HEAD) if name not in _OPTIONAL or _says(name, table, n)]
    widths = {n: max(len(line[n]) for line in table) for n in keep}
    rail_width = max(map(len, rails))
    text = Text()
    for number, line in enumerate(table):
        row = rows[number - 1] if number else None
        if rail_width:
            for sign in (rails[number - 1] if row else "").ljust(rail_width + 2):
                text.append(sign, "dim" if row is None or sign in _RAILS else _style(row))
        for n in keep[:-1]:
            text.append(line[n].ljust(widths[n]), _cell_style(_HEAD[n], row))
            text.append("  ")
        text.append(line[keep[-1]])
        text.append("\n" if number < len(rows) else "")
    return text


def _says(name: str, table: Sequence[Sequence[str]], column: int) -> bool:
    values = {line[column] for line in table[1:]}
    return len(values) > 1 if name == "path" else values != {""}


def _cell_style(name: str, row: Row | None) -> str:
    if row is None:
        return "bold"
    if name == "outcome":
        return _style(row)
    if name == "speedup" and row.standing == "main":
        return "bold"
    return "dim" if name in ("move", "device", "cost") else ""
