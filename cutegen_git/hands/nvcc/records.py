"""What a build gives: libraries and what the compiler said, or the compiler's refusal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class KernelResources:
    """What ptxas reports of one kernel for one architecture."""

    name: str  # demangled, e.g. "softmax(float const*, float*, int)"
    arch: str  # "sm_89"
    registers: int  # a thread
    smem_bytes: int  # static shared memory of a block
    stack_bytes: int  # of a thread
    spill_store_bytes: int  # of a thread
    spill_load_bytes: int


@dataclass(frozen=True, slots=True)
class Library:
    """One shared library with the ABI's functions."""

    static: Mapping[str, int]  # sizes of the compile-time axes it is for; empty without any
    path: Path  # in the cache: it may vanish, then build again
    cubins: tuple[
        Path, ...
    ]  # the code that runs on the judging device, one for each .cu file, kernel.cu first
    resources: tuple[KernelResources, ...]  # of every architecture it was compiled for

    @property
    def cubin(self) -> Path | None:
        """The first cubin: the only one where the kernel is one file."""
        return self.cubins[0] if self.cubins else None


@dataclass(frozen=True, slots=True)
class Build:
    """How compiling ended. Not `ok` says something about the kernel, never about the machine."""

    ok: bool
    libraries: tuple[Library, ...]  # one for each tuple of static sizes; empty unless ok
    code: str  # what will run on the judging device: "sm_89", "compute_89->sm_90"
    log: str  # the compiler's output, with the user's file names
    exit_code: int | None  # of the first command that failed; None: stopped at the time limit
    seconds: float  # wall time of the build, also when it comes from the cache
    cached: bool

    def library(self, static: Mapping[str, int]) -> Library:
        """The library for these static sizes; KeyError if the task has no such workload."""
        for library in self.libraries:
            if dict(library.static) == dict(static):
                return library
        raise KeyError(f"no library for {dict(static)}")
