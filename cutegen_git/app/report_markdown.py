"""The report in brief, for job summaries and pull requests.

Words of models stand in code spans and fences only: there neither HTML, links, mentions nor issue numbers work, so
a subject cannot call people or draw a picture.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from cutegen_git.core.chart_text import visible
from cutegen_git.core.text import usd

from .project import Project
from .report_facts import Best, Entry, Facts, gather
from .story import interval_text

ROWS = 30  # newest attempts in the table
_DIFF_LINES = 200
_PLAIN = re.compile(r"[A-Za-z0-9 -]*")


def markdown(project: Project) -> str:
    """GitHub's markdown, ending in one newline."""
    facts = gather(project)
    blocks = [f"### {span(facts.task.name)}: {_headline(facts)}"]
    blocks += [_sentence(best) for best in facts.best]
    if facts.strangers:
        blocks.append(f"> Claimed and not verified here: what {', '.join(map(span, facts.strangers))} wrote.")
    blocks += [f"> {remark}" for remark in facts.remarks]
    if facts.entries:
        blocks += [_table(facts), _sums(facts)]
    if facts.best:
        blocks += _changed(facts, facts.best[0])
    return "\n\n".join(blocks) + "\n"


def span(text: str) -> str:
    """The text as a code span that nothing in it can leave, also inside a table."""
    one_line = " ".join(visible(text).split())
    ticks = "`" * (_longest_run(one_line) + 1)
    pad = " " if one_line.startswith("`") or one_line.endswith("`") else ""
    return f"{ticks}{pad}{one_line}{pad}{ticks}".replace("|", "\\|") if one_line else ""


def fence(text: str, kind: str = "") -> str:
    """The text as a fenced block that nothing in it can close."""
    ticks = "`" * max(3, _longest_run(text) + 1)
    return f"{ticks}{kind}\n{visible(text)}\n{ticks}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _safe(text: str) -> str:
    """Words of our own stay as they are; anything else becomes a code span."""
    return text if _PLAIN.fullmatch(text) else span(text)


def _headline(facts: Facts) -> str:
    if facts.best:
        best = facts.best[0]
        return f"{best.timing.speedup:.2f}x torch {_safe(best.timing.baseline)} on {_safe(best.device)}"
    return "not measured yet" if facts.entries else "no attempt yet"


def _sentence(best: Best) -> str:
    timing = best.timing
    parts = [
        f"**{timing.speedup:.2f}x** [{timing.low:.3f}, {timing.high:.3f}] on {_safe(best.device_name)}:",
        f"{timing.device_us:.1f} us against torch {_safe(timing.baseline)} {timing.baseline_us:.1f} us,",
        f"attempt {best.judged.label} {span(best.judged.commit.attempt.subject)}.",
        f"{best.sure.capitalize()}.",
        f"Judged by {span(best.verdict.runner)}" + (f", claimed as {span(best.tag)}." if best.tag else "."),
    ]
    return " ".join(parts)


def _table(facts: Facts) -> str:
    shown = facts.entries[-ROWS:]
    lines = ["| attempt | move | outcome | speedup | time | cost | intent |", "|---|---|---|--:|--:|--:|---|"]
    lines += [f"| {' | '.join(_cells(entry))} |" for entry in shown]
    left = len(facts.entries) - len(shown)
    return "\n".join(lines) + (f"\n\n{left} earlier attempts are not shown." if left else "")


def _cells(entry: Entry) -> Sequence[str]:
    row, attempt = entry.row, entry.row.commit.attempt
    timing, cost = row.timing, attempt.spend.cost_usd
    label = f"**{row.label}**" if row.standing == "main" else row.label
    return (
        label + (" main" if row.standing == "main" else ""),
        _safe(attempt.move),
        _safe(row.outcome) + ("" if row.believed else " (claimed)"),
        f"{timing.speedup:.2f}x {interval_text(timing)}" if timing else "",
        f"{timing.device_us:.1f} us" if timing else "",
        "" if cost is None else usd(cost),
        span(attempt.subject),
    )


def _sums(facts: Facts) -> str:
    outcomes = ", ".join(f"{count} {_safe(outcome)}" for outcome, count in facts.outcomes())
    unpriced = f" and {facts.spent.unpriced} replies of unknown price" if facts.spent.unpriced else ""
    return (
        f"{len(facts.entries)} attempts: {outcomes}. "
        f"${facts.spent.usd:.2f}{unpriced}, {facts.spent.tokens:,} tokens, task {facts.task_hash[:12]}."
    )


def _changed(facts: Facts, best: Best) -> list[str]:
    """What the best attempt did, and its diff behind a fold."""
    entry = next(entry for entry in facts.entries if entry.row.commit.id == best.judged.commit.id)
    origin = f" from {entry.row.parent}" if entry.row.parent else ""
    blocks = [f"#### What {entry.row.label} changed{origin}"]
    if body := entry.row.commit.attempt.body:
        blocks.append(fence(body, "text"))
    if entry.diff:
        cut = len(entry.diff) + entry.diff_cut - _DIFF_LINES
        more = f"\n\n{cut} more lines are not shown." if cut > 0 else ""
        diff = fence("\n".join(entry.diff[:_DIFF_LINES]), "diff")
        blocks.append(f"<details><summary>diff</summary>\n\n{diff}{more}\n\n</details>")
    return blocks
