"""The signature in task.toml: `"A: float32[M, K]"` for a tensor, `"alpha: float"` for a scalar."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from dataclasses import replace

from cutegen_git.core.shapes import ITEM_BYTES
from cutegen_git.core.taskfile_table import Table, nearest, refuse
from cutegen_git.words.task import ScalarKind, ScalarSpec, Signature, TensorSpec

_ITEM = re.compile(r"\s*(\w+)\s*:\s*(\w+)\s*(?:\[([^\]]*)\])?\s*")
IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# Members of Args besides the task's own, and words that C++ keeps for itself.
RESERVED = frozenset(
    """workspace packed launch setup prepare stream Args
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class
    compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype
    default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline
    int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template
    this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t
    while xor xor_eq int8_t int16_t int32_t int64_t uint8_t cudaError_t cudaStream_t size_t cutlass""".split()
)
Item = TensorSpec | ScalarSpec


def usable_name(name: str) -> bool:
    """Whether a tensor, scalar or axis may be called so in C++ and in a reference."""
    return (
        bool(IDENTIFIER.fullmatch(name))
        and not keyword.iskeyword(name)
        and name not in RESERVED
        and "__" not in name
        and not name.startswith("align_")
    )


def parse_item(text: str, key: str) -> Item:
    """One input or output; `key` is what complaints call it."""
    found = _ITEM.fullmatch(text)
    if not found:
        refuse(f'{key}: cannot read {text!r}; write "A: float32[M, K]" or "alpha: float"')
    name, kind, dims = found.groups()
    if dims is None:
        if kind not in {scalar.value for scalar in ScalarKind}:
            scalars = ", ".join(scalar.value for scalar in ScalarKind)
            refuse(f"{key}: {name} is {kind!r}; a scalar is one of {scalars}, and a tensor has [dimensions]")
        return ScalarSpec(name, ScalarKind(kind))
    if kind not in ITEM_BYTES:
        refuse(f"{key}: {name} has the unknown dtype {kind!r}; {nearest(kind, ITEM_BYTES)}")
    shape = tuple(size.strip() for size in dims.split(",")) if dims.strip() else ()
    if not all(shape):
        refuse(f"{key}: {name} has an empty dimension in {text!r}")
    return TensorSpec(name, kind, shape)


def format_item(item: Item) -> str:
    """The text that `parse_item` reads; what `[tensors]` says is not part of it."""
    if isinstance(item, ScalarSpec):
        return f"{item.name}: {item.kind.value}"
    return f"{item.name}: {item.dtype}[{', '.join(item.shape)}]"


def parse_signature(table: Table) -> Signature:
    """The signature as `[signature]` states it, before `[tensors]`."""
    axes = table.texts("axes", ())
    inputs = tuple(parse_item(text, table.key("inputs")) for text in table.texts("inputs"))
    outputs: list[TensorSpec] = []
    for text in table.texts("outputs"):
        item = parse_item(text, table.key("outputs"))
        if not isinstance(item, TensorSpec):
            refuse(f"{table.key('outputs')}: {item.name} is a scalar; a kernel writes tensors only")
        outputs.append(item)
    if not outputs:
        refuse(f"{table.key('outputs')} names no tensor")
    _check_names([item.name for item in (*inputs, *outputs)], axes)
    return Signature(inputs, tuple(outputs), axes)


def _check_names(tensors: Sequence[str], axes: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in (*tensors, *axes):
        if name in seen:
            refuse(f"[signature]: the name {name!r} is used twice")
        if not usable_name(name):
            refuse(f"[signature]: {name!r} cannot be a name in C++; rename it")
        seen.add(name)


def with_tensors(signature: Signature, tables: Table) -> Signature:
    """The signature with what `[tensors.NAME]` says."""
    inputs = {spec.name: spec for spec in signature.tensors()}
    outputs = {spec.name: spec for spec in signature.outputs}
    for name, value in tables.raw.items():
        if name not in inputs and name not in outputs:
            refuse(f"[tensors.{name}]: no such tensor; {nearest(name, (*inputs, *outputs))}")
        place = inputs if name in inputs else outputs
        place[name] = _read_spec(place[name], value, is_output=name in outputs, inputs=tuple(inputs))
    return Signature(
        tuple(inputs.get(item.name, item) for item in signature.inputs),
        tuple(outputs[spec.name] for spec in signature.outputs),
        signature.axes,
    )


def _read_spec(spec: TensorSpec, value: object, *, is_output: bool, inputs: tuple[str, ...]) -> TensorSpec:
    known = ("layout", "align_bytes", "alias") if is_output else ("constant", "layout", "align_bytes")
    table = Table(value, f"[tensors.{spec.name}]", known)
    align = table.integer("align_bytes", 16, least=1)
    if align & (align - 1):
        table.wrong("align_bytes", "a power of two")
    alias = table.choice("alias", inputs) if "alias" in table else None
    layout = _layout(table, len(spec.shape)) if "layout" in table else "row"
    constant = table.boolean("constant", False) if not is_output else False
    return replace(spec, constant=constant, layout=layout, align_bytes=align, alias=alias)


def _layout(table: Table, dimensions: int) -> str | tuple[str, ...]:
    value = table.raw["layout"]
    if isinstance(value, list):
        strides = tuple(str(item) for item in value if isinstance(item, (str, int)) and item is not True)
        if len(strides) != len(value) or len(value) != dimensions:
            table.wrong("layout", f'"row", "col" or a list of {dimensions} strides')
        return strides
    return table.choice("layout", ("row", "col"))
