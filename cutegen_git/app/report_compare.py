"""Two attempts side by side, for `show A B`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cutegen_git.core.history import Judged
from cutegen_git.words.verdict import Resources, Timing, Verdict

from .project import Project
from .story import Row, interval_text


@dataclass(frozen=True, slots=True)
class Line:
    """One fact of both."""

    name: str
    left: str
    right: str
    change: str = ""  # from left to right


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that `show A B` prints."""

    lines: tuple[Line, ...]
    remark: str  # what the numbers do and do not say
    diff: str  # of kernel/, from A to B


def compare(project: Project, left: Row, right: Row) -> Comparison:
    """Both with their verdicts on one device where there is one that judged both."""
    one, two = _pair(project, left, right)
    lines = [
        Line("intent", left.commit.attempt.subject, right.commit.attempt.subject),
        Line("move", _move(left), _move(right)),
        Line("model", left.commit.attempt.model, right.commit.attempt.model),
        Line("outcome", _outcome(left, one), _outcome(right, two)),
        *_times(one, two),
        *_resources(one, two),
        Line("cost", _cost(left), _cost(right)),
        Line("tokens", _tokens(left), _tokens(right)),
    ]
    diff = project.repo.diff(left.commit.id, right.commit.id, ("kernel",))
    return Comparison(tuple(line for line in lines if line.left or line.right), _remark(one, two), diff)


def _pair(project: Project, left: Row, right: Row) -> tuple[Verdict | None, Verdict | None]:
    """The verdicts to hold against each other: on the home device, else on one that timed both."""
    for device in (project.task.device, *sorted({v.device for v in left.counted})):
        one, two = (Judged(row.commit, row.counted).on(device) for row in (left, right))
        if one and two and one.timing and two.timing:
            return one, two
    return left.verdict, right.verdict


def _move(row: Row) -> str:
    attempt = row.commit.attempt
    origin = f", from {row.parent}" if row.parent else ""
    return f"{attempt.move} on {attempt.path}{origin}" if attempt.path else f"{attempt.move}{origin}"


def _outcome(row: Row, verdict: Verdict | None) -> str:
    if row.commit.attempt.outcome or verdict is None:
        return row.outcome
    claimed = "" if row.believed else " (claimed)"
    return (
        f"{verdict.outcome.value} on {verdict.device}{claimed}" if verdict.device != "none" else row.outcome
    )


def _times(one: Verdict | None, two: Verdict | None) -> list[Line]:
    left, right = one.timing if one else None, two.timing if two else None
    facts: Sequence[tuple[str, Callable[[Timing], float], Callable[[Timing], str]]] = (
        ("speedup", lambda t: t.speedup, lambda t: f"{t.speedup:.2f}x {interval_text(t)}"),
        ("device time", lambda t: t.device_us, lambda t: f"{t.device_us:.1f} us"),
        ("call time", lambda t: t.call_us, lambda t: f"{t.call_us:.1f} us"),
        ("torch", lambda t: t.baseline_us, lambda t: f"{t.baseline} {t.baseline_us:.1f} us"),
    )
    comparable = one is not None and two is not None and one.device == two.device
    lines = []
    for name, value, text in facts:
        share = 100 * (value(right) / value(left) - 1) if left and right and comparable else 0.0
        change = f"{share:+.1f} %" if abs(share) >= 0.05 else ""
        lines.append(Line(name, text(left) if left else "", text(right) if right else "", change))
    return lines


def _resources(one: Verdict | None, two: Verdict | None) -> list[Line]:
    left, right = one.resources if one else None, two.resources if two else None
    facts: Sequence[tuple[str, Callable[[Resources], int], str]] = (
        ("registers", lambda r: r.registers, ""),
        ("static smem", lambda r: r.smem_bytes, " B"),
        ("spills", lambda r: r.spill_bytes, " B"),
    )
    lines = []
    for name, value, unit in facts:
        change = f"{value(right) - value(left):+d}{unit}" if left and right else ""
        texts = [f"{value(side)}{unit}" if side else "" for side in (left, right)]
        lines.append(Line(name, texts[0], texts[1], "" if change.startswith("+0") else change))
    return lines


def _cost(row: Row) -> str:
    cost = row.commit.attempt.spend.cost_usd
    if row.commit.attempt.move == "person":
        return ""
    return "price unknown" if cost is None else f"${cost:.4f}"


def _tokens(row: Row) -> str:
    spend = row.commit.attempt.spend
    if spend.tokens_in is None and spend.tokens_out is None:
        return ""
    shown = ["?" if count is None else str(count) for count in (spend.tokens_in, spend.tokens_out)]
    return f"{shown[0]} in, {shown[1]} out"


def _remark(one: Verdict | None, two: Verdict | None) -> str:
    left, right = one.timing if one else None, two.timing if two else None
    if not (one and two and left and right):
        return ""
    if one.device != two.device:
        return f"timed on different devices, {one.device} and {two.device}: the times cannot be compared"
    if left.low <= right.high and right.low <= left.high:
        return "the intervals of the speedups overlap: no difference is shown"
    return f"the intervals of the speedups do not overlap; {'the second' if right.speedup > left.speedup else 'the first'} is faster"
