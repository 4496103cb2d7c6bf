"""nvcc, CUDA, CUTLASS and the host compiler: finding them, and fetching CUTLASS's headers."""

from .cutlass import CUTLASS_WHEEL, fetch_cutlass, find_cutlass, require_pip
from .find import Toolchain, find, find_host_compiler, find_nvcc
from .missing import FIX, ToolMissing

__all__ = [
    "CUTLASS_WHEEL",
    "FIX",
    "ToolMissing",
    "Toolchain",
    "fetch_cutlass",
    "find",
    "find_cutlass",
    "find_host_compiler",
    "find_nvcc",
    "require_pip",
]
