"""Which integers of a reference are axes, and the signature over them. Needs no data: sizes cost nothing.

An integer is an axis where the reference still runs with other values and every shape follows by a formula that
holds at probes which had no part in finding it. What does not qualify keeps its published value.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from cutegen_git.app.new_fit import Probe, fit, moves
from cutegen_git.core.taskfile_signature import usable_name
from cutegen_git.judge.reference import Reference
from cutegen_git.words.errors import TaskError
from cutegen_git.words.task import Signature, TensorSpec

_PRIMES = (101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197)
_STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
# The shape of the operation rather than of its data: a kernel is written for one value.
_SHAPE_OF_OPERATION = re.compile(r"kernel|stride|pad|dilation|group|pool|eps|(^|_)k(size)?($|_)")
_SMALL = 16


@dataclass(frozen=True, slots=True)
class Derived:
    """The signature of a reference over its axes."""

    signature: Signature
    axes: Mapping[str, int]  # the sizes that the file states
    steps: Mapping[str, int]  # an axis must be a multiple of this
    fixed: Mapping[str, str]  # an integer that shapes depend on and that is no axis -> why


class _Prober:
    """Runs the reference without data at chosen sizes."""

    def __init__(self, reference: Reference) -> None:
        self.reference = reference
        self.names: tuple[object, ...] = ()

    def probe(self, axes: Mapping[str, int]) -> Probe | None:
        """The sizes there; None where it does not run, or where tensors come and go."""
        try:
            signature = self.reference.signature(axes)
        except TaskError:
            return None
        tensors = (*signature.tensors(), *signature.outputs)
        names = tuple((spec.dtype, len(spec.shape), spec.constant, spec.layout) for spec in tensors)
        self.names = self.names or names
        if names != self.names:
            return None
        return Probe(dict(axes), tuple(int(size) for spec in tensors for size in spec.shape))


def derive(reference: Reference, axes: Mapping[str, int], *, stated: bool) -> Derived:
    """The axes among `axes`. `stated`: the file says that all are, so TaskError where one is not."""
    prober = _Prober(reference)
    reference.signature(axes if stated else {})
    base = prober.probe(axes if stated else {})
    assert base is not None
    steps, fixed = _alone(prober, axes, base, stated=stated)
    chosen = _together(prober, axes, steps, fixed, stated=stated)
    while True:
        found = _signature(prober, chosen, axes, steps, stated=stated)
        if isinstance(found, Signature):
            odd = _unseen(found) if stated else _no_real_axis(found, axes)
            if odd is None:
                return Derived(found, {n: axes[n] for n in chosen}, {n: steps[n] for n in chosen}, fixed)
            why = "no shape depends on it" if stated else "only a weight or an offset depends on it"
            found = (odd, why)
        if stated:
            raise TaskError(f"reference.py: axis {found[0]}: {found[1]}")
        fixed[found[0]] = found[1]
        chosen = [name for name in chosen if name != found[0]]


def _alone(
    prober: _Prober, axes: Mapping[str, int], base: Probe, *, stated: bool
) -> tuple[dict[str, int], dict[str, str]]:
    """The step of every candidate that may change while the others keep their values."""
    steps: dict[str, int] = {}
    fixed: dict[str, str] = {}
    for name, size in axes.items():
        if not stated and (size < 1 or not usable_name(name)):
            continue
        others = axes if stated else {}
        step, seen = _step(prober, name, size, others)
        if step is None:
            if stated:
                raise TaskError(f"reference.py: axis {name} cannot be anything but {size}")
            if size > 1:
                fixed[name] = "the reference runs with no other value"
        elif all(probe.sizes == base.sizes for probe in seen) and not stated:
            continue  # no shape depends on it: no axis, and nobody misses one
        elif not stated and size <= 2 * _SMALL and _SHAPE_OF_OPERATION.search(name.lower()):
            fixed[name] = "it shapes the operation"
        else:
            steps[name] = step
    return steps, fixed


def _step(prober: _Prober, name: str, size: int, others: Mapping[str, int]) -> tuple[int | None, list[Probe]]:
    for step in _STEPS:
        if step > 1 and (size % step or 2 * step > size):
            continue
        seen = [prober.probe({**others, name: step * prime}) for prime in _PRIMES[:3]]
        good = [probe for probe in seen if probe is not None]
        if len(good) == len(seen):
            return step, good
    return None, []


def _together(
    prober: _Prober, axes: Mapping[str, int], steps: Mapping[str, int], fixed: dict[str, str], *, stated: bool
) -> list[str]:
    """The candidates that may all change at once, taken in the order of the file."""
    chosen: list[str] = []
    for name in steps:
        trial = [*chosen, name]
        if all(
            prober.probe(sizes) for sizes in _random_sizes(trial, steps, count=3, axes=axes, stated=stated)
        ):
            chosen = trial
        elif stated:
            raise TaskError(f"reference.py: axis {name} cannot change independently of {', '.join(chosen)}")
        else:
            fixed[name] = f"it is tied to {', '.join(chosen)}"
    return chosen


def _random_sizes(
    names: Iterable[str], steps: Mapping[str, int], *, count: int, axes: Mapping[str, int], stated: bool
) -> list[dict[str, int]]:
    draw = random.Random(count)
    rest = axes if stated else {}
    names = list(names)
    return [
        {**rest, **{name: steps[name] * prime for name, prime in zip(names, draw.sample(_PRIMES, len(names)), strict=True)}}
        for _ in range(count)
    ]  # fmt: skip


def _signature(
    prober: _Prober, chosen: list[str], axes: Mapping[str, int], steps: Mapping[str, int], *, stated: bool
) -> Signature | tuple[str, str]:
    """The signature over these axes, or the axis that has to go and why."""
    if not chosen:
        return prober.reference.signature({})
    randoms = _random_sizes(chosen, steps, count=6, axes=axes, stated=stated)
    base = prober.probe(randoms[0])
    assert base is not None
    alone: dict[str, list[Probe]] = {}
    for name in chosen:
        near = [{**randoms[0], name: randoms[0][name] + steps[name] * nth} for nth in range(1, 18)]
        alone[name] = [probe for sizes in near if (probe := prober.probe(sizes))]
        if len(alone[name]) < len(near):
            return name, "the reference fails at some sizes"
    others = [probe for sizes in randoms[1:] if (probe := prober.probe(sizes))]
    texts: list[str] = []
    for nth in range(len(base.sizes)):
        text = fit(nth, base, alone, others)
        if text is None:
            guilty = moves(nth, base, alone) or chosen
            return min(guilty, key=lambda name: axes[name]), "a shape follows it by no simple formula"
        texts.append(text)
    return _with_sizes(prober.reference.signature(base.axes), texts, tuple(chosen))


def _with_sizes(signature: Signature, texts: list[str], axes: tuple[str, ...]) -> Signature:
    left = iter(texts)

    def over_axes(spec: TensorSpec) -> TensorSpec:
        return replace(spec, shape=tuple(next(left) for _ in spec.shape))

    inputs = tuple(over_axes(item) if isinstance(item, TensorSpec) else item for item in signature.inputs)
    return Signature(inputs, tuple(over_axes(spec) for spec in signature.outputs), axes)


def _unseen(signature: Signature) -> str | None:
    """An axis that no size mentions."""
    sizes = " ".join(size for spec in (*signature.tensors(), *signature.outputs) for size in spec.shape)
    return next((name for name in signature.axes if not re.search(rf"\b{name}\b", sizes)), None)


def _no_real_axis(signature: Signature, axes: Mapping[str, int]) -> str | None:
    """A small integer that is no plain size of data or result: a kernel's width, a padding."""
    data = [spec for spec in signature.tensors() if not spec.constant]
    given = {size for spec in data for size in spec.shape}
    plain = given | {size for spec in signature.outputs for size in spec.shape}
    weights = {size for spec in signature.tensors() for size in spec.shape}
    for name in signature.axes:
        if axes[name] == 1 and name not in given:
            return name
        if name not in plain and (axes[name] <= _SMALL or name not in weights):
            mentioned = any(re.search(rf"\b{name}\*|\*{name}\b", size) for size in plain)
            if not mentioned:
                return name
    return None
