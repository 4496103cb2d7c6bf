"""CuTe types as people write them: Layout<tuple<_4, C<32>>, tuple<_32, _1>> -> (4,32):(32,1)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_CONSTANT = re.compile(r"^(?:cute::)?_(\d+)$")
_SUFFIX = re.compile(r"^(-?\d+)U?L{0,2}$")


@dataclass(slots=True)
class _Type:
    """A name, its arguments, and what stands after them."""

    name: str
    args: list[_Type] | None = None
    tail: list[str | _Type] = field(default_factory=list)


def shorten(text: str) -> str:
    """`text` with every CuTe type in it in short form; other text as it is."""
    try:
        return _shortened(text)
    except RecursionError:  # hundreds of nested templates: nothing that a reader could use anyway
        return text


def _shortened(text: str) -> str:
    out, at = [], 0
    for match in re.finditer(r"(?:cute|cutlass)::[\w:]+", text):
        if match.start() < at:
            continue
        out.append(text[at : match.start()])
        parsed, at = _parse(text, match.start())
        out.append(_show(parsed))
    return "".join(out) + text[at:]


def _parse(text: str, at: int) -> tuple[_Type, int]:
    """The type at `at` and where it ends."""
    match = re.compile(r"[\w:]+|\(void \*\)\w+|<[\w-]+>|\S").match(text, at)
    if match is None:
        return _Type(""), at
    node, at = _Type(match.group(0)), match.end()
    if text[at : at + 1] != "<" or not re.match(r"[\w:]+$", node.name):
        return node, at
    node.args = []
    at += 1
    while at < len(text) and text[at] != ">":
        argument, at = _argument(text, at)
        node.args.append(argument)
        while text[at : at + 1] in (",", " "):
            at += 1
    return node, at + 1


def _argument(text: str, at: int) -> tuple[_Type, int]:
    """One template argument: a type with the words around it (const, *, ...)."""
    whole = _Type("")
    depth = 0
    while at < len(text):
        char = text[at]
        if depth == 0 and char in ",>":
            break
        depth += (char == "(") - (char == ")")
        if re.match(r"[\w:]", char) and depth == 0:
            node, at = _parse(text, at)
            whole.tail.append(node)
        else:
            whole.tail.append(char)
            at += 1
    if len(whole.tail) == 1 and isinstance(whole.tail[0], _Type):
        return whole.tail[0], at
    return whole, at


def _show(node: _Type) -> str:
    tail = "".join(one if isinstance(one, str) else _show(one) for one in node.tail)
    name = re.sub(r"\b(cute|cutlass)::(detail::)?", "", node.name)
    name = "_" if name == "Underscore" else name
    if node.args is None:
        constant = _CONSTANT.match(node.name)
        number = _SUFFIX.match(name)
        return (constant.group(1) if constant else number.group(1) if number else name) + tail
    args = [_show(one) for one in node.args]
    if name == "tuple":
        return f"({','.join(args)}){tail}"
    if name in ("C", "Int") and len(args) == 1:
        return args[0] + tail
    if name == "Layout" and len(args) == 2:
        return f"{args[0]}:{args[1]}{tail}"
    if name == "ScaledBasis":
        return "@".join(args) + tail
    if name in ("ViewEngine", "gmem_ptr", "smem_ptr") and len(args) == 1:
        prefix = "" if name == "ViewEngine" else name.removesuffix("_ptr") + " "
        return prefix + args[0] + tail
    return f"{name}<{', '.join(args)}>{tail}"
