"""What time a task needs at least on a device (design judge.md, section 6).

`impossible_us` is physics: compulsory bytes, less what the L2 can keep, at a little more than the memory's stated
bandwidth. It has no arithmetic term: triangular products, Winograd and algebra are honest ways to do less.
"""

from __future__ import annotations

from collections.abc import Mapping

from cutegen_git.core.shapes import span_bytes
from cutegen_git.words.device import Device
from cutegen_git.words.task import Axes, Family, Task

HEADROOM = 1.05  # memory clocks may be raised a little

# GB/s of device memory by the vendor's data sheets. Unknown cards have no floor.
STATED_GB_S: Mapping[str, float] = {
    "rtx4090": 1008, "rtx4090-laptop": 576, "rtx4080": 717, "rtx4080-super": 736, "rtx4070-ti": 504,
    "rtx4070": 504, "rtx4060-ti": 288, "rtx4060": 272, "rtx6000-ada-generation": 960, "l40s": 864, "l40": 864,
    "l4": 300, "rtx5090": 1792, "rtx5080": 960, "rtx3090": 936, "a100-sxm4-80gb": 2039, "a100-sxm4-40gb": 1555,
    "a100-80gb-pcie": 1935, "h100-80gb-hbm3": 3352, "h100-pcie": 2039, "h200": 4800, "b200": 8000,
}  # fmt: skip


# Families whose every input element must be read. Triangular products, look-ups and masks leave some out.
_READS_ALL = (Family.ELEMENTWISE, Family.REDUCTION, Family.SOFTMAX, Family.NORM)


def compulsory_bytes(task: Task, axes: Axes) -> int:
    """Every output written once and, where the family needs it, every input read once."""
    read = task.signature.tensors() if task.family in _READS_ALL else ()
    return sum(span_bytes(spec, axes) for spec in (*read, *task.signature.outputs))


def impossible_us(task: Task, axes: Axes, device: Device) -> float:
    """Microseconds below which no kernel can be on this device; 0 where nothing is known of it."""
    stated = STATED_GB_S.get(device.slug)
    if stated is None:
        return 0.0
    moved = compulsory_bytes(task, axes) - device.l2_bytes
    return max(0.0, moved / (HEADROOM * stated * 1e9) * 1e6)
