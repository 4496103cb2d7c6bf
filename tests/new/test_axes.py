from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutegen_git.app.new_axes import Derived, derive
from cutegen_git.app.new_family import guess
from cutegen_git.app.new_fit import Probe, fit
from cutegen_git.app.new_memory import needed_bytes
from cutegen_git.app.new_sizes import choose, elements
from cutegen_git.core.shapes import evaluate
from cutegen_git.core.taskfile_signature import format_item
from cutegen_git.judge.reference import Reference, load

BENCH = Path(__file__).parent / "kernelbench"
# File, family, axes, output.
EXPECTED = [
    ("matmul_square", "matmul", "N", "out: float32[N, N]"),
    ("matmul_batched", "matmul", "batch_size m k n", "out: float32[batch_size, m, n]"),
    ("matmul_transposed", "matmul", "M K N", "out: float32[M, N]"),
    ("matmul_triangular", "matmul", "N", "out: float32[N, N]"),
    ("matvec", "matmul", "rows cols", "out: float32[rows, 1]"),
    ("diagonal", "elementwise", "N M", "out: float32[N, M]"),
    ("scalar_scale", "elementwise", "M N", "out: float32[M, N]"),
    ("relu", "elementwise", "batch_size dim", "out: float32[batch_size, dim]"),
    ("gelu_tanh", "elementwise", "batch_size dim", "out: float32[batch_size, dim]"),
    ("softsign", "elementwise", "batch_size dim", "out: float32[batch_size, dim]"),
    ("softmax", "softmax", "batch_size dim", "out: float32[batch_size, dim]"),
    ("log_softmax", "softmax", "batch_size dim", "out: float32[batch_size, dim]"),
    ("layernorm", "norm", "batch_size features dim1 dim2", "out: float32[batch_size, features, dim1, dim2]"),
    ("batchnorm", "norm", "batch_size features dim1 dim2", "out: float32[batch_size, features, dim1, dim2]"),
    ("batchnorm_eval", "norm", "batch_size width", "out: float32[batch_size, width]"),
    ("rmsnorm", "norm", "batch_size features dim1 dim2", "out: float32[batch_size, features, dim1, dim2]"),
    ("groupnorm", "norm", "batch_size features dim1 dim2", "out: float32[batch_size, features, dim1, dim2]"),
    ("sum_dim", "reduction", "batch_size dim1 dim2", "out: float32[batch_size, 1, dim2]"),
    ("argmax", "reduction", "batch_size dim1 dim2", "out: int64[batch_size, dim2]"),
    ("conv1d", "conv", "batch_size in_channels out_channels length",
     "out: float32[batch_size, out_channels, (length-6)//3]"),
    ("conv2d", "conv", "batch_size in_channels out_channels height width",
     "out: float32[batch_size, out_channels, height-2, width-4]"),
    ("conv3d", "conv", "batch_size in_channels out_channels depth height",
     "out: float32[batch_size, out_channels, depth-2, height-2, height-2]"),
    ("conv_transpose2d", "conv", "batch_size in_channels out_channels height width",
     "out: float32[batch_size, out_channels, 2*height, 2*width]"),
    ("conv_depthwise", "conv", "batch_size in_channels height width",
     "out: float32[batch_size, in_channels, height-2, width-2]"),
    ("maxpool2d", "reduction", "batch_size channels height width",
     "out: float32[batch_size, channels, height//2, width//2]"),
    ("avgpool3d", "reduction", "batch_size channels depth height width",
     "out: float32[batch_size, channels, (depth-1)//2, (height-1)//2, (width-1)//2]"),
    ("cumsum", "scan", "batch_size input_shape_0", "out: float32[batch_size, input_shape_0]"),
    ("cumsum_masked", "scan", "batch_size input_shape_0", "out: float32[batch_size, input_shape_0]"),
    ("mse_loss", "loss", "batch_size input_shape_0", "out: float32[]"),
    ("cross_entropy", "loss", "batch_size num_classes", "out: float32[]"),
    ("kl_div", "loss", "batch_size input_shape_0", "out: float32[]"),
    ("entropy_loss", "loss", "batch_size width", "out: float32[]"),
    ("hinge_tied", "loss", "", "out: float32[]"),
    ("attention", "attention", "batch_size num_heads sequence_length head_width",
     "out: float32[batch_size, num_heads, sequence_length, head_width]"),
    ("conv_relu_bias", "fused", "batch_size in_channels out_channels height width",
     "out: float32[batch_size, out_channels, height-2, width-2]"),
    ("gemm_scale_batchnorm", "fused", "batch_size in_features out_features",
     "out: float32[batch_size, out_features]"),
    ("gemm_groupnorm_hardtanh", "fused", "batch_size in_features out_features",
     "out: float32[batch_size, out_features]"),
    ("mlp_residual", "fused", "batch_size width hidden", "out: float32[batch_size, width]"),
]  # fmt: skip
QUICK = ("matmul_square", "softmax", "groupnorm", "conv1d", "cross_entropy", "hinge_tied")


