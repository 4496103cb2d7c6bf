"""Legal but unusual kernels run silently and give the right result in every order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cutegen_git.devices.emulator.build import EmulatorBuild
from cutegen_git.devices.emulator.call import Pointer, Role, Scalar

from .conftest import Builder, call_kernel, header, tensor

FIELDS = "const float* x; float* y; int64_t n; int32_t which; void* workspace;"
N = 1024
X = np.random.default_rng(3).integers(0, 31, N).astype(np.float32)
FIB = np.array([0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89], np.float32)


def carved() -> np.ndarray:
    rows, j = X[:128].reshape(32, 4)[::-1], np.arange(31, -1, -1)
    return (rows[:, 0] + rows[:, 3] + j + (j + 1)).astype(np.float32)


def compacted() -> np.ndarray:
    kept = X[:32][X[:32] > 15]
    return np.concatenate([kept, np.full(32 - len(kept), -1, np.float32)])


EXPECTED: dict[int, Callable[[], np.ndarray]] = {
    1: lambda: X[:64].sum(keepdims=True),
    2: lambda: np.bincount(X.astype(int) & 7, minlength=8).astype(np.float32),
    3: lambda: np.full(64, float((X[:64] > 5).any()), np.float32),
    4: lambda: X.reshape(32, 32).T.ravel(),
    5: lambda: np.cumsum(X[:128]),
    6: lambda: X + 1,
    7: lambda: X.sum(keepdims=True),
    8: lambda: X.sum(keepdims=True),
    9: lambda: X[:192].reshape(6, 32)[:, ::-1].sum(0),
    10: lambda: np.concatenate([np.full(16, X[:16].sum()), np.full(16, X[16:32].max())]).astype(np.float32),
    11: lambda: np.repeat(X[:64].reshape(8, 8).sum(1)[::-1], 8),
    12: carved,
    13: lambda: np.full(128, X.max(), np.float32),
    14: lambda: X[:64] * np.tile(np.arange(1, 5, dtype=np.float32), 16),
    15: lambda: np.tile(FIB, 4),
    16: lambda: np.array([X[:32].sum(), X[32:48].sum()], np.float32),
    17: lambda: (X[:64].astype(np.uint8) + 1).view(np.float32),
    18: lambda: 2 * X[:128][::-1],
    19: lambda: X[:512].reshape(4, 128)[:, 127:95:-1].sum(0),
    20: compacted,
    21: lambda: (X[:32] + X[32:64])[::-1],
    22: lambda: 3 * X[:64],
    23: lambda: np.ones(int((X[:64] > 9).sum()), np.float32),
}


@pytest.fixture(scope="module")
def legal(builder: Builder) -> EmulatorBuild:
    return builder((Path(__file__).parent / "legal.cu").read_text(), header(FIELDS))


@pytest.mark.parametrize("case", sorted(EXPECTED))
def test_legal_kernel_is_silent_and_right(legal: EmulatorBuild, case: int) -> None:
    y = np.zeros(N, np.float32)
    fields = [
        tensor("x", X, Role.INPUT), tensor("y", y, Role.OUTPUT, "uint8" if case == 17 else ""), Scalar("n", "int64", N),
        Scalar("which", "int32", case), Pointer("workspace", Role.WORKSPACE, "float32", None, 4096),
    ]  # fmt: skip
    result = call_kernel(legal, fields, ("forward", "reverse", "random", "random", "random"))
    assert result.ok, (result.status, result.reports, result.unsupported)
    assert not result.reports
    expected = EXPECTED[case]()
    assert np.array_equal(y[: len(expected)], expected), (y[: len(expected)], expected)
