"""What a bench reads off sources, builds and timings. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from cutegen_git.hands import build as builder
from cutegen_git.words.verdict import Resources, Timing

KERNEL_SUFFIXES = (".cu", ".cuh")


def refuse(sources: Mapping[str, bytes], odd_files: Mapping[str, str]) -> str:
    """Why a kernel folder may not be built; "" if it may. First form of the guard (judge.md, section 2)."""
    for path, what in odd_files.items():
        return f"{path} is {what}; kernel/ may hold only plain files"
    if not any(name.endswith(".cu") for name in sources):
        return "kernel/ holds no .cu file"
    odd = [name for name in sources if not name.endswith(KERNEL_SUFFIXES) or "/" in name]
    if odd:
        return f"kernel/ may hold only *.cu and *.cuh, not {', '.join(sorted(odd)[:3])}"
    return ""


def rounded(timing: Timing) -> Timing:
    """To what measuring can tell: nanoseconds, and four decimals of a ratio."""
    return Timing(
        speedup=round(timing.speedup, 4),
        low=round(timing.low, 4),
        high=round(timing.high, 4),
        device_us=round(timing.device_us, 3),
        call_us=round(timing.call_us, 3),
        baseline=timing.baseline,
        baseline_us=round(timing.baseline_us, 3),
    )


def worst_resources(built: builder.Build) -> Resources | None:
    """Of the kernel with most registers, in the code that runs; None where ptxas said nothing."""
    runs = built.code.rpartition("->")[2]
    kernels = [kernel for library in built.libraries for kernel in library.resources if kernel.arch == runs]
    if not kernels:
        return None
    worst = max(kernels, key=lambda kernel: kernel.registers)
    return Resources(worst.registers, worst.smem_bytes, worst.spill_store_bytes + worst.spill_load_bytes)
