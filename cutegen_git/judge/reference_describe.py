"""Inputs and results of a reference as specs of a signature, and what may not be among them."""

from __future__ import annotations

from dataclasses import replace

import torch

from cutegen_git.core.shapes import ITEM_BYTES, shape_of
from cutegen_git.judge.reference_forms import Value, Values
from cutegen_git.judge.reference_source import FILE
from cutegen_git.words.errors import TaskError
from cutegen_git.words.task import Axes, ScalarKind, ScalarSpec, Signature, TensorSpec


def raised(value: Value) -> Value:
    """A copy, in float64 where it is a float."""
    if isinstance(value, torch.Tensor):
        return value.to(torch.float64, copy=True) if value.is_floating_point() else value.clone()
    return value


def fits(signature: Signature, inputs: Values) -> bool:
    shapes = {spec.name: shape_of(spec, {}) for spec in signature.tensors()}
    return {item.name for item in signature.inputs} == set(inputs) and all(
        isinstance(value, torch.Tensor) and tuple(value.shape) == shapes[name]
        for name, value in inputs.items()
        if name in shapes
    )


def refuse_random(name: str | None) -> None:
    if name is None:
        return
    if "dropout" in name or "bernoulli" in name or "attention" in name:
        raise TaskError(
            f"{FILE} uses dropout in training mode, so no two runs agree; set its p to 0, or call self.eval() in"
            " Model.__init__"
        )
    raise TaskError(f"{FILE} draws random numbers while it computes ({name}); make them an input")


def spec_of(name: str, tensor: torch.Tensor, constant: bool) -> TensorSpec:
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in ITEM_BYTES:
        raise TaskError(
            f"{FILE}: {name} is {dtype}, which kernels cannot take; known are {', '.join(ITEM_BYTES)}"
        )
    is_col = tensor.ndim >= 2 and not tensor.is_contiguous() and tensor.mT.is_contiguous()
    return TensorSpec(name, dtype, tuple(map(str, tensor.shape)), constant, "col" if is_col else "row")


def scalar_of(name: str, value: float | int | bool) -> ScalarSpec:
    kind = ScalarKind.BOOL if isinstance(value, bool) else ScalarKind.INT if isinstance(value, int) else None
    return ScalarSpec(name, kind or ScalarKind.FLOAT)


def at_sizes(item: TensorSpec | ScalarSpec, axes: Axes) -> TensorSpec | ScalarSpec:
    if isinstance(item, ScalarSpec):
        return item
    return replace(item, shape=tuple(map(str, shape_of(item, axes))))


def equal(one: Value, two: Value) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(two, torch.Tensor):
        both = one.is_floating_point() and two.is_floating_point()
        same = one.shape == two.shape and one.dtype == two.dtype
        return same and bool((torch.isclose(one, two, 0, 0, equal_nan=True) if both else one == two).all())
    return bool(one == two)
