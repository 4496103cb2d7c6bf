"""The charts of a report: from its facts to SVG, each for a wide and for a narrow page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from cutegen_git.core import roofline
from cutegen_git.core.chart import Dot, State, marker, svg
from cutegen_git.core.chart_graph import graph_svg
from cutegen_git.core.chart_rate import Bar, rate_svg
from cutegen_git.core.chart_speedup import speedup_svg
from cutegen_git.words.verdict import Outcome, Verdict

from .report_facts import Best, Entry, Facts
from .story import interval_text

_WIDE, _NARROW = 1120.0, 348.0
_LEAST_PITCH = 4.5  # below this a chart grows wider than the page and scrolls


@dataclass(frozen=True, slots=True)
class Chart:
    """One picture in two sizes."""

    title: str
    note: str
    wide: Markup
    narrow: Markup


@dataclass(frozen=True, slots=True)
class Legend:
    """One path's name and sign."""

    path: str
    sign: Markup


def charts(facts: Facts) -> list[Chart]:
    """Speedups a device, the graph, and memory rates where they can be known."""
    found = [_speedup(facts, best) for best in facts.best]
    if facts.entries:
        dots = _dots(facts, None)
        wide, narrow = (
            Markup(graph_svg(dots, _width(size, dots), class_="graph")) for size in (_WIDE, _NARROW)
        )
        note = "Each attempt is joined to the one it was made from. The strong line leads to main."
        found.append(Chart("Attempts by parent", note, wide, narrow))
    found += [chart for best in facts.best if (chart := _rate(facts, best))]
    return found


def legend(facts: Facts) -> list[Legend]:
    """The paths, where there is more than one."""
    if len(facts.paths) < 2:
        return []
    signs = [
        Markup(svg(12, 12, path, marker(n, 6, 6, 3.6), class_="sign")) for n, path in enumerate(facts.paths)
    ]
    return [Legend(path or "no path", sign) for path, sign in zip(facts.paths, signs, strict=True)]


def _width(least: float, dots: Sequence[Dot]) -> float:
    return max(least, 64 + _LEAST_PITCH * len(dots))


def _speedup(facts: Facts, best: Best) -> Chart:
    dots = _dots(facts, best)
    torch = f"torch {best.timing.baseline}"
    wide = speedup_svg(dots, _width(_WIDE, dots), torch)
    narrow = speedup_svg(dots, _width(_NARROW, dots), torch, plot=170)
    note = (
        "Each dot is one attempt with its 95 % interval, the line the best so far"
        f"{' of its path' if len(facts.paths) > 1 else ''}. Below the axis: \u00d7 refused, \u2013 no kernel, \u25cb not judged."
    )
    return Chart(f"Speedup over {torch} on {best.device}", note, Markup(wide), Markup(narrow))


def _dots(facts: Facts, best: Best | None) -> list[Dot]:
    return [_dot(facts, entry, best) for entry in facts.entries]


def _dot(facts: Facts, entry: Entry, best: Best | None) -> Dot:
    row, attempt = entry.row, entry.row.commit.attempt
    verdict, counts = row.on(best.device) if best and row.current else (row.verdict, row.believed)
    timing = verdict.timing if verdict and row.current and not attempt.outcome else None
    told = f"{timing.speedup:.2f}x {interval_text(timing)}" if timing else row.outcome
    return Dot(
        label=row.label,
        name=f"{row.label} {attempt.subject}\n{told}",
        state=_state(attempt.outcome, verdict),
        series=facts.paths.index(attempt.path),
        parent=entry.parent,
        value=(timing.low, timing.speedup, timing.high) if timing else None,
        on_main=row.standing == "main",
        believed=counts,
    )


def _state(idle: str | None, verdict: Verdict | None) -> State:
    if idle:
        return State.IDLE
    if verdict is None or not verdict.outcome.is_about_kernel:
        return State.OPEN
    return State.PASSED if verdict.outcome is Outcome.PASSED else State.FAILED


def _rate(facts: Facts, best: Best) -> Chart | None:
    """Torch, the first attempt that passed, and the best of each path."""
    stated, moved = roofline.STATED_GB_S.get(best.device), facts.rate_bytes
    if not stated or not moved:
        return None
    bars = [Bar(f"torch {best.timing.baseline}", moved / best.timing.baseline_us / 1e3, None)]
    for dot, us in _milestones(facts, best):
        bars.append(Bar(dot.label, moved / us / 1e3, dot.series))
    wide, narrow = (Markup(rate_svg(bars, stated, width)) for width in (_WIDE, _NARROW))
    note = (
        f"{moved / 2**20:,.0f} MiB must be read and written once; by device time that gives a rate."
        " Nothing is known of the arithmetic, so this is a roofline with one roof."
    )
    return Chart(f"Memory rate on {best.device}", note, wide, narrow)


def _milestones(facts: Facts, best: Best) -> list[tuple[Dot, float]]:
    """The first and each path's fastest attempt with its microseconds, by label."""
    timed = [dot for dot in _dots(facts, best) if dot.value and dot.believed]
    tops = [max((dot for dot in timed if dot.series == n), key=_value) for n in {dot.series for dot in timed}]
    times = {entry.row.label: _us(entry, best.device) for entry in facts.entries}
    chosen = {dot.label: dot for dot in (*timed[:1], *tops)}
    return [(dot, us) for label, dot in sorted(chosen.items()) if (us := times[label])]


def _value(dot: Dot) -> float:
    return dot.value[1] if dot.value else 0.0


def _us(entry: Entry, device: str) -> float | None:
    verdict, _ = entry.row.on(device)
    return verdict.timing.device_us if verdict and verdict.timing else None
