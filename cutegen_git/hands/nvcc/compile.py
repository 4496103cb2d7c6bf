"""Compiles one set of sources with nvcc, for one or more sets of static sizes."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cutegen_git.hands import process
from cutegen_git.hands.toolchain import Toolchain
from cutegen_git.words.errors import ToolError

from .plan import UnknownPlan, read_plan, search_path
from .schedule import Job, Schedule

HEADER = "cutegen_abi.h"
LIBRARY = "kernel.so"
# What a tool itself says when the machine, and not the source, is to blame. Anchored: a kernel's own messages
# (static_assert, #error) are quoted behind a file name or in an indented line.
_MACHINE = re.compile(
    r"^(?:nvcc error\s*:.*died due to signal|nvcc fatal\s*:|"
    r"(?:\S*(?:g\+\+|gcc|cc1plus|collect2|ld|as|cicc|cudafe\+\+|ptxas|nvlink|fatbinary)\s*:|LLVM ERROR:|fatal error:)"
    r".*(?:Killed signal|[Oo]ut of memory|memory exhausted|allocate memory|No space left)).*$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Variant:
    """One library to make: a folder with the sources in kernel/ and the generated header."""

    folder: Path
    sources: tuple[str, ...]  # the .cu files, "kernel/kernel.cu" first
    salt: str  # same content, same salt: names the internal symbols


@dataclass(frozen=True, slots=True)
class Compiled:
    """How nvcc ended: one log for each variant, in order, the last being the failed one."""

    exit_code: int | None  # None: stopped at the time limit
    logs: tuple[str, ...]


def flags(toolchain: Toolchain, arch: str, target_sm: int | None) -> tuple[str, ...]:
    """nvcc's options; relative folders are those of a variant."""
    number = arch.removeprefix("sm_")
    code = ["-gencode", f"arch=compute_{number},code=[sm_{number},compute_{number}]"]
    if target_sm is not None and str(target_sm) != number:
        code += ["-gencode", f"arch=compute_{number},code=sm_{target_sm}"]
    libraries = [f"-L{folder}" for folder in toolchain.lib_dirs]
    link = [f"-Xlinker=-rpath={toolchain.cudart.parent}"]
    link += ["-Xlinker=--no-undefined", "-Xlinker=--require-defined=launch"]
    includes = [word for folder in toolchain.include_dirs for word in ("-isystem", str(folder))]
    return (
        *("-std=c++17", "-O3", "--expt-relaxed-constexpr", "-lineinfo", "-Xptxas", "-v"),
        *("-shared", "-cudart", "shared", "-Xcompiler", "-fPIC", "-ccbin", str(toolchain.host_compiler)),
        *("-include", HEADER, "-Ikernel", *includes, *code, "-Llib", *libraries, *link),
    )


def compile_variants(
    variants: Sequence[Variant],
    options: Sequence[str],
    toolchain: Toolchain,
    timeout_s: float,
    say: Callable[[str], None],
    *,
    side_by_side: bool = True,
) -> Compiled:
    """The outcome of one try. ToolError when the machine failed: a signal, no memory, no disk."""
    started = time.monotonic()
    deadline = started + timeout_s
    jobs: list[Job] = []
    owners: list[int] = []
    for number, variant in enumerate(variants):
        more = _jobs(variant, options, toolchain, len(jobs), deadline if side_by_side else None)
        jobs += more
        owners += [number] * len(more)

    def tick(what: str) -> None:
        say(f"compiling, {time.monotonic() - started:.0f} s: {what}")

    schedule = Schedule(jobs, workers=max(1, len(os.sched_getaffinity(0))))
    in_time = schedule.run(deadline, tick)
    failed = schedule.failed
    if failed is not None:
        _blame_machine(jobs[failed], schedule.codes[failed], schedule.output(failed))
    last = len(jobs) - 1 if failed is None else failed
    logs = [""] * (owners[last] + 1)
    for index in range(last + 1):
        logs[owners[index]] += schedule.output(index)
    exit_code = 0 if failed is None else schedule.codes[failed]
    return Compiled(exit_code if in_time else None, tuple(logs))


def _jobs(
    variant: Variant, options: Sequence[str], toolchain: Toolchain, first: int, plan_until: float | None
) -> list[Job]:
    """The commands of one variant, planned until then; one command, plain nvcc, where there is no plan."""
    env = _environment(variant.folder)
    nvcc = (str(toolchain.nvcc), *options, "-keep", "-keep-dir", "obj", *variant.sources, "-o", LIBRARY)
    output = variant.folder / "log"
    output.mkdir(exist_ok=True)
    if plan_until is not None:
        left_s = max(0.1, plan_until - time.monotonic())
        done = process.run([*nvcc, "--dryrun"], timeout_s=left_s, cwd=variant.folder, env=env)
        try:
            plan = read_plan(done.errors() if done.ok else "", salt=variant.salt)
        except UnknownPlan:
            pass
        else:
            env = {**env, **search_path(done.errors())}
            for file, content in plan.module_ids.items():
                (variant.folder / file).write_text(content)
            return [
                Job(
                    _found(command.argv, env["PATH"]),
                    tuple(first + need for need in command.needs),
                    command.title,
                    variant.folder,
                    env,
                    output / str(number),
                )
                for number, command in enumerate(plan.commands)
            ]
    return [Job(nvcc, (), "nvcc", variant.folder, env, output / "0")]


def _environment(folder: Path) -> dict[str, str]:
    """No keys, no settings of the user's: what compilers need and nothing else."""
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    path = os.environ.get("PATH", os.defpath)
    return {"PATH": path, "HOME": str(temporary), "TMPDIR": str(temporary), "LANG": "C", "LC_ALL": "C"}


def _found(argv: tuple[str, ...], path: str) -> tuple[str, ...]:
    """The command with its program's full path: Popen would search our own PATH, not the one nvcc sets."""
    return (shutil.which(argv[0], path=path) or argv[0], *argv[1:])


def _blame_machine(job: Job, code: int, output: str) -> None:
    if code < 0:
        raise ToolError(list(job.argv), code, "", output, why=f"killed by signal {-code}")
    if found := _MACHINE.search(output):
        raise ToolError([job.title], code, "", found[0], why="the machine is to blame, not the kernel")
