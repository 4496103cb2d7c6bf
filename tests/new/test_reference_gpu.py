from __future__ import annotations

from pathlib import Path

import pytest
import torch

from cutegen_git.judge.reference import load
from cutegen_git.judge.reference_data import exact_float32

BENCH = Path(__file__).parent / "kernelbench"
FILES = [
    BENCH / "matmul_batched.py",
    BENCH / "batchnorm.py",
    BENCH / "conv_relu_bias.py",
    BENCH / "cross_entropy.py",
    BENCH / "cumsum_masked.py",
    Path(__file__).parents[2] / "examples/gemm/reference.py",
]
SIZES = {"height": 11, "width": 13}


@pytest.mark.gpu
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_reference_on_the_gpu_agrees_with_the_cpu(path: Path) -> None:
    reference = load(path.read_bytes())
    small = {name: SIZES.get(name, min(size, 17)) for name, size in reference.axes.items()}
    axes = small if reference.form == "native" else {n: s for n, s in small.items() if s > 5}
    for kind in ("normal", "uniform", "large", "tiny"):
        values = reference.inputs(axes, seed=5, device="cuda", kind=kind)
        tensors = {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}
        assert all(value.is_cuda for value in tensors.values())
        again = reference.inputs(axes, seed=5, device="cuda", kind=kind)
        assert all(torch.equal(value, torch.as_tensor(again[name])) for name, value in tensors.items())
        at_home = {
            name: value.cpu() if isinstance(value, torch.Tensor) else value for name, value in values.items()
        }
        here, there = reference.run(values, axes), reference.run64(at_home, axes)
        assert all(
            torch.allclose(h.double().cpu(), t, rtol=1e-3, atol=1e-3)
            for h, t in zip(here, there, strict=True)
        )
        assert all(out.is_cuda for out in reference.run64(values, axes))
        form, arguments = reference.torch_form(values, axes)
        with exact_float32():
            assert torch.allclose(torch.as_tensor(form(**arguments)), here[0], rtol=1e-4, atol=1e-4)
