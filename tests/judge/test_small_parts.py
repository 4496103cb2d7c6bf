"""Layout of Args, feedback lines, floors and the naive form."""

from __future__ import annotations

import struct
from dataclasses import replace

import judge_affine
import judge_gemm
import pytest
import torch

from cutegen_git.core import roofline
from cutegen_git.core.feedback.check import Element, Extent, Mismatch, cuda_trouble, describe, where_it_fails
from cutegen_git.devices.gpu import open_gpu
from cutegen_git.judge.cases import check_plans, seed_of
from cutegen_git.judge.naive import Naive
from cutegen_git.judge.protocol import layout_of
from cutegen_git.words.device import Device
from cutegen_git.words.task import Family
from cutegen_git.words.verdict import Outcome

H200 = Device("h200", "NVIDIA H200", 90, 150 << 30, 60 << 20, 132, "580")


def test_args_are_packed_as_the_compiler_lays_them_out() -> None:
    layout = layout_of(judge_affine.task())
    data = layout.pack({"M": 7, "N": 33}, {"alpha": 0.75, "shift": 3, "flip": True})
    assert data == struct.pack("<QQQQdq?xxxxxxxqQQ", 0, 0, 0, 0, 0.75, 3, True, 7, 0, 0)
    assert [field.name for field in layout.pointers()] == ["X", "W", "Y", "S", "workspace", "packed"]
    assert "N" not in [field.name for field in layout.fields]  # static: the library knows it


def test_plans_go_from_small_to_large_with_shifted_pointers_and_all_kinds() -> None:
    plans = list(check_plans(judge_gemm.task()))
    assert plans[0].workload.label() == "M1-N1-K1"
    assert {plan.kind for plan in plans} == {"normal", "uniform", "large", "tiny"}
    assert {plan.shift_bytes for plan in plans} == {0, 16}


def test_seeds_need_the_secret() -> None:
    assert seed_of(b"a", "commit") == seed_of(b"a", "commit")
    assert seed_of(b"a", "commit") != seed_of(b"b", "commit")
    assert 0 <= seed_of(b"a", 1) < 1 << 63


def test_the_tail_after_the_last_full_tile_is_named() -> None:
    mismatch = Mismatch(
        "C", 257, 33153, nan=257, unwritten=257, worst=[Element((128, 0), float("nan"), 1.5)],
        extents=[Extent(129, 128, 128, 1), Extent(257, 0, 256, 257)],
    )  # fmt: skip
    text = "\n".join(describe(mismatch, "M129-N257-K65", "normal"))
    assert "257 of 33153 elements (0.775 %)" in text
    assert "never written" in text
    assert (
        "dimension 0: wrong only at 128 (1 of 129 positions); that is the tail after the last full tile of 128"
        in text
    )
    assert "dimension 1" not in text
    assert "C[128, 0]: got nan, want 1.5" in text


def test_every_nth_row_is_named() -> None:
    extent = Extent(64, 3, 59, 8, 8)
    assert "every 8th from 3" in "\n".join(describe(Mismatch("y", 1, 64, extents=[extent]), "N64", "large"))


def test_sizes_that_fail_are_named_only_where_there_is_a_choice() -> None:
    assert where_it_fails(["M1"], []) == []
    assert where_it_fails(["M1", "M3"], ["M2"]) == ["fails at M1, M3; right at M2"]


@pytest.mark.parametrize(
    ("stage", "code", "outcome", "said"),
    [
        ("sync", 700, Outcome.CRASHED, "illegal memory access"),
        ("sync", 716, Outcome.CRASHED, "16-byte aligned"),
        ("launch", 9, Outcome.LAUNCH_FAILED, "grid and block"),
        ("launch", 801, Outcome.LAUNCH_FAILED, "every workload"),
        ("setup", 1, Outcome.LAUNCH_FAILED, "cudaFuncSetAttribute"),
        ("launch", 12345, Outcome.LAUNCH_FAILED, "12345"),
    ],
)
def test_cuda_errors_are_explained(stage: str, code: int, outcome: Outcome, said: str) -> None:
    found, why = cuda_trouble(stage, code, "cudaErrorX")
    assert found is outcome
    assert said in why


def test_the_impossible_floor_counts_what_must_move() -> None:
    task, axes = judge_affine.task(), {"M": 8192, "N": 4096}
    moved = 8192 * 4096 * 4 + 8192 * 4
    assert roofline.compulsory_bytes(task, axes) == moved  # fused: inputs might be skipped
    elementwise = replace(task, family=Family.ELEMENTWISE)
    assert roofline.compulsory_bytes(elementwise, axes) == 2 * moved - 8192 * 4 + 4096 * 4
    floor = roofline.impossible_us(elementwise, axes, H200)
    assert floor == pytest.approx((2 * moved - 8192 * 4 + 4096 * 4 - (60 << 20)) / (1.05 * 4.8e12) * 1e6)
    assert roofline.impossible_us(elementwise, axes, replace(H200, slug="unknown-card")) == 0
    assert roofline.impossible_us(elementwise, {"M": 64, "N": 64}, H200) == 0  # the L2 holds it


@pytest.mark.parametrize("form", ["sum", "mean", "softmax", "norm", "product"])
def test_the_naive_form_is_right_and_less_exact_than_torch(form: str) -> None:
    x = torch.randn(16, 3000, generator=torch.Generator().manual_seed(1))
    forms = {
        "sum": lambda x: x.sum(-1),
        "mean": lambda x: x.mean((0, 1)),
        "softmax": lambda x: torch.softmax(x, -1),
        "norm": lambda x: torch.nn.functional.layer_norm(x, (3000,)),
        "product": lambda x: x @ x.t(),
    }
    work = forms[form]
    with torch.no_grad(), Naive():
        naive = work(x)
    assert naive.dtype == torch.float32
    torch.testing.assert_close(naive.double(), work(x.double()), rtol=1e-4, atol=1e-3)
    assert form in ("norm", "softmax") or not torch.equal(naive, work(x))


def test_no_gpu_is_a_reason_and_not_an_error() -> None:
    device, why = open_gpu()
    assert (device is None) == bool(why)
