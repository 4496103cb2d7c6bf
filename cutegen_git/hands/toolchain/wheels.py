"""Installs NVIDIA's compiler from its wheels, with the running Python's pip and the user's pip settings."""

from __future__ import annotations

import sys
from collections.abc import Callable

from cutegen_git.hands import process
from cutegen_git.words.errors import CutegenError

from .cutlass import require_pip
from .locate import CUDA_WHEELS

INSTALL_TIMEOUT_S = 1800.0


def install_cuda(say: Callable[[str], None] = lambda line: None) -> None:
    """Returns when nvcc and its libraries are in the running environment (340 MB)."""
    require_pip()
    say(f"installing {' '.join(CUDA_WHEELS)}")
    command = [sys.executable, "-m", "pip", "install", "--quiet", *CUDA_WHEELS]
    done = process.run(command, timeout_s=INSTALL_TIMEOUT_S)
    if "externally-managed-environment" in done.errors():
        raise CutegenError(
            "this Python belongs to the system and takes no packages; install cutegen-git into a virtual "
            "environment: python3 -m venv ~/.venvs/cutegen-git"
        )
    done.check()
