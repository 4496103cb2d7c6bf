"""A task as Python text: how an exported kernel reads its sizes from shapes, and what it takes.

Written out expression by expression, so that torch.compile can trace it and a reader can check it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cutegen_git.core import abi
from cutegen_git.hands.build import static_sizes
from cutegen_git.judge.protocol import FieldKind, layout_of
from cutegen_git.words.errors import TaskError
from cutegen_git.words.task import Task, TensorSpec

_PACKED_AS = {
    FieldKind.TENSOR: "<Q",
    FieldKind.WORKSPACE: "<Q",
    FieldKind.PACKED: "<Q",
    FieldKind.INT: "<q",
    FieldKind.FLOAT: "<d",
    FieldKind.BOOL: "<?",
}


@dataclass(frozen=True, slots=True)
class Exported:
    """A kernel on its way out of its repository."""

    task: Task
    label: str
    reference: bytes
    sources: Mapping[str, bytes]  # files under kernel/
    about: tuple[str, ...]  # lines for readers, without line ends: attempt, claim, device, baseline


@dataclass(frozen=True, slots=True)
class TaskText:
    """Pieces of the exported Python."""

    axes: str  # body of a function of `shapes`
    layouts: str  # body of a function of `s`, the sizes
    spec: str  # arguments of KernelSpec
    header: str  # the generated header, "@K@" where a compile-time size stands
    static: tuple[str, ...]


def task_text(task: Task) -> TaskText:
    """TaskError for a task whose kernel nobody could call from torch."""
    if not task.signature.tensors():
        raise TaskError(
            "this task has no input tensor, so an exported kernel could not know its device or sizes"
        )
    return TaskText(_axes(task), _layouts(task), _spec(task), _header(task), task.static)


def _header(task: Task) -> str:
    text = abi.header(task, static_sizes(task)[0])
    for axis in task.static:
        text = re.sub(rf"(static constexpr int64_t {axis} = )\d+;", rf"\g<1>@{axis}@;", text)
    return text


def expression(text: str, known: Mapping[str, str] | None = None) -> str:
    """ "2*K" as Python over the sizes: `2 * s['K']`; `known` gives other words for single axes."""

    class Rename(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            word = (known or {}).get(node.id, f"s[{node.id!r}]")
            return ast.parse(word, mode="eval").body

    return ast.unparse(Rename().visit(ast.parse(text, mode="eval")))


def _axes(task: Task) -> str:
    specs = task.signature.tensors()
    ranks = _row(str(len(spec.shape)) for spec in specs)
    lines = [f"if tuple(len(shape) for shape in shapes) != {ranks}:", "    return None"]
    lines += ["if any(size < 1 for shape in shapes for size in shape):", "    return None", "s: Sizes = {}"]
    lines += _solved(task, specs)
    wanted = _row(_row(map(expression, spec.shape)) for spec in specs)
    lines += [
        f"wanted = {wanted}",
        "if tuple(tuple(shape) for shape in shapes) != wanted:",
        "    return None",
    ]
    lines += [f"return {{{', '.join(f'{axis!r}: s[{axis!r}]' for axis in task.signature.axes)}}}"]
    return "\n".join(lines)


def _solved(task: Task, specs: Sequence[TensorSpec]) -> list[str]:
    """One line for each axis: where its size is read. Dimensions that are an axis alone come first."""
    places = [
        (size, f"shapes[{nth}][{dim}]")
        for nth, spec in enumerate(specs)
        for dim, size in enumerate(spec.shape)
    ]
    lines: list[str] = []
    known: set[str] = set()
    for size, place in places:
        if size in task.signature.axes and size not in known:
            known.add(size)
            lines.append(f"s[{size!r}] = {place}")
    while missing := [axis for axis in task.signature.axes if axis not in known]:
        axis, line = next(
            (found for size, place in places if (found := _inverted(size, place, missing))), (missing[0], "")
        )
        known.add(axis)
        lines.append(line or _pinned(task, axis))
    return lines


def _inverted(size: str, place: str, missing: Sequence[str]) -> tuple[str, str] | None:
    """The line that solves a dimension for its one unknown axis: it is linear in it, or the check afterwards fails."""
    unknown = {node.id for node in ast.walk(ast.parse(size)) if isinstance(node, ast.Name)} & set(missing)
    if len(unknown) != 1 or "//" in size:
        return None
    axis = unknown.pop()
    zero, one = expression(size, {axis: "0"}), expression(size, {axis: "1"})
    return axis, f"s[{axis!r}] = ({place} - ({zero})) // (({one}) - ({zero}) or 1)"


def _pinned(task: Task, axis: str) -> str:
    """An axis that no input shows: exportable only where every workload agrees on it."""
    sizes = {workload.axes[axis] for workload in task.workloads}
    if len(sizes) != 1:
        raise TaskError(
            f"the axis {axis} cannot be read from the shapes of the inputs, so an exported kernel would not know it"
        )
    return f"s[{axis!r}] = {sizes.pop()}  # no input shows it: what was verified"


def _layouts(task: Task) -> str:
    lines = [
        f"    {spec.name!r}: ({_row(map(expression, spec.shape))}, {_row(_strides(spec))}),"
        for spec in (*task.signature.tensors(), *task.signature.outputs)
    ]
    return "\n".join(["return {", *lines, "}"])


def _strides(spec: TensorSpec) -> list[str]:
    """One expression a dimension, as core.shapes.strides_of counts."""
    if not isinstance(spec.layout, str):
        return [expression(stride) for stride in spec.layout]
    order = list(range(len(spec.shape)))
    if spec.layout == "col" and len(order) >= 2:
        order[-1], order[-2] = order[-2], order[-1]
    strides, sizes = [""] * len(order), list[str]()
    for dimension in reversed(order):
        strides[dimension] = " * ".join(sizes) or "1"
        sizes.insert(0, f"({expression(spec.shape[dimension])})")
    return [ast.unparse(ast.parse(stride, mode="eval")) for stride in strides]


def _spec(task: Task) -> str:
    signature, layout = task.signature, layout_of(task)
    statics = [tuple(sizes[axis] for axis in task.static) for sizes in static_sizes(task)]
    members = [(field.name, _PACKED_AS[field.kind], field.offset) for field in layout.fields]
    return "\n".join(
        [
            f"name={task.name!r},",
            f"tensors={_row(map(_tensor, signature.tensors()))},",
            f"outputs={_row(map(_tensor, signature.outputs))},",
            f"scalars={tuple((spec.name, spec.kind.value) for spec in signature.scalars())!r},",
            f"members={tuple(members)!r},",
            f"size={layout.size},",
            f"arch={task.arch!r},",
            f"static={task.static!r},",
            f"statics={tuple(statics)!r},",
        ]
    )


def _tensor(spec: TensorSpec) -> str:
    more = ", constant=True" if spec.constant else ""
    more += f", alias={spec.alias!r}" if spec.alias else ""
    return f"KernelTensor({spec.name!r}, torch.{spec.dtype}, {spec.align_bytes}{more})"


def _row(items: object) -> str:
    """A tuple's text."""
    words = list(items)  # type: ignore[call-overload]
    return f"({', '.join(words)}{',' if len(words) == 1 else ''})"