def open_bench(name: str) -> tuple[Reference, Derived]:
    reference = load((BENCH / f"{name}.py").read_bytes())
    return reference, derive(reference, reference.axes, stated=False)


def test_every_file_has_its_expectation() -> None:
    files = {path.stem for path in BENCH.glob("*.py") if not path.stem.startswith("refused")}
    assert files == {name for name, *_ in EXPECTED}


@pytest.mark.parametrize(
    ("name", "family", "axes", "output"),
    [pytest.param(*row, marks=() if row[0] in QUICK else pytest.mark.slow) for row in EXPECTED],
)
def test_kernelbench_file_gives_family_axes_and_shapes(
    name: str, family: str, axes: str, output: str
) -> None:
    reference, derived = open_bench(name)
    assert guess(reference.trace({})).value == family
    assert " ".join(derived.axes) == axes
    assert format_item(derived.signature.outputs[0]) == output
    for sizes in choose(reference, derived.axes, derived.steps):
        reference.check_signature(derived.signature, sizes)
    reference.check_signature(derived.signature, derived.axes)


def test_steps_are_found() -> None:
    assert open_bench("groupnorm")[1].steps["features"] == 8


def test_check_sizes_are_small_and_not_even() -> None:
    reference, derived = open_bench("softmax")
    checks = choose(reference, derived.axes, derived.steps)
    assert all(elements(reference, axes) <= 300_000 for axes in checks)
    assert all(size % 2 for axes in checks for size in axes.values())


def test_memory_is_torchs_own_form_and_one_output_more() -> None:
    reference = load((BENCH / "softsign.py").read_bytes())
    assert needed_bytes(reference, {"batch_size": 4096, "dim": 393216}) == 4 * 4096 * 393216 * 4


FORMS = [
    "7",
    "M",
    "2*M",
    "M-3",
    "3*M+5",
    "M+N",
    "M-N+200",
    "2*M+3*N-1",
    "M*N",
    "4*M*N",
    "M*N+7",
    "(M-1)//2",
    "(M+3)//4",
    "M//3",
]


@given(st.sampled_from(FORMS), st.integers(1, 4), st.integers(1, 3), st.integers(50, 99), st.integers(50, 99))
def test_formula_is_found_and_holds_elsewhere(text: str, step_m: int, step_n: int, m: int, n: int) -> None:
    def probe(m: int, n: int) -> Probe:
        return Probe({"M": m, "N": n}, (evaluate(text, {"M": m, "N": n}),))

    m, n = m * step_m, n * step_n
    alone = {
        "M": [probe(m + step_m * nth, n) for nth in range(1, 18)],
        "N": [probe(m, n + step_n * nth) for nth in range(1, 18)],
    }
    others = [probe(step_m * a, step_n * b) for a, b in ((101, 67), (131, 113), (211, 89), (77, 150))]
    found = fit(0, probe(m, n), alone, others)
    assert found is not None
    for sizes in ({"M": 12 * step_m, "N": 5 * step_n}, {"M": 1000 * step_m, "N": 300 * step_n}):
        assert evaluate(found, sizes) == evaluate(text, sizes)


def test_what_follows_no_formula_is_not_fitted() -> None:
    def probe(m: int) -> Probe:
        return Probe({"M": m}, (m * m + m % 7,))

    assert (
        fit(0, probe(50), {"M": [probe(50 + nth) for nth in range(1, 18)]}, [probe(200), probe(333)]) is None
    )
