"""Which attempt was made from which, on the same x axis as the speedups. What led to main is drawn strong."""

from __future__ import annotations

from collections.abc import Sequence

from .chart import Dot, Frame, State, line, marker, svg, tag
from .chart_lanes import lanes
from .chart_speedup import strip_sign
from .chart_text import escape

_PAD, _GAP = 12.0, 16.0


def graph_svg(dots: Sequence[Dot], width: float, *, class_: str = "") -> str:
    """The graph; "" where there is no attempt."""
    if not dots:
        return ""
    frame = Frame(width, len(dots))
    places = lanes([dot.parent for dot in dots])
    depth = max(place.lane for place in places) + 1
    gap = _GAP if depth <= 14 else max(5.0, 14 * _GAP / depth)
    heights = [_PAD + place.lane * gap for place in places]
    spine = _spine(dots)
    edges = [
        _edge(frame, (dot.parent, n), (heights[dot.parent], heights[n]), strong=n in spine)
        for n, dot in enumerate(dots)
        if dot.parent is not None
    ]
    edges.sort(key=lambda edge: "spine" in edge)
    nodes = [_node(frame, n, dot, heights[n]) for n, dot in enumerate(dots)]
    roots = sum(dot.parent is None for dot in dots)
    name = f"{len(dots)} attempts, {roots} of them from scratch, each joined to the one it was made from."
    return svg(width, 2 * _PAD + (depth - 1) * gap, name, *edges, *nodes, class_=class_)


def _spine(dots: Sequence[Dot]) -> set[int]:
    """The attempt on main and everything before it."""
    here: int | None = next((n for n, dot in enumerate(dots) if dot.on_main), None)
    found: set[int] = set()
    while here is not None:
        found.add(here)
        here = dots[here].parent
    return found


def _edge(frame: Frame, ends: tuple[int, int], heights: tuple[float, float], *, strong: bool) -> str:
    """Along the parent's lane, then down to the child's."""
    (x1, x2), (y1, y2) = (frame.x(ends[0]), frame.x(ends[1])), heights
    names = "edge spine" if strong else "edge"
    if y1 == y2:
        return line(x1, y1, x2, y2, names)
    away = min(frame.pitch, 22.0)
    turn, knee = x2 - away, x2 - away / 2
    bend = f"M{x1:.2f} {y1:.2f}H{turn:.2f}C{knee:.2f} {y1:.2f} {knee:.2f} {y2:.2f} {x2:.2f} {y2:.2f}"
    return tag("path", d=bend, class_=names)


def _node(frame: Frame, index: int, dot: Dot, y: float) -> str:
    x, r = frame.x(index), frame.radius
    if dot.state is State.PASSED:
        sign = marker(
            dot.series,
            x,
            y,
            r + (1.2 if dot.on_main else 0),
            ("main " if dot.on_main else "") + ("" if dot.believed else "claimed"),
        )
    else:
        back = tag("circle", cx=float(x), cy=float(y), r=float(r), class_="back")
        sign = back + strip_sign(dot.state, x, y, r)
    return tag("a", tag("title", escape(dot.name)), sign, href=f"#a{dot.label}", tabindex="-1")
