"""CUDA's words, NVIDIA's headers and the standard library in one file build and run as nvcc would have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cutegen_git.devices.emulator.call import Role, Scalar

from .conftest import Builder, call_kernel, header, tensor


def test_file_of_many_words_builds_and_runs(builder: Builder) -> None:
    built = builder(
        (Path(__file__).parent / "words.cu").read_text(), header("const float* x; float* y; int64_t n;")
    )
    x, y = np.ones(300, np.float32), np.zeros(300, np.float32)
    result = call_kernel(
        built, [tensor("x", x, Role.INPUT), tensor("y", y, Role.OUTPUT), Scalar("n", "int64", 300)]
    )
    assert result.ok, (result.status, result.reports, result.unsupported)
    f, g, h, halves = 2 + 2**-0.5, 1 / 3 + 2 + 1, 1 + 2 + 4, 2 + 2
    assert np.allclose(y, f + g + h + halves, rtol=1e-6)
