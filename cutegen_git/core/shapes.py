"""Sizes and strides of tensors from the expressions in a signature."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from math import prod

from cutegen_git.words.errors import TaskError
from cutegen_git.words.task import TensorSpec

_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
ITEM_BYTES = {
    "float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int16": 2,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "int8": 1, "uint8": 1, "bool": 1,
}  # fmt: skip


def evaluate(expression: str, axes: Mapping[str, int]) -> int:
    """The size that "2*K+1" means for these axes. TaskError for anything but + - * // over axes and integers."""
    try:
        return _value(ast.parse(expression, mode="eval").body, axes)
    except (SyntaxError, KeyError, ValueError, ZeroDivisionError) as error:
        raise TaskError(
            f"cannot read the size {expression!r} over the axes {', '.join(axes) or '(none)'}"
        ) from error


def _value(node: ast.expr, axes: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        return axes[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left, axes), _value(node.right, axes))
    raise ValueError("not arithmetic over axes")


def shape_of(spec: TensorSpec, axes: Mapping[str, int]) -> tuple[int, ...]:
    """Sizes in elements."""
    return tuple(evaluate(size, axes) for size in spec.shape)


def strides_of(spec: TensorSpec, axes: Mapping[str, int]) -> tuple[int, ...]:
    """Strides in elements, from the tensor's layout."""
    shape = shape_of(spec, axes)
    if not isinstance(spec.layout, str):
        return tuple(evaluate(stride, axes) for stride in spec.layout)
    order = list(range(len(shape)))
    if spec.layout == "col" and len(order) >= 2:
        order[-1], order[-2] = order[-2], order[-1]
    strides, step = [0] * len(shape), 1
    for dimension in reversed(order):
        strides[dimension] = step
        step *= shape[dimension]
    return tuple(strides)


def span_bytes(spec: TensorSpec, axes: Mapping[str, int]) -> int:
    """Bytes from the first element to the end of the last."""
    shape = shape_of(spec, axes)
    if prod(shape) == 0:
        return 0
    last = sum((size - 1) * stride for size, stride in zip(shape, strides_of(spec, axes), strict=True))
    return (last + 1) * ITEM_BYTES[spec.dtype]
