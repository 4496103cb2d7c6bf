"""Whether a kernel's printed name is the one that somebody asked for."""

from __future__ import annotations

import re

_CAST = re.compile(r"\((?:unsigned |signed )?(?:bool|char|short|int|long|long long)\)(?=[-\d])")
_PAIRS = {")": "(", ">": "<", "]": "[", "}": "{"}


def is_kernel(printed: str, wanted: str) -> bool:
    """True where `wanted` is the whole name, or the name without arguments, template arguments or namespaces."""
    target = _squeeze(wanted)
    if printed.startswith("_Z"):
        return wanted == printed or f"{len(wanted)}{wanted}" in printed
    head = without_arguments(printed)
    plain = _without_template(head)
    forms = {printed, head, plain, _last_part(head), _last_part(plain)}
    return target in {_squeeze(form) for form in forms}


def short_name(printed: str) -> str:
    """`gemm_kernel` of `void ns::gemm_kernel<...>(int, float *)`."""
    return _last_part(_without_template(without_arguments(printed))) or printed


def without_arguments(printed: str) -> str:
    """`ns::kernel<float, 4>`: neither the return type nor the arguments."""
    text = printed.strip()
    start = _opening(text) if text.endswith(")") else len(text)
    head = text[:start].strip() or text
    return _outside(head, " ")[-1]


def _without_template(head: str) -> str:
    return head[: _opening(head)] if head.endswith(">") and _opening(head) else head


def _last_part(head: str) -> str:
    return _outside(head, "::")[-1]


def _squeeze(name: str) -> str:
    return re.sub(r"\s+", "", _CAST.sub("", name))


def _opening(text: str) -> int:
    """Where the bracket opens that the last character closes; the text's length where none does."""
    closing, depth = text[-1], 0
    for index in range(len(text) - 1, -1, -1):
        depth += (text[index] == closing) - (text[index] == _PAIRS[closing])
        if depth == 0:
            return index
    return len(text)


def _outside(text: str, separator: str) -> list[str]:
    """The pieces between separators that stand outside all brackets."""
    pieces, depth, start, index = [], 0, 0, 0
    while index < len(text):
        depth += (text[index] in _PAIRS.values()) - (text[index] in _PAIRS)
        if depth == 0 and text.startswith(separator, index):
            pieces.append(text[start:index])
            start = index = index + len(separator)
            continue
        index += 1
    return [*pieces, text[start:]]
