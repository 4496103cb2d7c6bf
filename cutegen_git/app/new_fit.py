"""Expressions over axes for sizes seen at probes: 7, M, 2*M+1, M+N, 3*M*N, (M-1)//2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

Axes = Mapping[str, int]
_OFFSETS = sorted(range(-300, 301), key=abs)
_DIVISORS = range(2, 17)


@dataclass(frozen=True, slots=True)
class Probe:
    """The sizes of every dimension of every tensor, in order, at these axes."""

    axes: Axes
    sizes: tuple[int, ...]


def fit(nth: int, base: Probe, alone: Mapping[str, Sequence[Probe]], others: Sequence[Probe]) -> str | None:
    """The expression for size `nth`; None if none of these forms holds at every probe.

    `alone[axis]` are probes that differ from `base` in that axis only; `others` differ in all of them.
    """
    every = [base, *(probe for probes in alone.values() for probe in probes), *others]
    known = [(probe.axes, probe.sizes[nth]) for probe in every]
    start = base.sizes[nth]
    moving = [axis for axis, probes in alone.items() if any(probe.sizes[nth] != start for probe in probes)]
    if not moving:
        return str(start) if all(size == start for _, size in known) else None
    slopes = {axis: _slope(axis, nth, base, alone[axis]) for axis in moving}
    return (
        _linear(slopes, known)
        or _product(moving, known)
        or (_halved(moving[0], known) if len(moving) == 1 else None)
    )


def moves(nth: int, base: Probe, alone: Mapping[str, Sequence[Probe]]) -> list[str]:
    """The axes that size `nth` depends on."""
    start = base.sizes[nth]
    return [axis for axis, probes in alone.items() if any(probe.sizes[nth] != start for probe in probes)]


def _slope(axis: str, nth: int, base: Probe, probes: Sequence[Probe]) -> int | None:
    far = max(probes, key=lambda probe: abs(probe.axes[axis] - base.axes[axis]))
    slope, rest = divmod(far.sizes[nth] - base.sizes[nth], far.axes[axis] - base.axes[axis])
    return slope if rest == 0 else None


def _linear(slopes: Mapping[str, int | None], known: Sequence[tuple[Axes, int]]) -> str | None:
    factors = {axis: slope for axis, slope in slopes.items() if slope}
    if len(factors) != len(slopes) or max(factors.values()) < 0:
        return None

    def without_offset(axes: Axes) -> int:
        return sum(factor * axes[axis] for axis, factor in factors.items())

    offsets = {size - without_offset(axes) for axes, size in known}
    if len(offsets) != 1:
        return None
    terms = sorted(factors.items(), key=lambda item: item[1] < 0)
    text = "".join(_term(factor, axis, first=nth == 0) for nth, (axis, factor) in enumerate(terms))
    return text + _offset(offsets.pop())


def _product(moving: Sequence[str], known: Sequence[tuple[Axes, int]]) -> str | None:
    products = [prod(axes[axis] for axis in moving) for axes, _ in known]
    low, high = products.index(min(products)), products.index(max(products))
    factor, rest = divmod(known[high][1] - known[low][1], max(products[high] - products[low], 1))
    if rest or factor <= 0:
        return None
    offsets = {size - factor * product for (_, size), product in zip(known, products, strict=True)}
    if len(offsets) != 1:
        return None
    return _term(factor, "*".join(moving), first=True) + _offset(offsets.pop())


def _halved(axis: str, known: Sequence[tuple[Axes, int]]) -> str | None:
    for divisor in _DIVISORS:
        for offset in _OFFSETS:
            if all((axes[axis] + offset) // divisor == size for axes, size in known):
                inner = f"{axis}{_offset(offset)}"
                return f"{f'({inner})' if offset else inner}//{divisor}"
    return None


def _term(factor: int, name: str, *, first: bool) -> str:
    sign = "-" if factor < 0 else "" if first else "+"
    return f"{sign}{name}" if abs(factor) == 1 else f"{sign}{abs(factor)}*{name}"


def _offset(offset: int) -> str:
    return f"{offset:+d}" if offset else ""
