"""The few lines of a build's output that help to fix the kernel, in the model's own file and with short types."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .compiler_kind import Category, symbols_of
from .compiler_parse import Frame, Message
from .compiler_ptxas import KernelUse, symbol_name
from .compiler_types import shorten

LIMIT = 2400  # characters
_OTHERS = 3  # further errors shown
_KERNELS = 4  # kernels shown

# sm_89: 48 KiB of static shared memory per block, 99 KiB when it is dynamic (CUDA C++ guide, "Shared Memory" of
# compute capability 8.x).
_DYNAMIC_MAX = 101376

_ADVICE = {
    Category.PTXAS_CONSTANT: "Constant memory holds 64 KiB: keep large tables in global memory.",
    Category.PTXAS_PARAMETERS: "Kernel parameters are limited: pass a pointer to a struct instead.",
    Category.PTXAS_REGISTERS: "Use smaller tiles per thread, or lower the minimum of blocks in __launch_bounds__.",
    Category.PTXAS_SYNTAX: "The line is one of the generated PTX: look at the inline asm of the kernel.",
    Category.LINK_UNDEFINED: "Define it in the kernel's own files, or do not use it; nothing else is linked.",
    Category.LINK_DUPLICATE: "Define it once (inline or static in a header).",
    Category.MISSING_HEADER: "Only the C++ library, the CUDA toolkit, CuTe and CUTLASS, and the files in kernel/ can be included.",
    Category.TIMEOUT: "The compiler did not finish in time. Unroll less and instantiate fewer templates.",
}
_FLAG_HINT = re.compile(r"\s*The experimental flag '[^']+' can be used to allow this\.?")
_WARNS = {
    "549",
    "61",
    "62",
    "63",
    "39",
    "175",
    "940",
    "20011",
    "20012",
    "20014",
    "20013",
    "170",
    "179",
    "3012",
}
_PTXAS_WARNS = (
    "will be ignored",
    "out of range",
    "Registers are spilled",
    "stack size",
    "Potential Performance Loss",
    "wgmma",
)


def feedback(
    category: Category,
    errors: Sequence[Message],
    warnings: Sequence[Message],
    uses: Sequence[KernelUse],
    sources: Mapping[str, str],
) -> str:
    """The text for the model, at most LIMIT characters; the most useful lines come first."""
    if category is Category.OK:
        parts = [_resources(uses), _warnings(warnings, sources)]
    elif category is Category.TIMEOUT:
        parts = [_ADVICE[category], _main(errors[0], sources) if errors else ""]
    else:
        parts = [_main(errors[0], sources) if errors else "", _advice(category, errors, uses)]
        parts += [
            _others(errors, sources),
            _warnings(warnings, sources) if category is Category.SYNTAX else "",
        ]
    return _fit([part for part in parts if part])


def _fit(parts: Sequence[str]) -> str:
    out = ""
    for part in parts:
        room = LIMIT - len(out) - 1
        if room < 40:
            break
        out += ("\n" if out else "") + (part if len(part) <= room else part[: room - 2] + " …")
    return out


# Errors


def _main(error: Message, sources: Mapping[str, str]) -> str:
    text = _FLAG_HINT.sub("", _short(error.text, 600))
    if "calling a" in text and "__host__" in text:
        text += " Call a __device__ function instead."
    steps = user_steps(error, sources)
    own = bool(steps) and steps[0][2] is None
    lines = [f"{_place(error, steps[0][0] if own else '')}error: {text}"]
    lines += [_cut("  " + detail.strip(), 300) for detail in error.details if _is_fact(detail)][:3]
    lines += _quoted(error, own, sources)
    outer = steps[1 if own else 0 :]
    for file, line, frame in outer if len(outer) <= 4 else [*outer[:3], outer[-1]]:
        lines.append(f"  from {file}:{line}{_source(sources, file, line)}")
        if frame and frame.what:
            lines.append("    " + _instance(frame.what))
    return "\n".join(lines)


def _place(error: Message, own: str) -> str:
    if error.is_ptx:
        return "ptxas (generated PTX): "
    if not error.file:
        return f"{error.tool}: " if error.tool else ""
    name = own or library_name(error.file)
    return f"{name}:{error.line}: "


def library_name(path: str) -> str:
    """`/opt/cutlass/include/cute/layout.hpp` -> `cute/layout.hpp`."""
    return re.sub(r"^.*/include/", "", path)


def _is_fact(detail: str) -> bool:
    """Lines such as "operand types are: ..." that belong to the message, not to the source."""
    return bool(
        re.match(r"\s*(operand|argument|object|function|type|candidate|because|the |could|class)\b.*", detail)
    ) and not re.match(r".*[;{}]\s*$", detail)


def _quoted(error: Message, own: bool, sources: Mapping[str, str]) -> list[str]:
    """The source line of the error with its caret, as the compiler shows it or from the sources."""
    rest = [detail for detail in error.details if not _is_fact(detail)]
    text = _line_of(sources, error.file, error.line) if own else ""  # nvcc shows the line after preprocessing
    for n, detail in enumerate(rest):
        if re.fullmatch(r"\s*\|?\s*\^~*\s*", detail) and n:
            code = re.sub(r"^( *)\d+( )\| ", r"\1  ", rest[n - 1])
            if not text or text.strip() == code.strip():
                return _with_caret(rest[n - 1], detail)
    return ["    " + _cut(text.strip(), 200)] if text.strip() else []


def _with_caret(code: str, caret: str) -> list[str]:
    """The two lines without the indent that they share, cut around the caret."""
    indent = len(code) - len(code.lstrip())
    at = caret.index("^")
    if at > 150:
        return ["    …" + code[at - 60 : at + 60].rstrip(), "    " + " " * 61 + "^"]
    return ["    " + _cut(code[indent:].rstrip(), 200), "    " + " " * max(0, at - indent) + "^"]


def user_steps(error: Message, sources: Mapping[str, str]) -> list[tuple[str, int, Frame | None]]:
    """(file, line, what was instantiated there) for each step in the user's files, innermost first."""
    steps: list[tuple[str, int, Frame | None]] = []
    if error.file and not error.is_ptx and is_user_file(error.file, sources):
        steps.append((_named(error.file, sources), error.line, None))
    for frame in error.frames:
        if is_user_file(frame.file, sources):
            steps.append((_named(frame.file, sources), frame.line, frame))
    return steps


