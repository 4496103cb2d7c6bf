"""Tasks whose kernels are one source for nvcc and for g++, so that a CPU can run what is exported. No git needed."""

from __future__ import annotations

from cutegen_git.app.export import Exported
from cutegen_git.words.task import (
    Family,
    Role,
    ScalarKind,
    ScalarSpec,
    Signature,
    Task,
    TensorSpec,
    Workload,
)

BOTH = """#include <cstdint>
#ifdef __CUDACC__
#define HD __host__ __device__
template <class F> __global__ void each(int64_t n, F f) {
  int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) f(i);
}
template <class F> cudaError_t for_each(int64_t n, cudaStream_t stream, F f) {
  each<<<unsigned((n + 255) / 256), 256, 0, stream>>>(n, f);
  return cudaGetLastError();
}
#else
#define HD
template <class F> cudaError_t for_each(int64_t n, cudaStream_t, F f) {
  for (int64_t i = 0; i < n; ++i) f(i);
  return cudaSuccess;
}
#endif
"""
ABOUT = ("Kernel: attempt 0007 of a test.", "Claim: tag rtx4090/0007-1.20x.")

ADD_REFERENCE = """import torch


def inputs(axes, *, generator, device):
    shape = (axes["N"],)
    return {k: torch.randn(shape, generator=generator, device=device) for k in ("x", "y")}


def reference(x, y):
    return x + y
"""
ADD_KERNEL = """
struct Add { Args a; HD void operator()(int64_t i) const { a.z[i] = a.x[i] + a.y[i]; } };
extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) { return for_each(a.N, stream, Add{a}); }
"""

# A product with everything that the ABI has: a compile-time axis, a column-major weight that is packed, scalars,
# two outputs, workspace, setup, and sizes that the kernel itself refuses.
SCALED_REFERENCE = """import torch


def inputs(axes, *, generator, device):
    M, N, K = (axes[name] for name in "MNK")
    made = {"x": torch.randn(M, 2 * K, generator=generator, device=device)}
    made["w"] = torch.randn(N, 2 * K, generator=generator, device=device).mT
    return made | {"alpha": 0.5, "flip": True}


def reference(x, w, alpha, flip):
    y = (-alpha if flip else alpha) * (x @ w)
    return y, y.sum(1)
"""
SCALED_KERNEL = """
struct Pack { Args a; float* to; HD void operator()(int64_t i) const { to[i] = 2 * a.w[i]; } };
struct Dot {
  Args a;
  HD void operator()(int64_t i) const {
    int64_t m = i / a.N, n = i % a.N;
    float sum = 0;
    for (int64_t k = 0; k < 2 * Args::K; ++k)
      sum += a.x[m * 2 * Args::K + k] * static_cast<const float*>(a.packed)[n * 2 * Args::K + k];
    static_cast<float*>(a.workspace)[i] = sum;
  }
};
struct Finish {
  Args a;
  HD void operator()(int64_t m) const {
    float total = 0;
    for (int64_t n = 0; n < a.N; ++n) {
      float value = float(a.flip ? -a.alpha : a.alpha) * 0.5f * static_cast<float*>(a.workspace)[m * a.N + n];
      a.y[m * a.N + n] = value;
      total += value;
    }
    a.s[m] = total;
  }
};
static int ready = 0;
extern "C" cudaError_t setup(const Args&) { ++ready; return cudaSuccess; }
extern "C" size_t workspace_bytes(const Args& a) { return size_t(a.M * a.N) * sizeof(float); }
extern "C" cudaError_t prepare(const Args& a, void* packed, cudaStream_t stream) {
  return for_each(2 * Args::K * a.N, stream, Pack{a, static_cast<float*>(packed)});
}
extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  if (!ready) return cudaErrorInitializationError;
  if (a.M > 1000) return cudaErrorNotSupported;
  cudaError_t code = for_each(a.M * a.N, stream, Dot{a});
  return code ? code : for_each(a.M, stream, Finish{a});
}
"""

TWICE_REFERENCE = """import torch


def inputs(axes, *, generator, device):
    return {"x": torch.randn(axes["N"] + 1, generator=generator, device=device)}


def reference(x):
    return x * 2
"""
TWICE_KERNEL = """
struct Twice { Args a; HD void operator()(int64_t i) const { a.z[i] *= 2; } };
extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  if (a.x != a.z) return cudaErrorInvalidValue;
  return for_each(a.N + 1, stream, Twice{a});
}
"""

