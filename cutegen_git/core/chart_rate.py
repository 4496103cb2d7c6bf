"""Memory rates that were reached, against what the data sheet states.

A roofline with one roof: bytes that must be moved are known from the shapes, operations are not, so there is no
axis of intensity and nothing is said of arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .chart import line, svg, tag, text

_ROW, _TOP = 26.0, 22.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One rate."""

    name: str  # "torch eager", "0012"
    gb_s: float  # compulsory bytes by device time
    series: int | None  # number of its path; None for torch


def rate_svg(bars: Sequence[Bar], stated_gb_s: float, width: float, *, class_: str = "") -> str:
    """The chart; "" where no rate is known."""
    if not bars:
        return ""
    left, right = min(150.0, 0.28 * width), 112.0
    reach = (width - left - right) / max(stated_gb_s, *(bar.gb_s for bar in bars))
    height = _TOP + len(bars) * _ROW + 6
    roof = left + stated_gb_s * reach
    parts = []
    for number, bar in enumerate(bars):
        y, long = _TOP + number * _ROW, bar.gb_s * reach
        colour = "torch" if bar.series is None else f"dot p{bar.series % 6}"
        parts += [
            text(left - 10, y + 16, bar.name, class_="name", anchor="end"),
            tag("rect", x=left, y=y + 4, width=float(long), height=_ROW - 10, class_=f"bar {colour}"),
        ]
        where = max(left + long, roof if left + long > roof - 112 else 0) + 8
        parts.append(
            text(where, y + 16, f"{bar.gb_s:.0f} GB/s  {100 * bar.gb_s / stated_gb_s:.0f} %", class_="tick")
        )
    parts += [
        line(roof, _TOP - 4, roof, height - 4, "roof"),
        text(
            roof,
            _TOP - 9,
            f"data sheet {stated_gb_s:g} GB/s",
            class_="mute",
            anchor="middle" if width > 600 else "end",
        ),
    ]
    told = "; ".join(f"{bar.name} {bar.gb_s:.0f} GB/s" for bar in bars)
    return svg(width, height, f"Memory rate reached, of {stated_gb_s:g} GB/s: {told}.", *parts, class_=class_)
