"""Records as lines for people: one way of writing a verdict, a time, a price and a table, for every command."""

from __future__ import annotations

from collections.abc import Sequence

from cutegen_git.words.verdict import Timing, Verdict


def verdict_line(label: str, verdict: Verdict) -> str:
    """One line: `0006  passed  0.93x [0.92, 0.94] on h200: 2880.1 us, torch eager 2681.9 us`."""
    text = f"{label}  {verdict.outcome.value}"
    if verdict.timing:
        text += f"  {timing_text(verdict.timing, verdict.device)}"
    elif verdict.why:
        text += f": {verdict.why}"
    return text


def timing_text(timing: Timing, device: str) -> str:
    """`0.93x [0.92, 0.94] on h200: 2880.1 us, torch eager 2681.9 us`."""
    return (
        f"{timing.speedup:.2f}x [{timing.low:.2f}, {timing.high:.2f}] on {device}: "
        f"{timing.device_us:.1f} us, torch {timing.baseline} {timing.baseline_us:.1f} us"
    )


def usd(amount: float | None) -> str:
    """`$0.0123`; "price unknown" for None, which is never nothing."""
    return "price unknown" if amount is None else f"${amount:.4f}"


def duration(seconds: float) -> str:
    """`12.3 s`, `4 min 05 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60):02d} s"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns of text, padded, two blanks apart; the last column is not padded."""
    if not rows:
        return ""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
