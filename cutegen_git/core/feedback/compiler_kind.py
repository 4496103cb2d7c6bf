"""What kind of failure a build's errors are, and whether the kernel or the machine is to blame."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum

from .compiler_parse import Message


class Category(str, Enum):
    """Kinds of build results (names are stored and shown)."""

    OK = "ok"
    STATIC_ASSERT = "static_assert"
    SYNTAX = "syntax_error"
    COMPILE = "compile_error"
    MISSING_HEADER = "missing_header"
    PTXAS_SHARED = "ptxas_shared_memory"
    PTXAS_CONSTANT = "ptxas_constant_memory"
    PTXAS_PARAMETERS = "ptxas_parameter_space"
    PTXAS_REGISTERS = "ptxas_registers"
    PTXAS_INSTRUCTION = "ptxas_unsupported_instruction"
    PTXAS_SYNTAX = "ptxas_syntax"
    PTXAS = "ptxas_error"
    LINK_UNDEFINED = "link_undefined"
    LINK_DUPLICATE = "link_duplicate"
    LINK = "link_error"
    TOOLCHAIN = "toolchain"
    KILLED = "compiler_killed"
    CRASH = "compiler_crash"
    TIMEOUT = "timeout"


_ENVIRONMENT = {Category.TOOLCHAIN, Category.KILLED, Category.CRASH}
_PTXAS = (
    (r"too much shared data", Category.PTXAS_SHARED),
    (r"too much (global )?constant|constant bank|cmem", Category.PTXAS_CONSTANT),
    (r"parameter space|kernel parameter|too much parameter", Category.PTXAS_PARAMETERS),
    (r"too many registers|register allocation failed|uses too many", Category.PTXAS_REGISTERS),
    (r"[Uu]nresolved extern|[Uu]ndefined reference", Category.LINK_UNDEFINED),
    (r"not supported on|requires \.target|requires PTX ISA|not a supported|unsupported \.?version", Category.PTXAS_INSTRUCTION),
    (r"[Pp]arsing error|syntax error|[Uu]nknown (symbol|modifier|instruction)|Not a name of|[Ii]llegal|[Aa]rguments mismatch|"
     r"[Uu]nexpected|[Ii]nvalid|[Mm]issing|must be|not allowed", Category.PTXAS_SYNTAX),
)  # fmt: skip
_SYNTAX = re.compile(
    r"^(expected an? |expected \S+ |unrecognized token|missing closing quote|this declaration has no storage class|"
    r"unterminated|extra text after expected end|stray |\"[^\"]+\" is not allowed$|.*#endif|invalid preprocessing)"
)
_DIED = re.compile(
    r"died due to signal (\d+)|\bKilled\b|out of memory|[Cc]annot allocate memory|virtual memory exhausted"
)
_NO_SPACE = re.compile(
    r"can't create |No space left on device|Permission denied|cannot open output file|Could not (open|create)"
)


def category_of(errors: Sequence[Message], exit_code: int | None, output: str) -> Category:
    """The category of a build by its first error."""
    if exit_code is None:
        return Category.TIMEOUT
    if exit_code == 0:
        return Category.OK
    if not errors:
        return Category.TOOLCHAIN
    first = errors[0]
    died = _died(first, exit_code, output)
    if died:
        return died
    if _NO_SPACE.search(first.text):
        return Category.TOOLCHAIN
    if first.tool in ("ptxas", "nvlink", "ld"):
        return _back_end(first)
    if first.tool in ("edg", "gcc"):
        return _front_end(first)
    return Category.TOOLCHAIN


def _died(first: Message, exit_code: int, output: str) -> Category | None:
    text = first.text if first.tool else output
    signal = re.search(r"died due to signal (\d+)", text)
    if signal:
        return Category.CRASH if signal[1] in ("11", "6", "4", "8", "7") else Category.KILLED
    if "internal error" in text.lower() or "internal compiler error" in text or "Segmentation fault" in text:
        return Category.CRASH
    if _DIED.search(text) or (not first.tool and exit_code in (9, 137, -9, 143, -15)):
        return Category.KILLED
    return None


def _back_end(first: Message) -> Category:
    if first.tool == "ptxas":
        return next((kind for pattern, kind in _PTXAS if re.search(pattern, first.text)), Category.PTXAS)
    if re.search(r"[Uu]ndefined (reference|symbol)", first.text):
        return Category.LINK_UNDEFINED
    if re.search(r"[Mm]ultiple definition|[Dd]uplicate", first.text):
        return Category.LINK_DUPLICATE
    return Category.LINK


def _front_end(first: Message) -> Category:
    if "parameter space overflowed" in first.text:
        return Category.PTXAS_PARAMETERS
    if "static assertion failed" in first.text:
        return Category.STATIC_ASSERT
    if "No such file or directory" in first.text or "cannot open source file" in first.text:
        return Category.MISSING_HEADER
    return Category.SYNTAX if _SYNTAX.match(first.text) else Category.COMPILE


def blame_of(category: Category) -> str:
    """Who has to act: the model on the kernel, or a person on the machine."""
    return "environment" if category in _ENVIRONMENT else "kernel"


def symbols_of(errors: Sequence[Message]) -> tuple[str, ...]:
    """The symbols that the linker missed or met twice, each once."""
    pattern = re.compile(
        r"(?:[Uu]ndefined reference to|[Mm]ultiple definition of|[Uu]nresolved extern \w+|[Uu]ndefined symbol:?|"
        r"[Dd]uplicate definition of) [`'\"]?([^'\"]+)"
    )
    found = [
        match[1].strip()
        for one in errors
        if one.tool in ("ld", "nvlink", "ptxas")
        if (match := pattern.search(one.text))
    ]
    return tuple(dict.fromkeys(found))