def is_user_file(path: str, sources: Mapping[str, str]) -> bool:
    """Is it one of `sources`; without any, a file named by a relative path?"""
    if sources:
        return any(path == name or path.endswith("/" + name) or name.endswith("/" + path) for name in sources)
    return not re.match(r"^(/|[A-Za-z]:|<)", path) and "/include/" not in path


def _named(path: str, sources: Mapping[str, str]) -> str:
    """The name that the user knows the file by."""
    return next((name for name in sources if path.endswith("/" + name)), path)


def _line_of(sources: Mapping[str, str], file: str, line: int) -> str:
    for name, text in sources.items():
        if file == name or file.endswith("/" + name) or name.endswith("/" + file):
            lines = text.split("\n")
            return lines[line - 1] if 0 < line <= len(lines) else ""
    return ""


def _source(sources: Mapping[str, str], file: str, line: int) -> str:
    text = _line_of(sources, file, line).strip()
    return f":  {_cut(text, 160)}" if text else ""


def _instance(what: str) -> str:
    """`"void cute::gemm(...) [with MMA=..., ALayout=...]"` -> `in cute::gemm with MMA=..., ALayout=...`."""
    name, _, values = what.strip().partition(" [with ")
    name = name.strip('"').replace('class "', "class ")
    values = values.rstrip('"').rstrip("]")
    function = re.search(r"([\w:~]+)\(", name)
    called = function[1] if function and not name.startswith("class") else _short(name, 160)
    return _cut(f"in {called}" + (f" with {shorten(values)}" if values else ""), 700)


def _short(text: str, width: int) -> str:
    return _cut(shorten(text) if len(text) > 200 else text, width)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _others(errors: Sequence[Message], sources: Mapping[str, str]) -> str:
    """Further errors, identical ones once; those at the same line of the user as the first are only counted."""
    if len(errors) < 2:
        return ""
    seen = {_identity(errors[0], sources)}
    place = _identity(errors[0], sources)[1]
    lines: list[str] = []
    same = 0
    for error in errors[1:]:
        identity = _identity(error, sources)
        if identity in seen or identity[1] == place != "":
            same += 1
        elif error.tool in ("ld", "nvlink"):
            same += error.text in "".join(lines)
        else:
            seen.add(identity)
            lines.append(f"  {identity[1]}{': ' if identity[1] else ''}{_short(identity[0], 160)}")
    shown = lines[:_OTHERS]
    if len(lines) > _OTHERS:
        shown.append(f"  and {len(lines) - _OTHERS} more")
    if same:
        shown.append(f"  {same} more at the same line" if place else f"  {same} more of the same kind")
    return "Further errors, perhaps only consequences:\n" + "\n".join(shown) if shown else ""


