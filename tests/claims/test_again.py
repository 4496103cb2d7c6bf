"""`verify TAG`: the claim is judged anew where a device is, and says nothing where none is. Real nvcc."""

from __future__ import annotations

from pathlib import Path

import pytest
from claims.stall import Stall

from cutegen_git.app import claims
from cutegen_git.app.bench import Bench
from cutegen_git.app.claims_again import measure_again
from cutegen_git.words.errors import RepoError


@pytest.fixture
def stall(tmp_path: Path) -> Stall:
    return Stall.new(tmp_path / "task")


def test_machine_without_the_device_neither_reproduces_nor_refutes(stall: Stall) -> None:
    tag = stall.claim()
    bench = Bench(stall.project, lambda _: None, wanted="none")
    again = measure_again(stall.project, bench, tag)
    assert again.line is None
    assert again.text == f"{tag}: neither reproduced nor refuted here (unsupported on none)"
    assert claims.standing(stall.project)[0].word == "claimed"


def test_unknown_claim_is_said(stall: Stall) -> None:
    with pytest.raises(RepoError, match="names no claim"):
        measure_again(stall.project, Bench(stall.project, lambda _: None, wanted="none"), "h200/0009-1.00x")
