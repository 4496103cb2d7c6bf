"""`report`: the evolution of a task as one HTML file, as markdown, or as a record. From git alone: no torch, no clock,
so the same repository gives the same bytes.

The HTML has no script and asks the network for nothing; its policy says so to the browser. All text of models and
strangers is escaped, and what does not show or reorders text is made visible.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import jinja2
from markupsafe import Markup

from cutegen_git.core.chart_text import visible

from . import report_charts
from .project import Project
from .report_facts import Facts, gather
from .story import interval_text

__all__ = ["gather", "html", "record"]
_FOLDER = Path(__file__).resolve().parent


def html(project: Project) -> str:
    """The whole page."""
    facts = gather(project)
    style = (_FOLDER / "report_style.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return _environment(project).get_template("report_template.html.j2").render(
        facts=facts,
        best=facts.best[0] if facts.best else None,
        charts=report_charts.charts(facts),
        legend=report_charts.legend(facts),
        style=Markup(style),
        style_hash=digest,
    )  # fmt: skip


def record(facts: Facts) -> dict[str, object]:
    """For `--json`: the best of each device, what it cost, and every attempt."""
    return {
        "task": facts.task.name,
        "task_hash": facts.task_hash,
        "main": facts.main,
        "best": [
            {
                "device": best.device,
                "label": str(best.judged.label),
                "speedup": best.timing.speedup,
                "interval": (best.timing.low, best.timing.high),
                "device_us": best.timing.device_us,
                "baseline": best.timing.baseline,
                "baseline_us": best.timing.baseline_us,
                "runner": best.verdict.runner,
                "tag": best.tag,
                "facts": dict(best.facts),
            }
            for best in facts.best
        ],
        "attempts": [entry.row.record() for entry in facts.entries],
        "usd": facts.spent.usd,
        "tokens": facts.spent.tokens,
        "not_believed": facts.strangers,
        "remarks": facts.remarks,
    }


def _environment(project: Project) -> jinja2.Environment:
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"date": _date, "diff": _diff_lines, "interval": interval_text}
    found.globals["believes"] = project.believes
    return found


def _shown(value: object) -> object:
    """Everything that the template prints passes here before it is escaped."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _date(at: int) -> str:
    """UTC; "" where a note of a stranger holds no date."""
    try:
        return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return ""


def _diff_lines(lines: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """(element, text) of each line: "ins", "del", "b" for places, "" for context."""
    in_head = True
    for line in lines:
        in_head = line.startswith("diff ") or (in_head and not line.startswith("@@"))
        if in_head or line.startswith("@@"):
            yield "b", line
        else:
            yield {"+": "ins", "-": "del"}.get(line[:1], ""), line
