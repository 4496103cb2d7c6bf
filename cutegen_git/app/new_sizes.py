"""Small, odd sizes for the check workloads: no multiples of a tile, a tile and one more, one alone, one long axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from math import prod

from cutegen_git.core.shapes import shape_of
from cutegen_git.judge.reference import Reference
from cutegen_git.words.errors import TaskError

Axes = Mapping[str, int]
# One row a workload; an axis takes the number at its place in the signature.
PATTERNS: Sequence[Sequence[int]] = (
    (7, 11, 5, 13, 3),
    (65, 33, 17, 9, 31),
    (1, 131, 67, 19, 33),
)
SHORT = (3, 9, 7, 5)
ALONE: Sequence[int] = (1, 3, 7, 33, 1031)  # where there is one axis
LONG = 1031
LIMIT_ELEMENTS = 300_000  # of all tensors together: a check runs on an emulator too
LIMIT_ALONE = 2_000_000  # where one axis cannot shrink the rest
_GROWTH = (1, 2, 3, 5, 8, 13, 24, 48, 96)


def choose(reference: Reference, axes: Axes, steps: Mapping[str, int]) -> list[dict[str, int]]:
    """The sizes of the check workloads, each of them tried; [] where the task has no axes.

    An axis is never made larger than its rank size, and never below what the reference runs at.
    """
    if not axes:
        return []
    found: list[dict[str, int]] = []
    for row in _rows(reference, list(axes)):
        sizes = _fitting(reference, axes, steps, row)
        if sizes and sizes not in found:
            found.append(sizes)
    if not found:
        raise TaskError("reference.py runs at no small size; state check sizes with --check")
    return found


def _rows(reference: Reference, names: Sequence[str]) -> list[dict[str, int]]:
    if len(names) == 1:
        return [{names[0]: size} for size in ALONE]
    rows = [dict(zip(names, islice(cycle(row), len(names)), strict=True)) for row in PATTERNS]
    return [
        *rows,
        {**dict(zip(names, islice(cycle(SHORT), len(names)), strict=True)), _summed(reference, names): LONG},
    ]


def _summed(reference: Reference, names: Sequence[str]) -> str:
    """The axis that sums run over: no result is longer for it. Else the last one."""
    base = dict.fromkeys(names, 96)
    try:
        results = _result_shapes(reference, base)
        silent = [name for name in names if _result_shapes(reference, {**base, name: 192}) == results]
    except TaskError:
        return names[-1]
    return (silent or names)[-1]


def _result_shapes(reference: Reference, axes: Axes) -> list[tuple[int, ...]]:
    return [shape_of(spec, {}) for spec in reference.signature(axes).outputs]


def _fitting(
    reference: Reference, axes: Axes, steps: Mapping[str, int], wanted: Mapping[str, int]
) -> dict[str, int] | None:
    """The wanted sizes, moved as little as is needed for the reference to run there."""
    for growth in _GROWTH:
        sizes = {name: _odd(wanted[name] * growth, steps[name], axes[name]) for name in axes}
        for name in _smallest_first(sizes):
            if runs(reference, sizes):
                break
            sizes[name] = _odd(sizes[name] + 2 * steps[name], steps[name], axes[name])
        if runs(reference, sizes):
            return _shrunk(reference, sizes, steps)
    return None


def _smallest_first(sizes: Mapping[str, int]) -> list[str]:
    return sorted(sizes, key=lambda name: sizes[name])


def _odd(size: int, step: int, most: int) -> int:
    """An odd multiple of the step near the size."""
    count = max(min(size, most) // step, 1)
    if count % 2 == 0:
        count += 1 if (count + 1) * step <= most else -1
    return step * count


def _shrunk(reference: Reference, sizes: dict[str, int], steps: Mapping[str, int]) -> dict[str, int]:
    """Halved along its longest axes until it is small enough to be checked anywhere, as long as it still runs."""
    rest = elements(reference, dict(steps)) if len(sizes) == 1 and runs(reference, dict(steps)) else 0
    limit = LIMIT_ALONE if rest > LIMIT_ELEMENTS // 4 else LIMIT_ELEMENTS
    while elements(reference, sizes) > limit:
        for name in sorted(sizes, key=lambda axis: -sizes[axis]):
            smaller = {**sizes, name: _odd(sizes[name] // 2, steps[name], sizes[name])}
            if smaller != sizes and runs(reference, smaller):
                break
        else:
            return sizes
        sizes = smaller
    return sizes


def elements(reference: Reference, axes: Axes) -> int:
    """Elements of all tensors at these sizes."""
    signature = reference.signature(axes)
    return sum(prod(shape_of(spec, {})) for spec in (*signature.tensors(), *signature.outputs))


def runs(reference: Reference, axes: Axes) -> bool:
    """Whether the reference runs there on data, with a result that is not empty and finite."""
    try:
        signature = reference.signature(axes)
        if any(0 in shape_of(spec, {}) for spec in (*signature.tensors(), *signature.outputs)):
            return False
        if elements(reference, axes) > 40 * LIMIT_ELEMENTS:
            return True  # too large to try here
        results = reference.run(reference.inputs(axes, seed=1), axes)
    except TaskError:
        return False
    return all(bool(result.isfinite().all()) for result in results if result.is_floating_point())
