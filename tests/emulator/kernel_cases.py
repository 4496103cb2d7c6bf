"""Twelve kinds of kernels, each with shapes, inputs and a float64 reference: the same list serves CPU and GPU.

Nothing here knows the emulator, so that a script on a GPU machine can import it and run the same files through nvcc.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

KERNELS = Path(__file__).parent / "kernels"
ROWS = ((1, 1), (3, 129), (7, 1000), (16, 1024), (33, 257), (64, 96))
GEMMS = ((1, 1, 1), (64, 64, 32), (65, 63, 33), (128, 128, 128), (200, 72, 100), (129, 257, 40))
GEMMS_8 = ((1, 1, 8), (128, 128, 64), (129, 127, 72), (256, 64, 32), (40, 300, 136), (130, 258, 40))
Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Case:
    """One kernel file with everything that a comparison needs."""

    name: str  # of the .cu file
    fields: str  # the body of struct Args
    inputs: tuple[str, ...]  # names of the input tensors
    dtype: str  # of the inputs; "bfloat16" arrays are uint16 here
    out: str  # name of the output
    out_dtype: str
    shapes: tuple[tuple[int, ...], ...]
    reference: Callable[..., Array]  # float64 arrays to a float64 array
    tolerance: float  # of the largest error over the largest reference value
    extra: tuple[str, ...] = ()  # more files of the kernel

    def sources(self) -> dict[str, bytes]:
        files = {"kernel.cu": (KERNELS / f"{self.name}.cu").read_bytes()}
        return files | {name: (KERNELS / name).read_bytes() for name in self.extra}

    def axes(self, shape: tuple[int, ...]) -> dict[str, int]:
        return dict(zip("MNK", shape, strict=False))

    def make_inputs(self, shape: tuple[int, ...], seed: int) -> dict[str, Array]:
        """Arrays as the kernel reads them."""
        rng = np.random.default_rng(seed)
        return {name: stored(rng.standard_normal(size) * (3 if self.dtype != "int8" else 40), self.dtype)
                for name, size in zip(self.inputs, self.sizes(shape), strict=True)}  # fmt: skip

    def sizes(self, shape: tuple[int, ...]) -> list[tuple[int, int]]:
        if len(shape) == 2:
            return [(shape[0], shape[1])]
        return [(shape[0], shape[2]), (shape[1], shape[2])]

    def expected(self, inputs: dict[str, Array]) -> Array:
        return self.reference(*(exact(v, self.dtype) for v in inputs.values()))

    def empty(self, expected: Array) -> Array:
        return np.zeros(expected.shape, self.out_dtype)


def stored(values: Array, dtype: str) -> Array:
    """Values rounded to the type; bfloat16 as its upper 16 bits."""
    if dtype == "bfloat16":
        bits = values.astype(np.float32).view(np.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    if dtype == "int8":
        return np.clip(np.rint(values), -128, 127).astype(np.int8)
    return values.astype(dtype)


def exact(values: Array, dtype: str) -> Array:
    if dtype == "bfloat16":
        return (values.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return values.astype(np.float64)


def gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def layernorm(x: Array) -> Array:
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)


def gemm(a: Array, b: Array) -> Array:
    return a @ b.T


def row_case(
    name: str, reference: Callable[..., Array], tolerance: float, shapes: tuple[tuple[int, int], ...] = ROWS
) -> Case:
    return Case(
        name,
        "const float* x; float* y; int64_t M, N;",
        ("x",),
        "float32",
        "y",
        "float32",
        shapes,
        reference,
        tolerance,
    )


def gemm_case(name: str, c_in: str, dtype: str, c_out: str, out_dtype: str, tolerance: float,
              extra: tuple[str, ...] = (), shapes: tuple[tuple[int, ...], ...] = GEMMS) -> Case:  # fmt: skip
    fields = f"const {c_in}* A; const {c_in}* B; {c_out}* C; int64_t M, N, K;"
    return Case(name, fields, ("A", "B"), dtype, "C", out_dtype, shapes, gemm, tolerance, extra)


SHARED = ("mma_gemm.cuh",)
CASES = (
    row_case("gelu", gelu, 1e-6, (*ROWS, (40, 1024))),
    row_case("row_sum", lambda x: x.sum(1), 1e-6),
    row_case("softmax", softmax, 2e-6),
    row_case("layernorm", layernorm, 2e-6),
    row_case("scan", lambda x: np.cumsum(x, 1), 2e-6),
    row_case("transpose", lambda x: x.T, 0.0),
    gemm_case("sgemm", "float", "float32", "float", "float32", 2e-6),
    gemm_case("hgemm", "__half", "float16", "float", "float32", 2e-6, shapes=GEMMS_8),
    gemm_case("bf16_gemm", "__nv_bfloat16", "bfloat16", "float", "float32", 2e-6, SHARED),
    gemm_case("tf32_gemm", "float", "float32", "float", "float32", 2e-3, SHARED),
    gemm_case("tf32x3_gemm", "float", "float32", "float", "float32", 3e-6, SHARED),
    gemm_case("int8_gemm", "int8_t", "int8", "int32_t", "int32", 0.0, SHARED),
    gemm_case("splitk", "float", "float32", "float", "float32", 2e-6),
)
