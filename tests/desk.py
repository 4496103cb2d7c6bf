"""A task that builds in a second, replies for it, and somebody who answers the prompts through handoff files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TASK = """format = 1
[task]
name = "add"
family = "elementwise"
[target]
arch = "sm_89"
device = "rtx4090"
[signature]
axes = ["N"]
inputs = ["x: float32[N]", "y: float32[N]"]
outputs = ["z: float32[N]"]
[[workload]]
axes = { N = 1048576 }
role = "rank"
[[workload]]
axes = { N = 1001 }
role = "check"
"""
REFERENCE = """import torch


def inputs(axes, *, generator, device):
    shape = (axes["N"],)
    return {k: torch.randn(shape, generator=generator, device=device) for k in ("x", "y")}


def reference(x, y):
    return x + y
"""
KERNEL = """#include <cuda_runtime.h>
namespace add {
__global__ void kernel(const float* x, const float* y, float* z, int64_t n) {
  int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
}  // namespace add
extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  add::kernel<<<unsigned((a.N + 255) / 256), 256, 0, stream>>>(a.x, a.y, a.z, a.N);
  return cudaGetLastError();
}
"""
NEW_FILE = "Intent: first kernel\nChange: one thread an element\n\n```diff\n--- /dev/null\n+++ b/kernel/kernel.cu\n@@\n{}```\n"


def new_file(text: str) -> str:
    """A reply that makes the kernel file."""
    return NEW_FILE.format("".join(f"+{line}\n" for line in text.splitlines()))


GOOD = new_file(KERNEL)
BROKEN = new_file(KERNEL.replace("x[i] + y[i];", "x[i] + y[i]"))
REPAIR = """Intent: end the statement
Bottleneck: a missing semicolon

```diff
--- a/kernel/kernel.cu
+++ b/kernel/kernel.cu
@@
   int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
-  if (i < n) z[i] = x[i] + y[i]
+  if (i < n) z[i] = x[i] + y[i];
 }
```
"""


@dataclass(frozen=True)
class Desk:
    """A task folder with somebody who answers the prompts."""

    folder: Path
    run: Callable[..., int]

    def answer(self, label: str, text: str | bytes) -> None:
        reply = self.folder / f".cutegen/handoff/{label}.reply.md"
        reply.write_bytes(text if isinstance(text, bytes) else text.encode())

    def prompt(self, label: str) -> str:
        return (self.folder / f".cutegen/handoff/{label}.prompt.md").read_text()

    def refine(self, *flags: str) -> int:
        return self.run("refine", str(self.folder), "--model", "handoff", *flags)

    def play(self, *replies: str | bytes) -> None:
        """Ask, answer, ask, answer … and ask once more."""
        for number, reply in enumerate(replies, 1):
            assert self.refine() == 0
            self.answer(f"{number:04d}", reply)
        assert self.refine() == 0