def _identity(error: Message, sources: Mapping[str, str]) -> tuple[str, str]:
    steps = user_steps(error, sources)
    return error.text, f"{steps[0][0]}:{steps[0][1]}" if steps else ""


def _advice(category: Category, errors: Sequence[Message], uses: Sequence[KernelUse]) -> str:
    text = errors[0].text if errors else ""
    if category is Category.PTXAS_SHARED:
        return _shared_advice(text)
    if category is Category.PTXAS_CONSTANT:
        sizes = re.findall(r"0x[0-9a-f]+|\d+(?= bytes| max)", text)
        asked = (
            f" The kernel asks for {int(sizes[0], 0)} bytes, the limit is {int(sizes[1], 0)}."
            if len(sizes) > 1
            else ""
        )
        return _ADVICE[category] + asked
    if category is Category.PTXAS_INSTRUCTION:
        if re.search(r"wgmma|tcgen05|cp\.async\.bulk|mbarrier|tma|setmaxnreg|cluster", text, re.IGNORECASE):
            return "That instruction is for Hopper or later. On sm_89 (Ada) use mma.sync (SM80 and SM89 MMA atoms) and cp.async."
        return "The target does not have this instruction; the line is one of the generated PTX, not of the kernel."
    if category in (Category.LINK_UNDEFINED, Category.LINK_DUPLICATE):
        names = ", ".join(symbol_name(one) for one in symbols_of(errors))
        return (f"Symbols: {names}. " if names else "") + _ADVICE[category]
    if category in (Category.TOOLCHAIN, Category.KILLED, Category.CRASH):
        return "This is a fault of the build machine, not of the kernel."
    return _ADVICE.get(category, "")


def _shared_advice(text: str) -> str:
    sizes = [int(one, 0) for one in re.findall(r"(0x[0-9a-f]+|\d+) (?:bytes|max)", text)]
    kernel = re.search(r"'([^']+)'", text)
    name = f"{symbol_name(kernel[1])}: " if kernel else ""
    if len(sizes) < 2:
        return "Use less static shared memory."
    remedy = (
        f"Use dynamic shared memory (extern __shared__, cudaFuncSetAttribute with "
        f"cudaFuncAttributeMaxDynamicSharedMemorySize); sm_89 allows {_DYNAMIC_MAX} bytes per block."
        if sizes[0] <= _DYNAMIC_MAX
        else f"Use smaller tiles or fewer stages: even dynamic shared memory ends at {_DYNAMIC_MAX} bytes per block on sm_89."
    )
    return f"{name}{sizes[0]} bytes of static shared memory, the limit is {sizes[1]}. {remedy}"


# Success


def _resources(uses: Sequence[KernelUse]) -> str:
    """The kernels that use most, for the first architecture of the output."""
    arch = uses[0].arch if uses else ""
    mine = [use for use in uses if use.arch == arch]
    heavy = sorted(mine, key=lambda use: (use.spill_bytes > 0, use.registers, use.smem_bytes), reverse=True)
    lines = [_use_line(use) for use in heavy[:_KERNELS]]
    if len(heavy) > _KERNELS:
        lines.append(
            f"  and {len(heavy) - _KERNELS} more kernels, each with at most {heavy[_KERNELS].registers} registers"
        )
    if not lines:
        return "Built."
    return f"Built for {arch}:\n" + "\n".join(lines)


def _use_line(use: KernelUse) -> str:
    spills = (
        f"{use.spill_store_bytes} bytes of spill stores and {use.spill_load_bytes} of spill loads per thread"
        if use.spill_bytes
        else "no spills"
    )
    stack = f", {use.stack_bytes} bytes of stack" if use.stack_bytes and not use.spill_bytes else ""
    return f"  {use.name}: {use.registers} registers, {use.smem_bytes} bytes of static shared memory, {spills}{stack}"


def _warnings(warnings: Sequence[Message], sources: Mapping[str, str]) -> str:
    """The warnings that change what the kernel does or how fast it is."""
    lines: dict[str, None] = {}
    for warning in warnings:
        if warning.number in _WARNS or (
            warning.tool == "ptxas" and any(w in warning.text for w in _PTXAS_WARNS)
        ):
            steps = user_steps(warning, sources)
            place = f"{steps[0][0]}:{steps[0][1]}: " if steps else ""
            text = re.sub(r"_Z\w+", lambda match: symbol_name(match[0]), warning.text)
            lines[f"  {place}{_short(text, 200)}"] = None
    shown = list(lines)[:_OTHERS]
    return "Warnings:\n" + "\n".join(shown) if shown else ""
