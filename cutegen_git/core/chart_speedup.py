"""Speedup over attempts, with intervals, per path: what was reached, when, and how surely."""

from __future__ import annotations

from collections.abc import Sequence

from .chart import Dot, Frame, State, cross, line, log_y, marker, svg, tag, text, ticks
from .chart_text import escape

_TOP, _PLOT, _STRIP, _FOOT = 20.0, 230.0, 24.0, 20.0


def speedup_svg(
    dots: Sequence[Dot], width: float, baseline: str, *, class_: str = "", plot: float = _PLOT
) -> str:
    """The chart; "" where nothing was timed. `baseline` names what 1.0 stands for."""
    values = [dot.value for dot in dots if dot.value]
    if not values:
        return ""
    frame, bottom = Frame(width, len(dots)), _TOP + plot
    # What a stranger claims must not press everything else flat: it is cut at the edge.
    scale = [dot.value for dot in dots if dot.value and dot.believed] or values
    low, high = min([1.0, *(v[0] for v in scale)]), max([1.0, *(v[2] for v in scale)])
    limits = (low / (high / low * 1.02) ** 0.08, high * (high / low * 1.02) ** 0.1)
    parts = [
        *_axis(frame, limits, bottom),
        *_best_lines(frame, dots, limits, bottom),
        *_torch(frame, log_y(1.0, limits, _TOP, bottom), baseline),
        *(_point(frame, n, dot, limits, bottom) for n, dot in enumerate(dots)),
        *_best_label(frame, dots, limits, bottom),
        *_attempt_labels(frame, dots, bottom + _STRIP + 14),
        text(frame.width - frame.right, bottom + _STRIP + 14, "attempt", class_="mute", anchor="end")
        if frame.x(len(dots) - 1) < width - 90
        else "",
    ]
    best = max(v[1] for v in scale)
    name = (
        f"Speedup of {len(values)} timed attempts of {len(dots)} against {baseline}; the best is {best:.2f}x."
    )
    return svg(width, bottom + _STRIP + _FOOT, name, *parts, class_=class_)


def _axis(frame: Frame, limits: tuple[float, float], bottom: float) -> list[str]:
    end = frame.width - frame.right
    parts = []
    for value in ticks(*limits):
        y = log_y(value, limits, _TOP, bottom)
        if abs(value - 1) > 1e-9:
            parts.append(line(frame.left, y, end, y, "grid"))
        parts.append(text(frame.left - 8, y + 4, f"{value:g}x", class_="tick", anchor="end"))
    return [*parts, line(frame.left, bottom + 0.5, end, bottom + 0.5, "axis")]


def _torch(frame: Frame, y: float, baseline: str) -> list[str]:
    end = frame.width - frame.right
    return [line(frame.left, y, end, y, "one"), text(end, y + 14, baseline, class_="mute halo", anchor="end")]


def _best_lines(frame: Frame, dots: Sequence[Dot], limits: tuple[float, float], bottom: float) -> list[str]:
    """Per path the best so far, as steps."""
    parts = []
    for series in sorted({dot.series for dot in dots if dot.value}):
        best, data = 0.0, ""
        for n, dot in enumerate(dots):
            if dot.series == series and dot.value and dot.believed and dot.value[1] > best:
                best = dot.value[1]
                y = log_y(best, limits, _TOP, bottom)
                data += f"M{frame.x(n):.2f} {y:.2f}" if not data else f"H{frame.x(n):.2f}V{y:.2f}"
        if data:
            last = max(n for n, dot in enumerate(dots) if dot.series == series)
            parts.append(tag("path", d=f"{data}H{frame.x(last):.2f}", class_=f"step p{series % 6}"))
    return parts


def _point(frame: Frame, index: int, dot: Dot, limits: tuple[float, float], bottom: float) -> str:
    """A timed attempt at its height; any other as a small sign in the strip below the axis."""
    x, r = frame.x(index), frame.radius
    title = tag("title", escape(dot.name))
    if dot.value is None:
        return tag("g", title, strip_sign(dot.state, x, bottom + _STRIP / 2, r))
    low, value, high = (log_y(min(max(v, limits[0]), limits[1]), limits, _TOP, bottom) for v in dot.value)
    names = ("" if dot.believed else "claimed ") + ("main" if dot.on_main else "")
    return tag(
        "g",
        title,
        line(x, low, x, high, f"whisker p{dot.series % 6}"),
        marker(dot.series, x, value, r + (1.2 if dot.on_main else 0), names),
    )


def strip_sign(state: State, x: float, y: float, radius: float) -> str:
    """The sign of an attempt without a time."""
    if state is State.FAILED:
        return cross(x, y, radius, "failed")
    if state is State.IDLE:
        return line(x - 0.8 * radius, y, x + 0.8 * radius, y, "idle")
    return tag("circle", cx=float(x), cy=float(y), r=float(0.85 * radius), class_="open")


def _best_label(frame: Frame, dots: Sequence[Dot], limits: tuple[float, float], bottom: float) -> list[str]:
    timed = [(dot.value[1], -n) for n, dot in enumerate(dots) if dot.value and dot.believed]
    if not timed:
        return []
    value, place = max(timed)
    index = -place
    dot = dots[index]
    assert dot.value is not None
    y = log_y(dot.value[2], limits, _TOP, bottom) - 8
    x, late = frame.x(index), frame.x(index) > frame.width - 110
    return [
        text(
            x + (4 if late else -4),
            y,
            f"{dot.label}  {value:.2f}x",
            class_="best halo",
            anchor="end" if late else "start",
        )
    ]


def _attempt_labels(frame: Frame, dots: Sequence[Dot], y: float) -> list[str]:
    return [text(frame.x(n), y, dots[n].label, class_="tick", anchor="middle") for n in frame.labelled()]
