"""Inline PTX against tables worked out by hand from the PTX manual."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cutegen_git.devices.emulator.build import EmulatorBuild
from cutegen_git.devices.emulator.call import Role, Scalar
from cutegen_git.devices.emulator.run import EmulatorRun, RunStatus

from .conftest import Builder, call_kernel, header, tensor

X = np.arange(1, 257, dtype=np.float32)


@pytest.fixture(scope="module")
def ptx(builder: Builder) -> EmulatorBuild:
    return builder(
        (Path(__file__).parent / "ptx.cu").read_text(), header("const float* x; float* y; int32_t which;")
    )


def run_case(built: EmulatorBuild, which: int) -> tuple[np.ndarray, EmulatorRun]:
    y = np.zeros(256, np.float32)
    result = call_kernel(
        built, [tensor("x", X, Role.INPUT), tensor("y", y, Role.OUTPUT), Scalar("which", "int32", which)]
    )
    return y, result


def words(built: EmulatorBuild, which: int) -> np.ndarray:
    y, result = run_case(built, which)
    assert result.ok, (result.status, result.reports, result.unsupported)
    assert not result.reports
    return y.view(np.uint32)


@pytest.mark.parametrize(
    ("which", "count", "transposed"), [(1, 1, 0), (2, 2, 0), (3, 4, 0), (4, 1, 1), (5, 2, 1), (6, 4, 1)]
)
def test_ldmatrix_gives_each_lane_its_two_elements(
    ptx: EmulatorBuild, which: int, count: int, transposed: int
) -> None:
    got = words(ptx, which)
    for m in range(count):
        matrix = 64 * m + np.arange(64).reshape(8, 8)
        matrix = matrix.T if transposed else matrix
        for lane in range(32):
            row, col = lane // 4, 2 * (lane % 4)
            assert got[32 * m + lane] == matrix[row, col] | matrix[row, col + 1] << 16


def test_movmatrix_transposes(ptx: EmulatorBuild) -> None:
    got, matrix = words(ptx, 7), np.arange(64).reshape(8, 8).T
    for lane in range(32):
        row, col = lane // 4, 2 * (lane % 4)
        assert got[lane] == matrix[row, col] | matrix[row, col + 1] << 16


def test_cp_async_copies_fills_and_skips(ptx: EmulatorBuild) -> None:
    got = words(ptx, 8)[:32].view(np.float32).reshape(8, 4)
    minus = -1.0
    expected = [[1, minus, minus, minus], [3, 4, minus, minus], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 0, 0], [0, 0, 0, 0],
                [21, 22, 23, 24], [minus] * 4]  # fmt: skip
    assert np.array_equal(got, np.array(expected, np.float32))


def test_integer_instructions(ptx: EmulatorBuild) -> None:
    a, b, low = 0x89ABCDEF, 0x01234567, 0xFFFFFFFF
    signed = a - 2**32
    dp4a = 100 + sum(x * y for x, y in zip([3, 2, -1, 1], [5, 4, 3, 2], strict=True))
    expected = [
        a + b, signed * b, a * b >> 32, a * b + 7, a * b >> 32, a ^ b ^ 0x0F0F0F0F, (b & 0xFFFF) << 16 | a & 0xFFFF, a >> 4 & 0xFF,
        -8, (b & ~0xFF00) | (a & 0xFF) << 8, bin(a).count("1"), 5, int(f"{a:032b}"[::-1], 2), ((b << 32 | a) << 8) >> 32, signed >> 4,
        11, 12, b, 0, dp4a, -16, 127,
    ]  # fmt: skip
    assert words(ptx, 9)[: len(expected)].tolist() == [e & low for e in expected]


def test_float_instructions(ptx: EmulatorBuild) -> None:
    a, b = 1.5, -0.25
    expected = [
        a * b + 1, 2**a, np.log2(a), 1 / a, np.tanh(a), 3.0, 1 + 1 / 1024, a, b, a, b, 1.0, 2.0, -7.0, 0x407E, 1.0,
    ]  # fmt: skip
    got = words(ptx, 10)[: len(expected)].view(np.float32)
    assert np.allclose(got, np.array(expected, np.float32), rtol=1e-6), list(zip(got, expected, strict=True))


def test_memory_instructions(ptx: EmulatorBuild) -> None:
    got = words(ptx, 11).view(np.float32)
    rows = X[:16].reshape(4, 4)
    assert np.array_equal(got[:16], np.tile(rows[:, 2] + rows[:, 3], 4))
    assert (got[16:32] == 1).all()
    assert got[40] == 32
    assert got[41] == 1


def test_warp_instructions(ptx: EmulatorBuild) -> None:
    got, lane = words(ptx, 12), np.arange(32)
    assert np.array_equal(got[:32], lane ^ 1)
    assert np.array_equal(got[32:64], np.where(lane >= 4, lane - 4, 99))
    assert (got[64:96] == 0x1F).all()
    assert (got[96:128].view(np.int32) == -9).all()
    assert np.array_equal(got[128:160], np.where(lane < 16, 0x0000FFFF, 0xFFFF0000))
    assert (got[160:192] == 0xFFFFFFFF).all()
    assert np.array_equal(got[192:224], [(1 << i) - 1 for i in range(32)])


def test_saturating_mma_stays_at_the_largest_integer(ptx: EmulatorBuild) -> None:
    got = words(ptx, 13)[:64].view(np.int32)
    assert (got[::2] == 2**31 - 1).all()
    assert (got[1::2] == 16 * 127 * 127 - 5).all()


def test_unknown_instruction_is_unsupported_with_its_line(ptx: EmulatorBuild) -> None:
    _, result = run_case(ptx, 14)
    assert result.status is RunStatus.UNSUPPORTED
    assert result.unsupported
    assert "bfind.u32" in result.unsupported.construct
    assert result.unsupported.file == "kernel.cu"
    source = (Path(__file__).parent / "ptx.cu").read_text().splitlines()
    assert "bfind" in source[result.unsupported.line - 1]
