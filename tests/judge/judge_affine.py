"""A task that uses all of the kernel ABI, and wrong variants of its kernel."""

from __future__ import annotations

from judge_gemm import Variant

from cutegen_git.words.task import Family, Role, ScalarKind, ScalarSpec, Signature, Task, TensorSpec, Workload
from cutegen_git.words.verdict import Outcome

REFERENCE = b'''"""Y = alpha X W + shift, negated if flip; S = row sums."""
import torch

OUTPUTS = ("Y", "S")


def inputs(axes, *, generator, device):
    m, n = axes["M"], axes["N"]
    return {
        "X": torch.randn(m, n, generator=generator, device=device),
        "W": torch.randn(n, generator=generator, device=device),
        "alpha": 0.75,
        "shift": 3,
        "flip": True,
    }


def reference(X, W, alpha, shift, flip):
    y = X * (alpha * W) + shift
    y = -y if flip else y
    return y, y.sum(-1)
'''
SIZES = ((1, 33), (7, 257), (130, 257), (64, 1024))
RANKS = ((8192, 4096), (64, 4096))  # 128 MiB in and out; small enough for the L2


def task() -> Task:
    """Two outputs, three scalars, a constant input, a static axis."""
    signature = Signature(
        inputs=(
            TensorSpec("X", "float32", ("M", "N")),
            TensorSpec("W", "float32", ("N",), constant=True),
            ScalarSpec("alpha", ScalarKind.FLOAT),
            ScalarSpec("shift", ScalarKind.INT),
            ScalarSpec("flip", ScalarKind.BOOL),
        ),
        outputs=(TensorSpec("Y", "float32", ("M", "N")), TensorSpec("S", "float32", ("M",))),
        axes=("M", "N"),
    )
    checks = [Workload({"M": m, "N": n}, Role.CHECK) for m, n in SIZES]
    ranks = [
        Workload({"M": m, "N": n}, Role.RANK, weight)
        for (m, n), weight in zip(RANKS, (2.0, 1.0), strict=True)
    ]
    return Task("affine", Family.FUSED, "sm_89", "rtx4090", signature, (*checks, *ranks), static=("N",))


def _variant(name: str, outcome: Outcome, old: str = "", new: str = "") -> Variant:
    return Variant(name, outcome, old, new, "affine_ok.cu")


GOOD = _variant("affine ok", Outcome.PASSED)
VARIANTS = (
    _variant("reads past its workspace", Outcome.NON_FINITE_OUTPUT, "  float sum = 0;\n  for (int part", "  float sum = partial[m * kParts] * 0.f;\n  for (int part"),
    _variant("adds to its workspace", Outcome.NON_FINITE_OUTPUT, "if (threadIdx.x == 0) partial[row * kParts + blockIdx.y] = sums[0];", "if (threadIdx.x == 0) atomicAdd(&partial[row * kParts + blockIdx.y], sums[0]);"),
    _variant("overruns its workspace", Outcome.OUT_OF_BOUNDS, "return a.M * affine::kParts * sizeof(float);", "return a.M * affine::kParts * sizeof(float) - 4;"),
    _variant("forgets setup", Outcome.LAUNCH_FAILED, "affine::kSmemBytes);\n}", "48 * 1024);\n}"),
    _variant("keeps the sum in bf16", Outcome.PRECISION_DOWNGRADE, "  S[row] = sum;", "  S[row] = __uint_as_float((__float_as_uint(sum) + 0x8000u) & 0xffff0000u);"),
    _variant("16-byte loads at any size", Outcome.CRASHED, "    float y = fmaf(X[row * n + i]", "    float4 v;\n    asm volatile(\"ld.global.v4.f32 {%0, %1, %2, %3}, [%4];\" : \"=f\"(v.x), \"=f\"(v.y), \"=f\"(v.z), \"=f\"(v.w) : \"l\"(X + row * n + i));\n    float y = fmaf(v.x"),
    _variant("depends on the clock", Outcome.NONDETERMINISTIC, "  if (threadIdx.x == 0) partial[row * kParts + blockIdx.y] = sums[0];", "  if (threadIdx.x == 0) partial[row * kParts + blockIdx.y] = sums[0] * (1.f + 1.2e-7f * float(clock64() >> 3 & 1));"),
)  # fmt: skip
