from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import torch

from cutegen_git.app.new import Request, make, name_from
from cutegen_git.core.precision import RULES, Method, Rule
from cutegen_git.judge import lint_mutants
from cutegen_git.judge.lint import Lint, lint
from cutegen_git.judge.reference import load
from cutegen_git.words.task import Family, Role, Signature, Task, Workload

BENCH = Path(__file__).parent / "kernelbench"
GEMM = (Path(__file__).parents[2] / "examples/gemm/reference.py").read_text()
ONE = """
import torch
AXES = {{"N": 4096}}
def inputs(axes, *, generator, device):
    return {{"x": {data}}}
def reference(x):
    return {result}
"""
NORMAL = "torch.randn(axes['N'], generator=generator, device=device)"


def linted(source: str, family: Family, *checks: dict[str, int]) -> Lint:
    reference = load(textwrap.dedent(source).encode())
    signature: Signature = reference.signature(checks[0])
    workloads = [Workload(axes, Role.CHECK) for axes in checks] + [Workload(checks[0], Role.RANK)]
    return lint(reference, Task("t", family, "sm_89", "rtx4090", signature, tuple(workloads)))


def test_gemm_refuses_every_mutant() -> None:
    found = linted(GEMM, Family.MATMUL, {"M": 33, "N": 65, "K": 17})
    assert found.is_sound
    assert found.trivial == found.without_effect == ()
    assert {
        "zeros", "one constant", "another seed's answer", "1.02 times the result", "the result with its sign lost",
        "first half of the result", "last row missing", "last column missing", "absolute values of the data",
        "first half of the data", "last element of the data missing", "A ignored", "B ignored", "bf16 inputs",
        "TF32 inputs",
    } == set(found.refused)  # fmt: skip


def test_mutant_that_is_right_for_the_operation_is_none() -> None:
    found = linted(ONE.format(data=NORMAL, result="x * x"), Family.ELEMENTWISE, {"N": 33})
    assert found.is_sound
    assert "absolute values of the data" not in found.refused
    assert "the result with its sign lost" not in found.refused
    assert found.trivial == ()


def test_cheap_answer_that_positive_data_make_right_is_told() -> None:
    found = linted(ONE.format(data=f"{NORMAL}.abs()", result="torch.relu(x)"), Family.ELEMENTWISE, {"N": 33})
    assert found.trivial == ("a copy of x",)


def test_published_positive_data_do_not_make_identity_right_for_relu() -> None:
    found = linted((BENCH / "relu.py").read_text(), Family.ELEMENTWISE, {"batch_size": 3, "dim": 33})
    assert "a copy of x" in found.refused
    assert found.trivial == ()


def test_fresh_norm_whose_weight_is_ignored_is_refused() -> None:
    axes = {"batch_size": 3, "features": 5, "dim1": 4, "dim2": 7}
    found = linted((BENCH / "layernorm.py").read_text(), Family.NORM, axes)
    assert {"ln_weight ignored", "ln_bias ignored"} <= set(found.refused)


def test_input_without_effect_is_told() -> None:
    source = GEMM.replace("return A @ B", "return A + 0 * B.sum()").replace('AXES["K"]', "").replace("K", "N")
    assert linted(source, Family.ELEMENTWISE, {"M": 5, "N": 5}).without_effect == ("B",)


def test_lenient_comparison_is_seen_as_weak(monkeypatch: pytest.MonkeyPatch) -> None:
    lenient = dict(RULES) | {Family.ELEMENTWISE: Rule(Method.PROFILE, 1e6, floor_ulp=1e6)}
    monkeypatch.setattr("cutegen_git.judge.honest.RULES", lenient)
    found = linted(ONE.format(data=NORMAL, result="torch.sin(x)"), Family.ELEMENTWISE, {"N": 33})
    assert not found.is_sound
    assert "bf16 inputs" in found.accepted


def test_integer_results_are_exact() -> None:
    axes = {"batch_size": 3, "dim1": 17, "dim2": 5}
    found = linted((BENCH / "argmax.py").read_text(), Family.REDUCTION, axes)
    assert found.is_sound
    assert "zeros" in found.refused


def test_tf32_keeps_ten_bits() -> None:
    value = torch.tensor([1.0 + 2**-10, 1.0 + 2**-12])
    assert lint_mutants._tf32(value).tolist() == [1.0 + 2**-10, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(BENCH.glob("*.py")), ids=lambda path: path.stem)
def test_every_kernelbench_file_becomes_a_sound_task_or_is_refused(path: Path, tmp_path: Path) -> None:
    if path.stem.startswith("refused"):
        pytest.skip("see test_new")
    request = Request(
        folder=tmp_path / "task",
        source=path.read_bytes(),
        origin=path.name,
        name=name_from(path.name),
        shrink=True,
    )
    made = make(request, lambda _: None, at=1_700_000_000)
    doubts = [note for note in made.notes if note.startswith(("Weak", "No result", "On this data"))]
    # A norm over the batch takes away what a bias before it added.
    assert doubts == (["No result depends on: gemm_bias."] if path.stem == "gemm_scale_batchnorm" else [])
    assert (made.folder / "reference.py").read_bytes() == path.read_bytes()
