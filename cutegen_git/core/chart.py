"""What every chart of a report is made of: SVG text from numbers. Colours are the page's, by class name.

No chart has a script, a style attribute or a link to anything outside, so that a page's policy can forbid them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from .chart_text import escape

SERIES = 6  # colours of paths, p0 to p5; they repeat


class State(str, Enum):
    """How an attempt is drawn."""

    PASSED = "passed"
    FAILED = "failed"  # the kernel's fault
    IDLE = "idle"  # the reply gave no kernel
    OPEN = "open"  # not judged


@dataclass(frozen=True, slots=True)
class Dot:
    """One attempt in a chart."""

    label: str  # "0012"
    name: str  # the tooltip
    state: State
    series: int  # number of its path
    parent: int | None  # index among the dots
    value: tuple[float, float, float] | None  # low, speedup, high; None where it was not timed
    on_main: bool = False
    believed: bool = True


@dataclass(frozen=True, slots=True)
class Frame:
    """The x axis that all charts of a page share: one attempt, one place."""

    width: float  # of the whole chart
    count: int  # attempts
    left: float = 46
    right: float = 18

    def x(self, index: int) -> float:
        """Centre of an attempt's place; few attempts do not spread over the whole width."""
        return self.left + (index + 0.5) * self.pitch

    @property
    def pitch(self) -> float:
        return min(140.0, (self.width - self.left - self.right) / max(1, self.count))

    @property
    def radius(self) -> float:
        """Of a dot: smaller where they stand close."""
        return max(1.6, min(4.2, 0.42 * self.pitch))

    def labelled(self, least_px: float = 34) -> list[int]:
        """The indices that have room for a label."""
        step = max(1, math.ceil(least_px / self.pitch))
        nice = next((n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500) if n >= step), step)
        return list(range(0, self.count, nice))


def tag(kind: str, *inner: str, **attributes: str | float) -> str:
    """An element; `inner` is SVG already, attributes are escaped. `class_` and `stroke_width` as in Python."""
    words = [kind]
    for name, value in attributes.items():
        text = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
        words.append(f'{name.rstrip("_").replace("_", "-")}="{escape(text)}"')
    return f"<{' '.join(words)}>{''.join(inner)}</{kind}>" if inner else f"<{' '.join(words)}/>"


def text(x: float, y: float, content: str, *, class_: str = "", anchor: str = "start") -> str:
    """A line of text."""
    extra = {"class_": class_} if class_ else {}
    return tag("text", escape(content), x=float(x), y=float(y), text_anchor=anchor, **extra)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    return tag("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=class_)


def svg(width: float, height: float, name: str, *inner: str, class_: str = "") -> str:
    """The whole chart, with its name for those who do not see it."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    return f'{head} class="chart {class_}" role="img" aria-label="{escape(name)}">{"".join(inner)}</svg>'


def marker(series: int, x: float, y: float, radius: float, class_: str = "") -> str:
    """A dot whose form, too, tells the path: circle, square, diamond, triangle."""
    r, names = radius, f"dot p{series % SERIES} {class_}".strip()
    form = series % 4
    if form == 0:
        return tag("circle", cx=float(x), cy=float(y), r=float(r), class_=names)
    corners = {
        1: ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
        2: ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
        3: ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
    }[form]
    points = " ".join(f"{x + dx * r:.2f},{y + dy * r:.2f}" for dx, dy in corners)
    return tag("polygon", points=points, class_=names)


def cross(x: float, y: float, radius: float, class_: str) -> str:
    r = 0.8 * radius
    data = f"M{x - r:.2f} {y - r:.2f}l{2 * r:.2f} {2 * r:.2f}m0 {-2 * r:.2f}l{-2 * r:.2f} {2 * r:.2f}"
    return tag("path", d=data, class_=class_)


def ticks(low: float, high: float) -> list[float]:
    """Four to nine round numbers between two positive ones, for a logarithmic axis."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in (
        (1,),
        (1, 3),
        (1, 2, 5),
        (1, 1.5, 2, 3, 5, 7),
        (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9),
    ):
        found = [step * 10.0**decade for decade in decades for step in steps]
        inside = [value for value in found if low <= value <= high]
        if len(inside) >= 4:
            return inside[:: math.ceil(len(inside) / 9)]
    return _even_ticks(low, high)


def _even_ticks(low: float, high: float) -> list[float]:
    rough = (high - low) / 4
    unit = 10.0 ** math.floor(math.log10(rough))
    step = max((n * unit for n in (2, 5) if n * unit <= rough), default=unit)
    first = math.ceil(low / step)
    return [round(n * step, 9) for n in range(first, math.floor(high / step) + 1)]


def log_y(value: float, limits: Sequence[float], top: float, bottom: float) -> float:
    """The height of a value on a logarithmic axis."""
    share = (math.log(value) - math.log(limits[0])) / (math.log(limits[1]) - math.log(limits[0]))
    return bottom - share * (bottom - top)
