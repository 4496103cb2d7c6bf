"""Whether a rank workload fits the home device, worked out without data, at `new` and not at the seventh attempt."""

from __future__ import annotations

from collections.abc import Mapping

from cutegen_git.judge.reference import Reference
from cutegen_git.words.errors import TaskError

Axes = Mapping[str, int]
_MIB = 1 << 20
# What the driver reports as total, in MiB.
MEMORY_MIB: Mapping[str, int] = {
    "rtx3060": 12288, "rtx3070": 8192, "rtx3080": 10240, "rtx3090": 24576, "rtx4060": 8188, "rtx4060-ti": 8188,
    "rtx4070": 12282, "rtx4070-ti": 12282, "rtx4080": 16376, "rtx4090": 24564, "rtx4090-laptop": 16376,
    "rtx5080": 16303, "rtx5090": 32607, "l4": 23034, "l40": 46068, "l40s": 46068, "a10": 23028,
    "rtx-6000-ada-generation": 49140, "a100-40gb": 40960, "a100": 40960, "h100": 81559, "h200": 143771, "b200": 183359,
}  # fmt: skip
# CUDA's context and libraries, the flush buffers of timing, the allocator's rounding.
RESERVE_BYTES = 700 * _MIB


def needed_bytes(reference: Reference, axes: Axes) -> int:
    """Torch's own form at its fullest, and one output buffer for the kernels."""
    trace = reference.trace(axes)
    return trace.peak_bytes + trace.output_bytes


def room_bytes(device: str) -> int | None:
    """What a task may take there; None for a device of unknown memory."""
    total = MEMORY_MIB.get(device)
    return None if total is None else total * _MIB - RESERVE_BYTES


def fitted(reference: Reference, axes: Axes, step: Mapping[str, int], device: str) -> Axes | None:
    """The sizes with the largest axis halved until they fit; the same where they fit; None where none do."""
    room = room_bytes(device)
    sizes = dict(axes)
    while room is not None and needed_bytes(reference, sizes) > room:
        able = [name for name in sizes if sizes[name] >= 4 * step.get(name, 1)]
        if not able:
            return None
        name = max(able, key=lambda axis: sizes[axis])
        unit = step.get(name, 1)
        sizes[name] = max(sizes[name] // 2 // unit, 1) * unit
    return sizes


def check_fit(
    reference: Reference, axes: Axes, steps: Mapping[str, int], device: str, *, shrink: bool
) -> Axes:
    """The sizes to rank at. TaskError that names sizes that fit, where these do not and may not be shrunk."""
    room = room_bytes(device)
    found = fitted(reference, axes, steps, device)
    if found is not None and (dict(found) == dict(axes) or shrink):
        return found
    assert room is not None
    need = f"{needed_bytes(reference, axes) / 1e9:.1f} GB, and {device} has room for {room / 1e9:.1f}"
    if found is None:
        raise TaskError(
            f"the rank workload needs {need}; its shape is fixed, so choose a home device with --device"
        )
    said = ",".join(f"{name}={size}" for name, size in found.items())
    raise TaskError(f"the rank workload needs {need}; {said} fits (--rank {said}, or --fit)")
