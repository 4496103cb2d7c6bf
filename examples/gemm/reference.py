"""C = A @ B in float32: the reference that a kernel is checked against and timed against."""

import torch

# Real sizes, which are timed. `cutegen-git new` chooses small, odd sizes for checking besides.
AXES = {"M": 4096, "N": 4096, "K": 4096}
OUTPUTS = ("C",)


def inputs(axes, *, generator, device):
    """Signed data: on positive data a product of low precision looks like a good one."""
    return {
        "A": torch.randn(axes["M"], axes["K"], generator=generator, device=device),
        "B": torch.randn(axes["K"], axes["N"], generator=generator, device=device),
    }


def reference(A, B):
    return A @ B
