"""Builds a kernel for the CPU: preprocess, rewrite, compile with our own access hooks, link with the runtime.

The result is a program, not a library: one candidate per process, nothing shared with the judge. The kernel's files are
used as they are. A kernel that g++ refuses is a value with g++'s words; where nvcc has accepted the same file, the caller
should read that value as "unsupported here".
"""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from .compiler import COMPILE, PREPROCESS, Step, run_step
from .explain import link_problem, unsupported_error
from .pathscheck import cute_paths_missing
from .rewrite import Unsupported, rewrite
from .runtime import CAGE, NATIVE, Runtime, runtime

DEVICE_WORDS = re.compile(rb"\b__(CUDA_ARCH|CUDACC|NVCC)__\b")
# A macro of this name breaks the headers of GCC, which write __attribute__((__noinline__)).
NOINLINE = re.compile(rb"(?<![(\w])__noinline__\b")
ARGS_SIZE = """
# 1 "cutegen_abi_check"
extern "C" {
unsigned long emu_args_bytes __attribute__((weak)) = sizeof(::Args);
}
"""


class BuildStatus(Enum):
    """How a build ended."""

    OK = "ok"
    COMPILE_ERROR = "compile-error"
    UNSUPPORTED = "unsupported"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class EmulatorBuild:
    """A program that runs the kernel on the CPU, or why there is none."""

    status: BuildStatus
    program: Path | None  # only where ok
    log: str  # the compiler's words, with the user's lines
    unsupported: Unsupported | None  # only where unsupported
    user_files: tuple[str, ...]  # names whose lines a report may show
    time_s: float

    @property
    def ok(self) -> bool:
        return self.status is BuildStatus.OK


class Failed(Exception):
    """Carries the value that ends a build early; never leaves this module."""

    def __init__(self, status: BuildStatus, log: str, unsupported: Unsupported | None = None) -> None:
        super().__init__(log)
        self.status, self.log, self.unsupported = status, log, unsupported


@dataclass(frozen=True, slots=True)
class Plan:
    """What every step of one build needs."""

    source_dir: Path
    out_dir: Path
    include_dirs: tuple[Path, ...]
    user_files: tuple[str, ...]
    has_args: bool  # does the header declare struct Args?
    deadline_s: float  # on the monotonic clock