LINEAR_REFERENCE = """import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width, hidden, slope=0.5):
        super(Model, self).__init__()
        self.layers = nn.Sequential(nn.Linear(width, hidden))
        self.slope = slope

    def forward(self, x, scale=1.0):
        return torch.nn.functional.leaky_relu(self.layers(x), self.slope) * scale


batch = 16
width = 24
hidden = 40


def get_inputs():
    return [torch.rand(batch, width)]


def get_init_inputs():
    return [width, hidden]
"""
LINEAR_KERNEL = """
struct Pack {
  Args a; float* to;
  HD void operator()(int64_t i) const { to[i % a.width * a.hidden + i / a.width] = a.layers_0_weight[i]; }
};
struct Row {
  Args a;
  HD void operator()(int64_t i) const {
    int64_t b = i / a.hidden, h = i % a.hidden;
    float sum = a.layers_0_bias[h];
    for (int64_t k = 0; k < a.width; ++k)
      sum += a.x[b * a.width + k] * static_cast<const float*>(a.packed)[k * a.hidden + h];
    a.out[i] = sum > 0 ? sum : 0.5f * sum;
  }
};
extern "C" cudaError_t prepare(const Args& a, void* packed, cudaStream_t stream) {
  return for_each(a.width * a.hidden, stream, Pack{a, static_cast<float*>(packed)});
}
extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) { return for_each(a.batch * a.hidden, stream, Row{a}); }
"""
NORM_REFERENCE = LINEAR_REFERENCE.replace("nn.Linear(width, hidden)", "nn.BatchNorm1d(width)")


def _task(name: str, inputs: tuple[TensorSpec | ScalarSpec, ...], outputs: tuple[TensorSpec, ...], sizes: list[dict[str, int]], static: tuple[str, ...] = ()) -> Task:  # fmt: skip
    workloads = tuple(Workload(axes, Role.CHECK if nth else Role.RANK) for nth, axes in enumerate(sizes))
    signature = Signature(inputs, outputs, tuple(sizes[0]))
    return Task(name, Family.OTHER, "sm_89", "rtx4090", signature, workloads, static)


def _exported(task: Task, reference: str, kernel: str) -> Exported:
    return Exported(task, "0007", reference.encode(), {"kernel.cu": (BOTH + kernel).encode()}, ABOUT)


def _float(name: str, *shape: str, constant: bool = False, layout: str = "row", alias: str | None = None) -> TensorSpec:  # fmt: skip
    return TensorSpec(name, "float32", shape, constant, layout, 16 if shape else 4, alias)


def add() -> Exported:
    task = _task("add", (_float("x", "N"), _float("y", "N")), (_float("z", "N"),), [{"N": 4096}, {"N": 33}])
    return _exported(task, ADD_REFERENCE, ADD_KERNEL)


def scaled() -> Exported:
    inputs = (
        _float("x", "M", "2*K"),
        _float("w", "2*K", "N", constant=True, layout="col"),
        ScalarSpec("alpha", ScalarKind.FLOAT),
        ScalarSpec("flip", ScalarKind.BOOL),
    )
    outputs = (_float("y", "M", "N"), _float("s", "M"))
    sizes = [{"M": 64, "N": 48, "K": 32}, {"M": 5, "N": 7, "K": 3}]
    return _exported(_task("scaled", inputs, outputs, sizes, ("K",)), SCALED_REFERENCE, SCALED_KERNEL)


def twice() -> Exported:
    task = _task("twice", (_float("x", "N+1"),), (_float("z", "N+1", alias="x"),), [{"N": 100}, {"N": 7}])
    return _exported(task, TWICE_REFERENCE, TWICE_KERNEL)


def linear() -> Exported:
    inputs = (
        _float("x", "batch", "width"),
        _float("layers_0_weight", "hidden", "width", constant=True),
        _float("layers_0_bias", "hidden", constant=True),
    )
    sizes = [{"batch": 16, "width": 24, "hidden": 40}, {"batch": 3, "width": 5, "hidden": 7}]
    task = _task("linear", inputs, (_float("out", "batch", "hidden"),), sizes)
    return _exported(task, LINEAR_REFERENCE, LINEAR_KERNEL)


def norm() -> Exported:
    """Its train() and eval() differ. The kernel is the one of `linear` and never built."""
    inputs = (
        _float("x", "batch", "width"),
        _float("layers_0_weight", "width", constant=True),
        _float("layers_0_bias", "width", constant=True),
    )
    sizes = [{"batch": 16, "width": 24}, {"batch": 3, "width": 5}]
    task = _task("norm", inputs, (_float("out", "batch", "width"),), sizes)
    return _exported(task, NORM_REFERENCE, LINEAR_KERNEL)


ALL = {"add": add, "scaled": scaled, "twice": twice, "linear": linear, "norm": norm}
