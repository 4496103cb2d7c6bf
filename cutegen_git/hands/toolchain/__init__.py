"""nvcc, CUDA, CUTLASS and the host compiler: finding them, and fetching CUTLASS's headers."""

from .cutlass import CUTLASS_SHA256, CUTLASS_WHEEL, fetch_cutlass, find_cutlass, require_pip
from .locate import CUDA_WHEELS, Toolchain, cuda_dirs, find, find_host_compiler, find_nvcc
from .missing import FIX, ToolMissing
from .wheels import install_cuda

__all__ = [
    "CUDA_WHEELS",
    "CUTLASS_SHA256",
    "CUTLASS_WHEEL",
    "FIX",
    "ToolMissing",
    "Toolchain",
    "cuda_dirs",
    "fetch_cutlass",
    "find",
    "find_cutlass",
    "find_host_compiler",
    "find_nvcc",
    "install_cuda",
    "require_pip",
]
