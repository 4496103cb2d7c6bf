"""Wrong answers of the kinds that careless or cheating kernels give, in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial

import torch

from cutegen_git.judge.reference import Reference, Value
from cutegen_git.words.task import Axes, Family, Task

Outputs = tuple[torch.Tensor, ...]
Inputs = Mapping[str, Value]
Mutant = tuple[str, Callable[[], Outputs]]
_DOT_LIKE = (Family.MATMUL, Family.CONV, Family.ATTENTION, Family.FUSED)


@dataclass(frozen=True, slots=True)
class Scene:
    """One set of inputs with the exact results."""

    reference: Reference
    axes: Axes
    values: Inputs
    other: Inputs  # of another seed
    exact: Outputs  # float64

    def exact_of(self, values: Inputs) -> Outputs:
        """The exact results of changed inputs."""
        return self.reference.run64(values, self.axes)


def mutants(scene: Scene, task: Task) -> Iterator[Mutant]:
    """Name and maker of every wrong answer that can be told for these shapes and types."""
    yield from _of_results(scene)
    yield from _of_inputs(scene, task)


def _of_results(scene: Scene) -> Iterator[Mutant]:
    yield "zeros", partial(_each, scene, torch.zeros_like)
    other = cache(partial(scene.exact_of, scene.other))
    yield "another seed's answer", other
    yield "one constant", lambda: tuple(_constant(output) for output in other())
    if any(output.is_floating_point() for output in scene.exact):
        yield "1.02 times the result", partial(_each, scene, lambda right: _times(right, 1.02))
        yield "the result with its sign lost", partial(_each, scene, torch.abs)
    if any(output.ndim and output.numel() > 1 for output in scene.exact):
        yield "first half of the result", partial(_each, scene, _first_half)
        yield "last row missing", partial(_each, scene, partial(_without_last, dimension=0))
        yield "last column missing", partial(_each, scene, partial(_without_last, dimension=-1))
    for name, value in _floats(scene.values).items():
        if all(value.shape == output.shape and output.is_floating_point() for output in scene.exact):
            yield f"a copy of {name}", partial(_each, scene, partial(_copy, value))


def _of_inputs(scene: Scene, task: Task) -> Iterator[Mutant]:
    weights = {spec.name for spec in task.signature.tensors() if spec.constant}
    data = {name: value for name, value in _floats(scene.values).items() if name not in weights}
    halves = {name: _first_half_of_rows(value) for name, value in data.items()}
    ends = {
        name: _without_last(value, -1) for name, value in data.items() if value.ndim and value.shape[-1] > 1
    }
    if data:
        yield "absolute values of the data", _with(scene, {name: value.abs() for name, value in data.items()})
        yield "first half of the data", _with(scene, halves)
        yield "last element of the data missing", _with(scene, ends)
    for name, value in _tensors(scene.values).items():
        plain = (
            torch.ones_like(value) if name.endswith(("weight", "running_var")) else torch.zeros_like(value)
        )
        yield f"{name} ignored", _with(scene, {name: plain})
    floats = _floats(scene.values)
    if task.precision.policy == "float32" and floats:
        yield "bf16 inputs", _with(scene, {n: v.to(torch.bfloat16).to(v.dtype) for n, v in floats.items()})
        if task.family in _DOT_LIKE:
            yield "TF32 inputs", _with(scene, {name: _tf32(value) for name, value in floats.items()})


def _with(scene: Scene, changed: Inputs) -> Callable[[], Outputs]:
    return partial(scene.exact_of, {**scene.values, **changed})


def _each(scene: Scene, change: Callable[[torch.Tensor], torch.Tensor]) -> Outputs:
    return tuple(change(output.clone()) for output in scene.exact)


def _constant(right: torch.Tensor) -> torch.Tensor:
    """The mean of another seed's results: what can be written down without looking at the data."""
    if right.is_floating_point():
        return torch.full_like(right, float(right.mean()))
    return torch.full_like(right, int(right.double().mean().round()))


def _times(right: torch.Tensor, factor: float) -> torch.Tensor:
    return right * factor if right.is_floating_point() else right


def _first_half(right: torch.Tensor) -> torch.Tensor:
    flat = right.reshape(-1)
    flat[flat.numel() // 2 :] = 0
    return flat.reshape(right.shape)


def _first_half_of_rows(value: torch.Tensor) -> torch.Tensor:
    half = value.clone()
    if half.ndim:
        half[..., half.shape[-1] // 2 :] = 0
    return half


def _without_last(value: torch.Tensor, dimension: int) -> torch.Tensor:
    held = value.clone()
    if held.ndim and held.numel():
        held.select(dimension, held.shape[dimension] - 1).zero_()
    return held


def _copy(value: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    return value.double()


def _tf32(value: torch.Tensor) -> torch.Tensor:
    """float32 with 10 bits after the point, rounded to nearest."""
    bits = value.float().contiguous().view(torch.int32)
    return ((bits + 0x1000) & ~0x1FFF).view(torch.float32).to(value.dtype)


def _tensors(values: Inputs) -> dict[str, torch.Tensor]:
    return {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}


def _floats(values: Inputs) -> dict[str, torch.Tensor]:
    return {name: value for name, value in _tensors(values).items() if value.is_floating_point()}
