"""The task that the judge's tests use, and wrong variants of its kernel: each must get its own outcome."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cutegen_git.words.task import Family, Role, Signature, Task, TensorSpec, Workload
from cutegen_git.words.verdict import Outcome

KERNELS = Path(__file__).parent / "kernels"
REFERENCE = b'''"""C = A B in float32."""
import torch

AXES = {"M": 4096, "N": 4096, "K": 4096}
OUTPUTS = ("C",)


def inputs(axes, *, generator, device):
    m, n, k = axes["M"], axes["N"], axes["K"]
    return {
        "A": torch.randn(m, k, generator=generator, device=device),
        "B": torch.randn(k, n, generator=generator, device=device),
    }


def reference(A, B):
    return A @ B
'''
CHECKS = ((1, 1, 1), (17, 33, 5), (129, 257, 65), (128, 128, 64), (200, 63, 1000), (255, 130, 2049))


def task(size: int = 4096) -> Task:
    """A float32 product with odd check sizes."""
    signature = Signature(
        inputs=(TensorSpec("A", "float32", ("M", "K")), TensorSpec("B", "float32", ("K", "N"))),
        outputs=(TensorSpec("C", "float32", ("M", "N")),),
        axes=("M", "N", "K"),
    )
    checks = [Workload(dict(zip("MNK", sizes, strict=True)), Role.CHECK) for sizes in CHECKS]
    rank = Workload({"M": size, "N": size, "K": size}, Role.RANK)
    return Task("gemm", Family.MATMUL, "sm_89", "rtx4090", signature, (*checks, rank))


@dataclass(frozen=True)
class Variant:
    """An edit of a correct kernel, and what the judge must say of it."""

    name: str
    outcome: Outcome
    old: str = ""
    new: str = ""
    file: str = "gemm_ok.cu"

    def source(self) -> bytes:
        text = (KERNELS / self.file).read_text()
        assert not self.old or self.old in text, f"{self.name}: nothing to edit"
        return text.replace(self.old, self.new).encode()


_LAUNCH = "  gemm::kernel<<<grid, 256, 0, stream>>>"
_READ = "__device__ inline float as_read(float value) { return value; }"
_STORE = "    if (elem_less(pc(i), shape(c))) gc(i) = sum(i);"
_TF32 = '  unsigned r; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(value)); return __uint_as_float(r); }'
_BF16 = "  unsigned u = __float_as_uint(value) + 0x8000u; return __uint_as_float(u & 0xffff0000u); }"
_SIDE_STREAM = """  static cudaStream_t side = nullptr;
  if (!side) cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  gemm::kernel<<<grid, 256, 0, side>>>"""
_CACHE = """  static cudaEvent_t once = nullptr;
  if (once && a.M == 4096) return cudaSuccess;
  cudaEventCreate(&once);
  gemm::kernel<<<grid, 256, 0, stream>>>"""
_EXIT = "#include <cstdlib>\n" + 'extern "C" cudaError_t launch'

VARIANTS = (
    Variant("tail bug", Outcome.WRONG_RESULT, "int slices = (K + TileK::value - 1) / TileK::value", "int slices = K / TileK::value"),
    Variant("half unwritten", Outcome.WRONG_RESULT, "(a.M + 127) / 128", "(a.M + 255) / 256"),
    Variant("tf32 inputs", Outcome.PRECISION_DOWNGRADE, _READ, "__device__ inline float as_read(float value) {\n" + _TF32),
    Variant("bf16 inputs", Outcome.PRECISION_DOWNGRADE, _READ, "__device__ inline float as_read(float value) {\n" + _BF16),
    Variant("writes past the end", Outcome.OUT_OF_BOUNDS, _STORE, _STORE + "\n  if (blockIdx.x == 0 && threadIdx.x == 0) C[int64_t(M) * N] = 1.f;"),
    Variant("writes before the start", Outcome.OUT_OF_BOUNDS, _STORE, _STORE + "\n  if (threadIdx.x == 0) C[-3] = 1.f;"),
    Variant("illegal address", Outcome.CRASHED, _STORE, _STORE + "\n  if (threadIdx.x == 0) C[int64_t(1) << 45] = 1.f;"),
    Variant("hang", Outcome.TIMEOUT, "  clear(sum);", "  clear(sum);\n  while (M > 100 && K > 50) __nanosleep(1000);"),
    Variant("exit", Outcome.CRASHED, 'extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {', _EXIT + "(const Args& a, cudaStream_t stream) {\n  exit(0);"),
    Variant("modifies its input", Outcome.INPUT_MODIFIED, _STORE, _STORE + "\n  if (blockIdx.x == 0 && threadIdx.x == 0) const_cast<float*>(A)[0] = 0.f;"),
    Variant("launch fails", Outcome.LAUNCH_FAILED, "grid, 256, 0, stream", "grid, 2048, 0, stream"),
    Variant("launch fails silently", Outcome.LAUNCH_FAILED, "grid, 256, 0, stream", "grid, 256, 500000, stream"),
    Variant("side stream", Outcome.WORK_OUTSIDE_STREAM, _LAUNCH, _SIDE_STREAM),
    Variant("default stream", Outcome.WORK_OUTSIDE_STREAM, "grid, 256, 0, stream", "grid, 256, 0, nullptr"),
    Variant("synchronises", Outcome.WORK_OUTSIDE_STREAM, "  return cudaPeekAtLastError();", "  return cudaStreamSynchronize(stream);"),
    Variant("computes once", Outcome.WRONG_RESULT, _LAUNCH, _CACHE),
    Variant("starts a process", Outcome.FORBIDDEN_CALL, 'extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {', _EXIT + '(const Args& a, cudaStream_t stream) {\n  system("true");'),
    Variant("race", Outcome.WRONG_RESULT, "    __syncthreads();\n    cute::gemm(ta, tb, sum);\n    __syncthreads();", "    cute::gemm(ta, tb, sum);"),
    Variant("NaN", Outcome.NON_FINITE_OUTPUT, "gc(i) = sum(i);", "gc(i) = sum(i) / (sum(i) - sum(i));"),
)  # fmt: skip
