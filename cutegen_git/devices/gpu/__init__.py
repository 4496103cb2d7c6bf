"""NVIDIA GPUs as judging devices. Importing this needs neither torch nor a driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from cutegen_git.hands.toolchain import Toolchain

    from .device import GpuDevice


def open_gpu(
    *, toolchain: Toolchain | None = None, folder: Path | None = None
) -> tuple[GpuDevice | None, str]:
    """The first visible GPU and "", or None and why it cannot judge.

    `folder` keeps the built runner (default: in the user's cache); `toolchain` builds it (default: as found).
    """
    from .driver import find_gpu

    found = find_gpu()
    if isinstance(found, str):
        return None, found
    if why := _torch_trouble():
        return None, why
    from .device import GpuDevice

    return GpuDevice.make(found, folder, toolchain), ""


def _torch_trouble() -> str:
    """Why torch cannot use a GPU, from its metadata: importing it takes seconds."""
    from importlib import metadata

    try:
        version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        return "torch is not installed (pip install 'cutegen-git[judge]')"
    return f"torch {version} is built without CUDA" if version.endswith("+cpu") else ""
