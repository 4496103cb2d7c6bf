"""A small kernel and short ways to write replies against it."""

from __future__ import annotations

from cutegen_git.core.patch import Patch, apply_reply
from cutegen_git.words.errors import PatchError

NAME = "kernel/kernel.cu"
ALLOWED = ("kernel/*.cu", "kernel/*.cuh")

KERNEL = """\
#include <cuda_runtime.h>
#include "helper.cuh"

namespace rms {

constexpr int kBlock = 256;
constexpr float kEps = 1e-6f;

__global__ void norm_f32(const float* x, float* y, int cols) {
  __shared__ float part[kBlock / 32];

  float acc = 0.f;
  for (int c = threadIdx.x; c < cols; c += kBlock) {
    acc += x[c] * x[c];
  }
  part[threadIdx.x >> 5] = acc;
  __syncthreads();

  float scale = rsqrtf(part[0] / cols + kEps);
  y[threadIdx.x] = x[threadIdx.x] * scale;
}

__global__ void norm_f16(const half* x, half* y, int cols) {
  __shared__ float part[kBlock / 32];

  float acc = 0.f;
  for (int c = threadIdx.x; c < cols; c += kBlock) {
    acc += float(x[c]) * float(x[c]);
  }
  part[threadIdx.x >> 5] = acc;
  __syncthreads();

  float scale = rsqrtf(part[0] / cols + kEps);
  y[threadIdx.x] = half(float(x[threadIdx.x]) * scale);
}

}  // namespace rms

extern "C" int cutegen_launch(const float* x, float* y, int cols, cudaStream_t s) {
  rms::norm_f32<<<1, rms::kBlock, 0, s>>>(x, y, cols);
  return cudaGetLastError();
}
"""
HELPER = "#pragma once\n\n__device__ inline float half_of(float v) {\n  return 0.5f * v;\n}\n"
TREE = {
    NAME: KERNEL.encode(),
    "kernel/helper.cuh": HELPER.encode(),
    "task.toml": b"format = 1\n",
    "reference.py": b"def reference(x):\n    return x\n",
    ".github/workflows/check.yml": b"on: push\n",
}
HEAD = f"--- a/{NAME}\n+++ b/{NAME}\n"
BLOCK = " \n-constexpr int kBlock = 256;\n+constexpr int kBlock = 512;\n constexpr float kEps = 1e-6f;\n \n"
WANTED = KERNEL.replace("kBlock = 256", "kBlock = 512")


def fence(diff: str, label: str = "diff") -> str:
    return f"```{label}\n{diff}```\n"


def patch(reply: str | bytes, tree: dict[str, bytes] | None = None, **options: object) -> Patch:
    raw = reply.encode("utf-8", "surrogateescape") if isinstance(reply, str) else reply
    return apply_reply(raw, TREE if tree is None else tree, allowed=ALLOWED, **options)  # type: ignore[arg-type]


def result(reply: str | bytes, tree: dict[str, bytes] | None = None, **options: object) -> str:
    """The kernel after the reply, or the class of the refusal."""
    try:
        done = patch(reply, tree, **options)
    except PatchError as error:
        return error.problem.value
    assert set(done.files) == {NAME}, done.files.keys()
    content = done.files[NAME]
    assert content is not None
    return content.decode("utf-8", "surrogateescape")
