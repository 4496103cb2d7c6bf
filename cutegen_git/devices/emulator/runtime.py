"""The runtime's object files: compiled once for this machine, found again by the hash of their sources."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cutegen_git.words.errors import ToolError

NATIVE = Path(__file__).resolve().parent / "native"
# "confine" stays first: its entry must be the first of .preinit_array.
SOURCES = (
    "confine", "sched", "check", "report", "warp", "mma", "ptx_parse", "ptx_math", "ptx_memory", "ptx_warp", "cudart", "atomics", "host",
)  # fmt: skip
CAGE = "cage"
HEADERS = ("rt.h", "warp.h", "ptx.h", "ptx_ops.h", "limits.h")
FLAGS = (
    "-std=c++17",
    "-O2",
    "-g1",
    "-fno-pie",
    "-fcf-protection=none",
    "-fno-stack-protector",
    "-fno-omit-frame-pointer",
)


def default_folder() -> Path:
    """The user's cache, as the XDG rules say."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "cutegen-git" / "emulator"


def engine_hash() -> bytes:
    """Changes with every file of the emulator: what it built or found before is then of no use."""
    total = hashlib.sha256()
    for path in sorted(NATIVE.parent.rglob("*")):
        if path.is_file() and path.suffix in {".py", ".h", ".cpp"}:
            total.update(path.relative_to(NATIVE.parent).as_posix().encode() + b"\0" + path.read_bytes())
    return total.digest()


def machine_flags() -> tuple[str, ...]:
    """Half-precision conversion and wide vectors where the processor has them."""
    try:
        cpu = Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n", 1)[0].split()
    except (OSError, IndexError):
        return ()
    return ("-march=x86-64-v3",) if {"avx2", "f16c", "fma", "bmi2"} <= set(cpu) else ()


@dataclass(frozen=True, slots=True)
class Runtime:
    """What every kernel's program needs."""

    objects: tuple[Path, ...]  # to link with, the one that confines the process first
    cage: Path  # the program that starts it under limits


def runtime(include_dirs: Sequence[Path], folder: Path | None = None) -> Runtime:
    """The runtime, compiled where it is not there yet. Raises ToolError."""
    flags = (*FLAGS, *machine_flags())
    digest = hashlib.sha256(" ".join(flags).encode())
    for name in (*(f"{s}.cpp" for s in (*SOURCES, CAGE)), *HEADERS):
        digest.update((NATIVE / name).read_bytes())
    place = (folder or default_folder()) / digest.hexdigest()[:16]
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        includes = tuple(cuda_flags(include_dirs))
        objects = [compile_source(name, (*flags, *includes, "-c"), place / f"{name}.o") for name in SOURCES]
        return Runtime(tuple(objects), compile_source(CAGE, ("-std=c++17", "-O2"), place / CAGE))


def cuda_flags(include_dirs: Sequence[Path]) -> Iterator[str]:
    for folder in include_dirs:
        if (folder / "cuda_runtime.h").is_file():
            yield from ("-isystem", str(folder))


def compile_source(name: str, flags: Sequence[str], target: Path) -> Path:
    if target.is_file():
        return target
    part = target.with_name(f"{target.name}.part")
    command = ["g++", *flags, str(NATIVE / f"{name}.cpp"), "-o", str(part)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolError(command, done.returncode, done.stdout, done.stderr)
    part.replace(target)
    return target
