"""Every MMA atom that CuTe has for sm_70 to sm_89 is exact against CuTe's own MMA_Traits.

Two sources that know nothing of each other: the traits say where each fragment element belongs in A, B and C; the
emulator's PTX says what the instruction does with registers. Small integers make every product and sum exact.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from cutegen_git.devices.emulator.build import EmulatorBuild
from cutegen_git.devices.emulator.call import Role, Scalar

from .conftest import Builder, call_kernel, header, tensor

pytestmark = pytest.mark.slow
FIELDS = "const float* A; const float* B; const float* C; float* D; int32_t which;"

SOURCE = """
#include <cute/tensor.hpp>
#include <cute/atom/mma_atom.hpp>
using namespace cute;
namespace atoms {
template <class T>
CUTE_HOST_DEVICE T convert(float v) {
  if constexpr (sizeof(T) == 16) return T(v, v + 1);
  else if constexpr (cute::numeric_limits<T>::is_integer || sizeof_bits_v<T> < 8) return T(int(v));
  else return T(v);
}
template <class T>
CUTE_HOST_DEVICE float back(T const& v) {
  if constexpr (sizeof(T) == 16) return float(v.real());
  else return float(v);
}
template <class Op>
__global__ void kernel(float const* A, float const* B, float const* C, float* D) {
  using Traits = MMA_Traits<Op>;
  constexpr bool quad = size(typename Traits::ThrID{}) == 8;
  int lane = threadIdx.x;
  int thread = quad ? lane % 4 + (lane >= 16 ? 4 : 0) : lane;
  typename Traits::ALayout la;
  typename Traits::BLayout lb;
  typename Traits::CLayout lc;
  constexpr int VA = size<1>(typename Traits::ALayout{}), VB = size<1>(typename Traits::BLayout{}), VC = size<1>(typename Traits::CLayout{});
  auto rA = make_tensor<typename Traits::ValTypeA>(Shape<Int<VA>>{});
  auto rB = make_tensor<typename Traits::ValTypeB>(Shape<Int<VB>>{});
  auto rC = make_tensor<typename Traits::ValTypeC>(Shape<Int<VC>>{});
  auto rD = make_tensor<typename Traits::ValTypeD>(Shape<Int<VC>>{});
  for (int i = 0; i < VA; ++i) rA(i) = convert<typename Traits::ValTypeA>(A[la(thread, i)]);
  for (int i = 0; i < VB; ++i) rB(i) = convert<typename Traits::ValTypeB>(B[lb(thread, i)]);
  for (int i = 0; i < VC; ++i) rC(i) = convert<typename Traits::ValTypeC>(C[lc(thread, i)]);
  mma_unpack(Traits{}, rD, rA, rB, rC);
  if (!quad || lane % 16 < 4)
    for (int i = 0; i < VC; ++i) D[lc(thread, i)] = back(typename Traits::ValTypeD(rD(i)));
}
}
namespace atoms {
// Which elements of B the traits name at all.
template <class Op>
__global__ void cover(float* D) {
  typename MMA_Traits<Op>::BLayout lb;
  for (int i = 0; i < size<1>(typename MMA_Traits<Op>::BLayout{}); ++i) atomicExch(D + lb(threadIdx.x, i), 1.0f);
}
}
extern "C" cudaError_t launch(const Args& a, cudaStream_t s) {
  switch (a.which) {
CASES
COVER
    default: return cudaErrorInvalidValue;
  }
  return cudaGetLastError();
}
"""
SKIPPED = {
    "SM80_8x8x4_GC64C64C64GC64_TN",  # its result is no number that numpy has
    "SM80_16x8x128_S32U1U1S32_TN_ANDPOPC",  # the traits of CUTLASS 4.2 do not compile (a rank-1 layout)
    "SM80_16x8x128_S32U1U1S32_TN_XORPOPC",
}


def atoms_of(cute: Path, arch: str) -> list[str]:
    text = (cute / f"arch/mma_{arch}.hpp").read_text()
    return [n for n in re.findall(r"^struct (SM\d+_\d+x\d+x\d+_\w+)", text, re.MULTILINE) if n not in SKIPPED]


def ranges(name: str, which: int) -> tuple[int, int]:
    """Values that the operand type and an fp16 accumulator hold exactly."""
    types = re.findall(r"F16|F32|F64|BF16|TF32|E4M3|E5M2|C64|[SU]\d+", name.split("_")[2])
    kind = types[1 + which] if len(types) == 4 else "F16"
    return {"U1": (0, 2), "U4": (0, 16), "S4": (-8, 8), "U8": (0, 30), "S8": (-15, 15)}.get(kind, (-4, 5))


def expected(name: str, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    if "ANDPOPC" in name:
        return (a[:, None, :].astype(int) & b[None, :, :].astype(int)).sum(2) + c
    if "XORPOPC" in name:
        return (a[:, None, :].astype(int) ^ b[None, :, :].astype(int)).sum(2) + c
    if "C64" in name:
        return ((a + 1j * (a + 1)) @ (b + 1j * (b + 1)).T + c + 1j * (c + 1)).real
    return a.astype(np.float64) @ b.astype(np.float64).T + c


@pytest.mark.parametrize("arch", ["sm70", "sm75", "sm80", "sm89"])
def test_every_atom_is_exact_against_its_traits(
    builder: Builder, include_dirs: list[Path], arch: str
) -> None:
    names = atoms_of(include_dirs[0] / "cute", arch)
    assert names
    call = "<<<1, 32, 0, s>>>"
    cases = "\n".join(
        f"case {i}: atoms::kernel<{n}>{call}(a.A, a.B, a.C, a.D); break;" for i, n in enumerate(names)
    )
    cover = "\n".join(
        f"case {1000 + i}: atoms::cover<{n}>{call}(a.D); break;"
        for i, n in enumerate(names)
        if n[:4] != "SM70"
    )
    built = builder(SOURCE.replace("CASES", cases).replace("COVER", cover), header(FIELDS))
    wrong = {name for i, name in enumerate(names) if not exact(built, name, i)}
    # Traits that name some elements twice and others never can not be right; CUTLASS 4.2 has them for 4 bits at K = 32.
    broken = {
        name for i, name in enumerate(names) if name[:4] != "SM70" and not covers(built, name, 1000 + i)
    }
    assert wrong <= broken
    assert all(re.match(r"SM80_16x8x32_S32[SU]4[SU]4S32_TN", name) for name in broken)


def shape_of(name: str) -> tuple[int, int, int]:
    m, n, k = map(int, re.search(r"_(\d+)x(\d+)x(\d+)_", name).groups())  # type: ignore[union-attr]
    return m, n, k


def covers(built: EmulatorBuild, name: str, which: int) -> bool:
    m, n, k = shape_of(name)
    d = np.zeros(n * k, np.float32)
    one = np.zeros(1, np.float32)
    fields = [tensor(x, one, Role.INPUT) for x in "ABC"]
    call_kernel(built, [*fields, tensor("D", d, Role.INOUT), Scalar("which", "int32", which)], ("forward",))
    return bool((d == 1).all())


def exact(built: EmulatorBuild, name: str, which: int) -> bool:
    m, n, k = shape_of(name)
    rng = np.random.default_rng(which)
    a = rng.integers(*ranges(name, 0), (m, k)).astype(np.float32)
    b = rng.integers(*ranges(name, 1), (n, k)).astype(np.float32)
    c = rng.integers(-9, 9, (m, n)).astype(np.float32)
    d = np.zeros(m * n, np.float32)
    fields = [
        tensor(x, y.T.copy(), Role.INPUT) for x, y in (("A", a), ("B", b), ("C", c))
    ]  # layouts are column-major
    result = call_kernel(
        built, [*fields, tensor("D", d, Role.OUTPUT), Scalar("which", "int32", which)], ("forward", "random")
    )
    assert result.ok, (name, result.status, result.reports, result.unsupported)
    assert result.counters["mma"] > 0, name
    return np.array_equal(d.reshape(n, m).T, expected(name, a, b, c))