def build(
    sources: Mapping[str, bytes],
    header: str,
    include_dirs: Sequence[Path],
    out_dir: Path,
    *,
    timeout_s: float = 120.0,
    runtime_dir: Path | None = None,
) -> EmulatorBuild:
    """The program for these kernel files. `out_dir` is the caller's content-hash folder; a finished one is used again.

    `sources` maps names under kernel/ to bytes; `header` is the text that is included before each of them;
    `include_dirs` hold cute/ and cuda_runtime.h (and CUDA 13's cccl). `runtime_dir` keeps the runtime's objects.
    """
    begin, out_dir = time.monotonic(), out_dir.resolve()
    plan = Plan(
        out_dir / "src",
        out_dir,
        tuple(folder.resolve() for folder in include_dirs),
        tuple(sorted(sources)),
        "struct Args" in header,
        begin + timeout_s,
    )
    out_dir.mkdir(parents=True, exist_ok=True)
    with (out_dir / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = build_locked(plan, sources, header, runtime_dir)
    return replace(result, time_s=time.monotonic() - begin)


def build_locked(
    plan: Plan, sources: Mapping[str, bytes], header: str, runtime_dir: Path | None
) -> EmulatorBuild:
    """The build, by the one process that holds the folder's lock."""
    result = EmulatorBuild(BuildStatus.OK, plan.out_dir / "program", "", None, plan.user_files, 0.0)
    if (plan.out_dir / "done").is_file():
        return result
    write_sources(plan.source_dir, sources, header)
    try:
        objects = [compile_one(plan, name) for name in plan.user_files if name.endswith(".cu")]
        link(plan, objects, runtime(plan.include_dirs, runtime_dir))
    except Failed as failed:
        return replace(
            result, status=failed.status, program=None, log=failed.log, unsupported=failed.unsupported
        )
    (plan.out_dir / "done").write_text("")
    return result


def write_sources(folder: Path, sources: Mapping[str, bytes], header: str) -> None:
    """The files as given, but for the names by which code asks whether it is compiled for a device."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cutegen_abi.h").write_text(header)
    for name, data in sources.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(NOINLINE.sub(b"EMU_NOINLINE", DEVICE_WORDS.sub(rb"EMU_\1", data)))


def compile_one(plan: Plan, name: str) -> Path:
    """The object file of one .cu file."""
    stem = plan.out_dir / name.replace("/", "_")
    preprocessed = plan.out_dir / f"{stem.name}.cpp"
    user = [a for folder in plan.include_dirs if not is_system(folder) for a in ("-I", str(folder))]
    system = [a for folder in plan.include_dirs for a in system_flags(folder)]
    command = [*PREPROCESS, "-I", str(NATIVE / "shim"), "-I", ".", *user, *system]
    command += [
        "-include",
        str(NATIVE / "cuemu.h"),
        "-include",
        "cutegen_abi.h",
        name,
        "-o",
        str(preprocessed),
    ]
    step(plan, command, name)
    text = rewrite(preprocessed.read_text(errors="replace"), plan.user_files)
    if isinstance(text, Unsupported):
        raise Failed(BuildStatus.UNSUPPORTED, f"{text.file}:{text.line}: {text.construct}", text)
    missing = cute_paths_missing(text)
    if missing:
        raise Failed(BuildStatus.UNSUPPORTED, missing, Unsupported(missing, "", 0))
    preprocessed.write_text(text + (ARGS_SIZE if plan.has_args else ""))
    compiled = plan.out_dir / f"{stem.name}.o"
    step(plan, [*COMPILE, "-x", "c++-cpp-output", str(preprocessed), "-o", str(compiled)], name)
    renames = [f"--redefine-sym={f}=emu_{f}" for f in ("memcpy", "memmove", "memset")]
    step(plan, ["objcopy", *renames, str(compiled)], name)
    return compiled


def is_system(folder: Path) -> bool:
    """CUDA's own headers: their asm statements are the host's, not ours to rewrite."""
    return (folder / "cuda_runtime.h").is_file() or (folder / "cuda" / "std").is_dir()


def system_flags(folder: Path) -> list[str]:
    if not is_system(folder):
        return []
    flags = ["-isystem", str(folder)]
    if (folder / "cccl").is_dir():
        flags += ["-isystem", str(folder / "cccl")]
    return flags


def step(plan: Plan, command: Sequence[str], name: str) -> None:
    """Runs one tool; its failure is the build's result."""
    done = run_step(Step(tuple(command), plan.source_dir, plan.deadline_s - time.monotonic()))
    if done is None:
        raise Failed(BuildStatus.TIMEOUT, f"{command[0]} on {name} took too long")
    code, log = done
    if code == 0:
        return
    known = unsupported_error(log, plan.user_files)
    if known:
        raise Failed(BuildStatus.UNSUPPORTED, log, known)
    raise Failed(BuildStatus.COMPILE_ERROR, log)


def link(plan: Plan, objects: Sequence[Path], made: Runtime) -> None:
    """The program, from the runtime's objects and the kernel's, and beside it the cage that starts it."""
    if not objects:
        raise Failed(BuildStatus.COMPILE_ERROR, "no .cu file among the sources")
    command = [
        "g++",
        "-no-pie",
        "-o",
        str(plan.out_dir / "program"),
        *map(str, made.objects),  # first: the process confines itself before anything of the kernel's
        *map(str, objects),
        "-lm",
    ]
    done = subprocess.run(command, cwd=plan.source_dir, capture_output=True, text=True, check=False)
    if done.returncode:
        unsupported = link_problem(done.stderr)
        status = BuildStatus.UNSUPPORTED if unsupported else BuildStatus.COMPILE_ERROR
        raise Failed(status, done.stderr, unsupported)
    shutil.copy2(made.cage, plan.out_dir / CAGE)
