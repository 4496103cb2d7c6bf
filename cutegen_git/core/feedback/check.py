"""What a failed check tells the model: a few lines with places, numbers and the pattern of the error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cutegen_git.words.verdict import Outcome

# Errors after which a CUDA context is dead (driver_types.h), and what each means to the author of a kernel.
_STICKY = {
    "700": "an illegal memory access",
    "702": "a kernel ran too long",
    "710": "a device-side assertion",
    "714": "a hardware stack error (stack overflow)",
    "715": "an illegal instruction",
    "716": "a misaligned address: a 16-byte access needs a 16-byte aligned pointer",
    "717": "an address outside the memory space that the instruction works on",
    "718": "an invalid program counter",
    "719": "an unspecified launch failure, often a bad address in shared memory or a trap",
}
_LAUNCH = {
    "1": "an invalid argument, such as more dynamic shared memory than cudaFuncSetAttribute allowed",
    "2": "out of device memory",
    "9": "an invalid launch configuration: grid and block sizes must be within limits and not 0",
    "98": "an invalid device function",
    "701": "too many resources for launch: registers or shared memory per block",
    "801": "the kernel says that it does not support this shape; it must do every workload of the task",
}
_STAGES = {
    "sync": "while the kernel ran",
    "launch": "at launch",
    "setup": "in setup",
    "prepare": "in prepare",
}
_TILES = (256, 128, 96, 64, 48, 32, 16, 8)


def cuda_trouble(stage: str, code: int, name: str) -> tuple[Outcome, str]:
    """The outcome and a sentence for a CUDA error at a stage of a call."""
    place = _STAGES.get(stage, f"at {stage}")
    if sticky := _STICKY.get(str(code)):
        return Outcome.CRASHED, f"{name} {place}: {sticky}"
    meaning = _LAUNCH.get(str(code))
    return Outcome.LAUNCH_FAILED, f"{name} (error {code}) {place}" + (f": {meaning}" if meaning else "")


@dataclass(frozen=True, slots=True)
class Element:
    """One wrong element."""

    index: tuple[int, ...]
    got: float
    want: float


@dataclass(frozen=True, slots=True)
class Extent:
    """Where along one dimension wrong elements lie."""

    size: int
    first: int
    last: int
    count: int  # distinct positions with at least one wrong element
    step: int = 1  # greatest common distance between them


@dataclass(frozen=True, slots=True)
class Mismatch:
    """What is wrong with one output."""

    output: str
    wrong: int  # elements
    total: int
    nan: int = 0  # of the wrong ones: NaN or infinite where the reference is not
    unwritten: int = 0  # of the wrong ones: still hold the judge's fill
    worst: Sequence[Element] = ()
    extents: Sequence[Extent] = ()  # one a dimension
    note: str = ""  # the numbers of a precision check


def describe(mismatch: Mismatch, workload: str, data: str, *, word: str = "wrong") -> list[str]:
    """Lines for people and models, most telling first."""
    share = 100.0 * mismatch.wrong / max(1, mismatch.total)
    lines = [
        f"{mismatch.output} is {word} at {workload} ({data} data): {mismatch.wrong} of {mismatch.total} elements"
        f" ({share:.3g} %)"
    ]
    if mismatch.unwritten:
        lines.append(
            f"{mismatch.unwritten} elements were never written (the output is filled with NaN before the call)"
        )
    if mismatch.nan > mismatch.unwritten:
        lines.append(
            f"{mismatch.nan - mismatch.unwritten} elements are NaN or infinite where the reference is finite"
        )
    lines += [line for line in map(_extent, range(len(mismatch.extents)), mismatch.extents) if line]
    if mismatch.note:
        lines.append(mismatch.note)
    lines += [
        f"  {mismatch.output}{list(e.index)}: got {e.got:.9g}, want {e.want:.9g}" for e in mismatch.worst
    ]
    return lines


def _extent(dimension: int, extent: Extent) -> str:
    """Where along a dimension; "" when everywhere."""
    if extent.count == extent.size or extent.size == 1:
        return ""
    where = f"{extent.first}" if extent.count == 1 else f"{extent.first} to {extent.last}"
    text = f"dimension {dimension}: wrong only at {where} ({extent.count} of {extent.size} positions)"
    if extent.step > 1:
        text += f", every {extent.step}th from {extent.first}"
    if extent.first and extent.last == extent.size - 1 and extent.step == 1:
        tile = next((tile for tile in _TILES if extent.first % tile == 0 and extent.size % tile), None)
        if tile:
            text += f"; that is the tail after the last full tile of {tile}"
    if not extent.first and extent.last < extent.size - 1 and extent.step == 1:
        text += "; the rest is right"
    return text


def where_it_fails(wrong: Sequence[str], right: Sequence[str]) -> list[str]:
    """Which workloads fail and which do not: often the whole story. Nothing when there is only one."""
    if len(wrong) + len(right) < 2:
        return []
    return [f"fails at {', '.join(wrong)}; right at {', '.join(right) or 'none of the others tried'}"]
