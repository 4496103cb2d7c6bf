"""What ptxas -v says of every kernel: registers, shared memory, stack, spills, barriers."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)' for '(?P<arch>[^']+)'")
_PROPERTIES = re.compile(r"Function properties for '?(?P<name>[^'\s]+)")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_BARRIERS = re.compile(r"used (\d+) barriers")
_SMEM = re.compile(r"(\d+)(?:\+(\d+))? bytes smem")


@dataclass(frozen=True, slots=True)
class KernelUse:
    """The resources of one kernel on one architecture."""

    mangled: str
    name: str  # without parameters and template arguments
    arch: str  # "sm_89"
    registers: int  # per thread
    smem_bytes: int  # static shared memory per block
    stack_bytes: int  # per thread
    spill_store_bytes: int
    spill_load_bytes: int
    barriers: int

    @property
    def spill_bytes(self) -> int:
        return self.spill_store_bytes + self.spill_load_bytes


def kernels(output: str) -> list[KernelUse]:
    """Every entry function in the order of the output."""
    out: list[KernelUse] = []
    name = arch = about = ""
    stack = (0, 0, 0)
    for line in output.split("\n"):
        if entry := _ENTRY.search(line):
            name, arch, about, stack = entry["name"], entry["arch"], "", (0, 0, 0)
        elif properties := _PROPERTIES.search(line):
            about = properties["name"]
        elif (sizes := _STACK.search(line)) and about in ("", name):
            stack = (int(sizes[1]), int(sizes[2]), int(sizes[3]))
        elif name and (used := _USED.search(line)):
            out.append(_use(line, name, arch, int(used[1]), stack))
            name = ""
    return out


def _use(line: str, name: str, arch: str, registers: int, stack: tuple[int, int, int]) -> KernelUse:
    smem, barriers = _SMEM.search(line), _BARRIERS.search(line)
    return KernelUse(
        mangled=name,
        name=plain_name(name),
        arch=arch,
        registers=registers,
        smem_bytes=int(smem[1]) + int(smem[2] or 0) if smem else 0,
        stack_bytes=stack[0],
        spill_store_bytes=stack[1],
        spill_load_bytes=stack[2],
        barriers=int(barriers[1]) if barriers else 0,
    )


def plain_name(mangled: str) -> str:
    """`_Z9gemm_tileILi128ELi128EEvPKf` -> `gemm_tile`; `_ZN3ops4initEv` -> `ops::init` (Itanium C++ ABI, 5.1.2)."""
    if not mangled.startswith("_Z"):
        return mangled
    rest = mangled[2:].lstrip("L")
    nested = rest.startswith("N")
    rest = re.sub(r"^N[rVK]*", "", rest) if nested else rest
    parts: list[str] = []
    while match := re.match(r"L?(\d+)", rest):
        start = match.end()
        size = int(match[1])
        part, rest = rest[start : start + size], rest[start + size :]
        if not part.startswith(("_GLOBAL__N_", "_INTERNAL_")):
            parts.append(part)
        if not nested or rest[:1] in ("I", "E"):
            break
    return "::".join(parts) or mangled


def symbol_name(symbol: str) -> str:
    """A symbol for people: demangled if it is mangled."""
    return plain_name(symbol) if symbol.startswith("_Z") else symbol
