"""Reads what `ptxas -v` reports of each kernel."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping

from cutegen_git.hands import process

from .records import KernelResources

_ENTRY = re.compile(r"ptxas info\s*: Compiling entry function '([^']+)' for '([^']+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"ptxas info\s*: Used (\d+) registers")
_SMEM = re.compile(r"(\d+) bytes smem")


def resources(log: str, demangle: Callable[[list[str]], Mapping[str, str]]) -> tuple[KernelResources, ...]:
    """One record for each kernel and architecture, in the order of the log."""
    found = list(_blocks(log))
    names = demangle([name for name, _, _ in found])
    return tuple(_record(names.get(name, name), arch, block) for name, arch, block in found)


def _blocks(log: str) -> Iterator[tuple[str, str, str]]:
    entries = list(_ENTRY.finditer(log))
    for entry, following in zip(
        entries, [*entries[1:], None], strict=False
    ):  # none: no kernel in the library
        yield entry[1], entry[2], log[entry.end() : following.start() if following else len(log)]


def _record(name: str, arch: str, block: str) -> KernelResources:
    # Device functions that were not inlined have a stack line too; the kernel's own comes first.
    stack, used = _STACK.search(block), _USED.search(block)
    used_line = block[used.start() : block.find("\n", used.start())] if used else ""
    smem = _SMEM.search(used_line)
    return KernelResources(
        name=name,
        arch=arch,
        registers=int(used[1]) if used else 0,
        smem_bytes=int(smem[1]) if smem else 0,
        stack_bytes=int(stack[1]) if stack else 0,
        spill_store_bytes=int(stack[2]) if stack else 0,
        spill_load_bytes=int(stack[3]) if stack else 0,
    )


def demangle(names: list[str]) -> Mapping[str, str]:
    """C++ names by binutils' c++filt; the mangled ones where it lacks."""
    tool = shutil.which("c++filt")
    if tool is None or not names:
        return {}
    done = process.run([tool], timeout_s=30, stdin="\n".join(names).encode())
    plain = done.text().splitlines()
    return dict(zip(names, plain, strict=True)) if done.ok and len(plain) == len(names) else {}
