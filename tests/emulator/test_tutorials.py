"""CuTe programs that nobody here wrote: the tutorial kernels of CUTLASS, read from the installed package.

Kernels and their host functions are used as they are; main() and the includes that only main() needs are cut off.
"""

from __future__ import annotations

import functools
import re
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from cutegen_git.devices.emulator.call import Role, Scalar
from cutegen_git.hands.cache import Cache
from cutegen_git.hands.toolchain import cutlass

from .conftest import Builder, call_kernel, header, tensor

pytestmark = pytest.mark.slow
TUTORIALS = "cutlass_library/source/examples/cute/tutorial/"

GEMM = """
extern "C" cudaError_t launch(const Args& a, cudaStream_t s) {
  gemm(a.nt ? 'N' : 'T', a.nt ? 'T' : 'N', a.m, a.n, a.k, TYPE_SCALAR(1.0f), a.A, a.nt ? a.m : a.k, a.B, a.nt ? a.n : a.k,
       TYPE_SCALAR(0.0f), a.C, a.m, s);
  return cudaGetLastError();
}
"""
COPY = """
extern "C" cudaError_t launch(const Args& a, cudaStream_t s) {
  using namespace cute;
  auto layout = make_layout(make_shape(a.m, a.n));
  auto block = make_shape(Int<128>{}, Int<64>{});
  auto S = tiled_divide(make_tensor(make_gmem_ptr(a.A), layout), block);
  auto D = tiled_divide(make_tensor(make_gmem_ptr(a.C), layout), block);
  auto threads = make_layout(make_shape(Int<32>{}, Int<8>{}));
  dim3 grid(size<1>(D), size<2>(D));
  if (a.nt) {
    auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<uint_byte_t<16>>, float>{}, threads, make_layout(make_shape(Int<4>{}, Int<1>{})));
    copy_kernel_vectorized<<<grid, dim3(size(threads)), 0, s>>>(S, D, tiled);
  } else {
    copy_kernel<<<grid, dim3(size(threads)), 0, s>>>(S, D, threads);
  }
  return cudaGetLastError();
}
"""
FLOATS = "const float* A; const float* B; float* C; int32_t m, n, k, nt;"
HALVES = FLOATS.replace("float*", "__half*")
# The half kernel of sgemm_sm80 takes cute's type and accumulates in fp16.
HALF = (
    GEMM.replace("a.A,", "(cute::half_t const*)a.A,")
    .replace("a.B,", "(cute::half_t const*)a.B,")
    .replace("a.C,", "(cute::half_t*)a.C,")
)


@functools.cache
def examples() -> Path:
    """CUTLASS's examples: in the pinned wheel, not among the headers that the tool keeps."""

    def unpack(folder: Path) -> None:
        with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(wheel(Path(scratch))) as archive:
            for name in archive.namelist():
                if name.startswith(TUTORIALS) and name.endswith(".cu"):
                    (folder / Path(name).name).write_bytes(archive.read(name))

    def wheel(folder: Path) -> Path:
        found = cutlass.download(cutlass.CUTLASS_WHEEL, folder)
        cutlass.check_sha256(found, cutlass.CUTLASS_SHA256)
        return found

    cache = Cache.default()
    return cache.get("cutlass-tutorials", cutlass.CUTLASS_SHA256) or cache.put(
        "cutlass-tutorials", cutlass.CUTLASS_SHA256, unpack
    )


def tutorial(include_dirs: list[Path], name: str) -> str:
    place = include_dirs[0].parent / "examples/cute/tutorial" / f"{name}.cu"
    if not place.is_file():
        place = examples() / f"{name}.cu"
    text = place.read_text().split("int main(")[0]
    return re.sub(r'#include\s*[<"](?:thrust|cutlass/util)/[^\n]*\n', "#include <iostream>\n", text)


@pytest.mark.parametrize("name", ["sgemm_1", "sgemm_2", "sgemm_sm70", "sgemm_sm80"])
def test_tutorial_gemm_is_right_in_both_layouts(
    builder: Builder, include_dirs: list[Path], name: str
) -> None:
    built = builder(tutorial(include_dirs, name) + GEMM.replace("TYPE_SCALAR", "float"), header(FLOATS))
    m, n, k = 256, 128, 64
    rng = np.random.default_rng(0)
    for nt in (0, 1):
        a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((n, k), np.float32)
        c = np.zeros((n, m), np.float32)
        stored = [(v.T if nt else v).copy() for v in (a, b)]
        fields = [
            tensor("A", stored[0], Role.INPUT),
            tensor("B", stored[1], Role.INPUT),
            tensor("C", c, Role.INOUT),
        ]
        sizes = [Scalar(x, "int32", v) for x, v in (("m", m), ("n", n), ("k", k), ("nt", nt))]
        result = call_kernel(built, [*fields, *sizes])
        assert result.ok, (result.status, result.reports, result.unsupported)
        assert not result.reports
        reference = a.astype(np.float64) @ b.astype(np.float64).T
        assert np.abs(c.T - reference).max() <= 2e-6 * np.abs(reference).max()


def test_tutorial_half_gemm_runs_on_tensor_cores(builder: Builder, include_dirs: list[Path]) -> None:
    built = builder(
        tutorial(include_dirs, "sgemm_sm80") + HALF.replace("TYPE_SCALAR", "cute::half_t"), header(HALVES)
    )
    m, n, k = 256, 128, 128
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((r, k)).astype(np.float16) for r in (m, n))
    c = np.zeros((n, m), np.float16)
    fields = [tensor("A", a, Role.INPUT), tensor("B", b, Role.INPUT), tensor("C", c, Role.INOUT)]
    result = call_kernel(
        built, [*fields, *(Scalar(x, "int32", v) for x, v in (("m", m), ("n", n), ("k", k), ("nt", 0)))]
    )
    assert result.ok, (result.status, result.reports, result.unsupported)
    assert result.counters["mma"] > 0
    reference = a.astype(np.float64) @ b.astype(np.float64).T
    assert np.abs(c.T.astype(np.float64) - reference).max() <= 4e-3 * np.abs(reference).max()


def test_tutorial_copies_are_exact(builder: Builder, include_dirs: list[Path]) -> None:
    built = builder(tutorial(include_dirs, "tiled_copy") + COPY, header(FLOATS))
    for nt in (0, 1):
        a = np.random.default_rng(0).standard_normal((512, 256), np.float32)
        c = np.zeros_like(a)
        fields = [tensor("A", a, Role.INPUT), tensor("B", a, Role.INPUT), tensor("C", c, Role.OUTPUT)]
        sizes = [Scalar(x, "int32", v) for x, v in (("m", 256), ("n", 512), ("k", 1), ("nt", nt))]
        result = call_kernel(built, [*fields, *sizes])
        assert result.ok, (result.status, result.reports, result.unsupported)
        assert not result.reports
        assert np.array_equal(a, c)
