"""From a task and the sources of its kernel to libraries: one for each set of static sizes."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from cutegen_git.core import abi
from cutegen_git.hands.cache import Cache
from cutegen_git.hands.nvcc import ptxas, store
from cutegen_git.hands.nvcc.compile import HEADER, LIBRARY, Compiled, Variant, compile_variants, flags
from cutegen_git.hands.nvcc.escape import refusals
from cutegen_git.hands.nvcc.records import Build, KernelResources, Library
from cutegen_git.hands.toolchain import Toolchain
from cutegen_git.words.errors import TaskError, ToolError
from cutegen_git.words.task import Task

__all__ = ["Build", "KernelResources", "Library", "build", "code_for", "refusals", "static_sizes"]

FORMAT = 1  # raised whenever the same sources would give another entry in the cache


def build(
    task: Task,
    sources: Mapping[str, bytes],
    *,
    toolchain: Toolchain,
    cache: Cache,
    target_sm: int | None,
    timeout_s: float = 300.0,
    say: Callable[[str], None] = lambda line: None,
    side_by_side: bool = True,
) -> Build:
    """The kernel compiled, from the cache if it was compiled before.

    `sources` has names relative to kernel/. `target_sm` is the compute capability of the judging device (90), None
    for the task's own. A kernel's error is in the result; ToolError says that the machine failed, twice.
    `side_by_side=False` runs plain nvcc.
    """
    code = code_for(task.arch, target_sm)
    if refused := refusals(sources):
        return Build(False, (), code, "\n".join(refused) + "\n", 1, 0.0, False)
    options = flags(toolchain, task.arch, target_sm)
    statics = static_sizes(task)
    headers = [abi.header(task, static) for static in statics]
    key = _key(sources, headers, options, toolchain)
    known = store.load(cache, key)
    if known is not None:
        say("compiled before: taken from the cache")
        return known
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cutegen-build-") as folder:
        variants = [_write(Path(folder) / str(n), sources, header) for n, header in enumerate(headers)]
        say(_announcement(variants, code))
        compiled = _try_twice(variants, options, toolchain, timeout_s, say, side_by_side=side_by_side)
        seconds = time.monotonic() - started
        result = _result(compiled, variants, statics, code, seconds, timeout_s)
        return result if result.exit_code is None else store.save(cache, key, result)


def code_for(arch: str, target_sm: int | None) -> str:
    """What runs on the judging device. TaskError if it is too old for the task's PTX."""
    number = re.fullmatch(r"sm_(\d+)[af]?", arch)
    if number is None:
        raise TaskError(f'[target] arch is {arch!r}; write it as "sm_89"')
    if target_sm is None or target_sm == int(number[1]):
        return arch
    if target_sm < int(number[1]):
        raise TaskError(
            f"this GPU is sm_{target_sm} and cannot run code for {arch}; judge on a newer one, "
            f'or make another task with [target] arch = "sm_{target_sm}"'
        )
    return f"compute_{number[1]}->sm_{target_sm}"


def static_sizes(task: Task) -> list[dict[str, int]]:
    """The distinct sizes of the compile-time axes over all workloads, in the task's order."""
    found: list[dict[str, int]] = []
    for workload in task.workloads:
        sizes = {axis: workload.axes[axis] for axis in task.static}
        if sizes not in found:
            found.append(sizes)
    return found


def _key(
    sources: Mapping[str, bytes], headers: Sequence[str], options: Sequence[str], toolchain: Toolchain
) -> str:
    parts = [
        FORMAT,
        {name: hashlib.sha256(content).hexdigest() for name, content in sources.items()},
        list(headers),
        list(options),
        toolchain.identity,
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _write(folder: Path, sources: Mapping[str, bytes], header: str) -> Variant:
    digest = hashlib.sha256(header.encode())
    for name, content in sorted(sources.items()):
        file = folder / "kernel" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        digest.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
    (folder / HEADER).write_text(header)
    for more in ("obj", "lib"):
        (folder / more).mkdir()
    names = sorted(
        (name for name in sources if name.endswith(".cu")), key=lambda name: (name != "kernel.cu", name)
    )
    return Variant(folder, tuple(f"kernel/{name}" for name in names), digest.hexdigest())


def _announcement(variants: Sequence[Variant], code: str) -> str:
    files = " ".join(variants[0].sources)
    many = f", {len(variants)} sets of static sizes" if len(variants) > 1 else ""
    return f"compiling {files} for {code}{many}"


def _try_twice(
    variants: Sequence[Variant],
    options: Sequence[str],
    toolchain: Toolchain,
    timeout_s: float,
    say: Callable[[str], None],
    *,
    side_by_side: bool,
) -> Compiled:
    for variant in variants:
        # NVIDIA's wheels hold libcudart.so.13 without the name that linkers look for.
        (variant.folder / "lib" / "libcudart.so").symlink_to(toolchain.cudart)
    try:
        return compile_variants(variants, options, toolchain, timeout_s, say, side_by_side=side_by_side)
    except ToolError as error:
        say(f"{error}; trying once more")
        return compile_variants(variants, options, toolchain, timeout_s, say, side_by_side=side_by_side)


def _result(
    compiled: Compiled,
    variants: Sequence[Variant],
    statics: Sequence[Mapping[str, int]],
    code: str,
    seconds: float,
    timeout_s: float,
) -> Build:
    if compiled.exit_code is None:
        log = compiled.logs[-1] + f"nvcc: error: stopped at the time limit of {timeout_s:.0f} s\n"
        return Build(False, (), code, log, None, seconds, False)
    if compiled.exit_code != 0:
        sizes = statics[len(compiled.logs) - 1]
        title = (
            "with " + ", ".join(f"{axis} = {size}" for axis, size in sizes.items()) + ":\n" if sizes else ""
        )
        return Build(False, (), code, title + compiled.logs[-1], compiled.exit_code, seconds, False)
    libraries = tuple(
        _library(variant, static, code, log)
        for variant, static, log in zip(variants, statics, compiled.logs, strict=True)
    )
    return Build(True, libraries, code, "".join(compiled.logs), 0, seconds, False)


def _library(variant: Variant, static: Mapping[str, int], code: str, log: str) -> Library:
    runs = code.split("->")[-1]
    cubins = tuple(
        variant.folder / "obj" / f"{PurePosixPath(name).stem}.{runs}.cubin" for name in variant.sources
    )
    return Library(dict(static), variant.folder / LIBRARY, cubins, ptxas.resources(log, ptxas.demangle))
