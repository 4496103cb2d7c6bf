"""What of CuTe a kernel uses is seen, and what it should use is asked for."""

from __future__ import annotations

from pathlib import Path

from cutegen_git.hands import data
from cutegen_git.judge.guard_cute import cute_use
from cutegen_git.words.task import Family

KERNELS = Path(__file__).parents[1] / "emulator/kernels"


def test_full_use_is_recorded_and_nothing_is_wanted() -> None:
    used = cute_use({"kernel.cu": (KERNELS / "hgemm.cu").read_bytes()})
    assert used.line == "layouts, tiled copy, tiled mma, cp async, ldmatrix, swizzle"
    assert used.wanted(Family.MATMUL) == ""


def test_product_without_tiled_forms_is_asked_for_both() -> None:
    used = cute_use({"kernel.cu": (data.root("prompts") / "example.cu").read_bytes()})
    assert used.layouts
    assert used.wanted(Family.MATMUL) == (
        "The kernel uses CuTe without a tiled copy for its global loads and a tiled MMA for its products."
    )
    assert used.wanted(Family.SOFTMAX) == "The kernel uses CuTe without a tiled copy for its global loads."


def test_raw_pointers_are_told_from_words_in_comments() -> None:
    used = cute_use(
        {"kernel.cu": b"#include <cute/tensor.hpp>\n// make_tiled_copy, TiledMMA, Layout\nfloat* p;\n"}
    )
    assert used.is_raw
    assert used.included
    assert used.line == "raw pointers only"
    assert "raw pointers" in used.wanted(Family.MATMUL)
