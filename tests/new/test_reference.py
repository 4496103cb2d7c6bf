from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import torch

from cutegen_git.core.taskfile_signature import format_item
from cutegen_git.judge.reference import Reference, load
from cutegen_git.words.errors import TaskError

ROOT = Path(__file__).parents[2]
GEMM = (ROOT / "examples/gemm/reference.py").read_bytes()
SIZES = {"M": 5, "N": 7, "K": 11}

NORM = """
import torch, torch.nn as nn
class Model(nn.Module):
    def __init__(self, width, slope=0.1):
        super().__init__()
        self.norm = nn.BatchNorm1d(width)
        self.linear = nn.Linear(width, width)
        self.offset = torch.arange(width).float()
        self.slope = slope
    def forward(self, x, N):
        return torch.nn.functional.leaky_relu(self.norm(self.linear(x)) + self.offset + N, self.slope, inplace=True)
batch = 64
width = 2 * 16
N = 3
def get_inputs():
    return [torch.rand(batch, width), N]
def get_init_inputs():
    return [width]
"""
NATIVE = """
import torch
AXES = {"N": 64}
def inputs(axes, *, generator, device):
    return {"x": torch.randn(axes["N"], generator=generator, device=device)}
"""


def reference(text: str) -> Reference:
    return load(textwrap.dedent(text).encode())


def lines(text: str, axes: dict[str, int]) -> list[str]:
    signature = reference(text).signature(axes)
    return [format_item(item) for item in (*signature.inputs, *signature.outputs)]


def test_example_has_its_signature_and_axes() -> None:
    gemm = load(GEMM)
    assert dict(gemm.axes) == {"M": 4096, "N": 4096, "K": 4096}
    signature = gemm.signature(SIZES)
    assert [format_item(item) for item in (*signature.inputs, *signature.outputs)] == [
        "A: float32[5, 11]",
        "B: float32[11, 7]",
        "C: float32[5, 7]",
    ]
    assert gemm.trace(gemm.axes).peak_bytes == 3 * 4096 * 4096 * 4


def test_float64_result_is_exact_and_float32_near_it() -> None:
    gemm = load(GEMM)
    values = gemm.inputs(SIZES, seed=3)
    (plain,), (exact,) = gemm.run(values), gemm.run64(values)
    a, b = values["A"], values["B"]
    assert isinstance(a, torch.Tensor)
    assert isinstance(b, torch.Tensor)
    assert exact.dtype is torch.float64
    assert torch.equal(exact, a.double() @ b.double())
    assert torch.allclose(plain.double(), exact, atol=1e-5)


def test_float64_sees_through_casts() -> None:
    text = (
        NATIVE
        + "def reference(x):\n    return (x.half() + torch.ones((), dtype=torch.float16)).float() / 3\n"
    )
    ref = reference(text)
    values = ref.inputs({"N": 9}, seed=1)
    x = values["x"]
    assert isinstance(x, torch.Tensor)
    assert torch.equal(ref.run64(values)[0], (x.double() + 1) / 3)


def test_same_seed_gives_same_data_and_other_seed_other() -> None:
    gemm = load(GEMM)
    one, two, three = (gemm.inputs(SIZES, seed=seed)["A"] for seed in (1, 1, 2))
    assert isinstance(one, torch.Tensor)
    assert torch.equal(one, torch.as_tensor(two))
    assert not torch.equal(one, torch.as_tensor(three))
    state = torch.get_rng_state()
    reference(NORM).inputs({}, seed=1)
    assert torch.equal(state, torch.get_rng_state())


def test_kinds_differ_in_scale_and_sign() -> None:
    gemm = load(GEMM)

    def data(kind: str) -> torch.Tensor:
        return torch.as_tensor(gemm.inputs({"M": 64, "N": 64, "K": 64}, seed=1, kind=kind)["A"])

    assert data("uniform").min() >= 0
    assert data("large").abs().max() > 60
    assert 0 < data("tiny").abs().max() < 0.01


def test_published_positive_data_is_signed_by_kind_normal() -> None:
    x = torch.as_tensor(reference(NORM).inputs({}, seed=1)["x"])
    assert x.min() < 0 < x.max()
    published = torch.as_tensor(reference(NORM).inputs({}, seed=1, kind="uniform")["x"])
    assert published.min() >= 0


def test_data_stays_as_published_where_the_reference_needs_it_positive() -> None:
    text = NORM.replace("self.slope, inplace=True)", "self.slope) + torch.log(x)")
    assert torch.as_tensor(reference(text).inputs({}, seed=1)["x"]).min() >= 0


def test_parameters_become_constant_inputs_and_running_figures_do_not() -> None:
    assert lines(NORM, {"batch": 5, "width": 6}) == [
        "x: float32[5, 6]",
        "N: int",
        "norm_weight: float32[6]",
        "norm_bias: float32[6]",
        "linear_weight: float32[6, 6]",
        "linear_bias: float32[6]",
        "offset: float32[6]",
        "out: float32[5, 6]",
    ]
    assert [item.constant for item in reference(NORM).signature({}).tensors()] == [False] + [True] * 5


def test_names_that_meet_an_axis_give_way() -> None:
    signature = reference(NORM).signature({"N": 5})
    assert [item.name for item in signature.inputs][:2] == ["x", "N_in"]
    assert signature.axes == ("N",)


def test_a_fresh_norm_is_unsettled_so_that_ignoring_its_weight_shows() -> None:
    weight = torch.as_tensor(reference(NORM).inputs({}, seed=1)["norm_weight"])
    assert weight.std() > 0.1


def test_run_uses_the_weights_that_the_inputs_hold_and_changes_nothing() -> None:
    ref = reference(NORM)
    axes = {"batch": 5, "width": 6}
    values = ref.inputs(axes, seed=1)
    before = {name: value.clone() for name, value in values.items() if isinstance(value, torch.Tensor)}
    (first,) = ref.run(values)
    assert all(torch.equal(torch.as_tensor(values[name]), value) for name, value in before.items())
    (moved,) = ref.run({**values, "norm_bias": before["norm_bias"] + 1})
    assert torch.allclose(moved, torch.nn.functional.leaky_relu(first + 1, 0.1)) or not torch.equal(
        first, moved
    )
    assert torch.allclose(ref.run64(values)[0].float(), first, atol=1e-4)


def test_torch_form_gives_the_same_result() -> None:
    for ref, axes in ((reference(NORM), {"batch": 5, "width": 6}), (load(GEMM), SIZES)):
        values = ref.inputs(axes, seed=1)
        form, arguments = ref.torch_form(values)
        with torch.no_grad():
            result = form(**arguments)
        assert torch.equal(torch.as_tensor(result), ref.run(values)[0])


def test_order_of_the_inputs_does_not_matter() -> None:
    ref = load((Path(__file__).parent / "kernelbench/matmul_transposed.py").read_bytes())
    axes = {"M": 4, "N": 4, "K": 4}
    values = ref.inputs(axes, seed=1)
    turned = dict(reversed(values.items()))
    assert torch.equal(ref.run(turned, axes)[0], ref.run(values, axes)[0])
    form, arguments = ref.torch_form(turned, axes)
    assert torch.equal(torch.as_tensor(form(**arguments)), ref.run(values, axes)[0])


def test_sizes_are_told_from_the_inputs() -> None:
    gemm = load(GEMM)
    small, large = gemm.inputs(SIZES, seed=1), gemm.inputs({"M": 2, "N": 3, "K": 4}, seed=1)
    assert gemm.run(small)[0].shape == (5, 7)
    assert gemm.run(large)[0].shape == (2, 3)


def test_derived_constants_follow_an_axis() -> None:
    text = NORM.replace("N = 3", "N = 3\ntall = batch * 2").replace("rand(batch,", "rand(tall,")
    assert lines(text, {"batch": 5})[0] == "x: float32[10, 32]"


def test_elements_of_a_tuple_are_constants_too() -> None:
    text = NORM.replace("N = 3", "N = 3\nshape = (width,)").replace("N = 3", "N = 3\ninput_shape = (4, 5)")
    assert {"input_shape_0": 4, "input_shape_1": 5}.items() <= reference(text).axes.items()


def test_a_constant_set_twice_is_none() -> None:
    assert "N" not in reference(NORM + "\nN = 4\n").axes


def test_signature_that_does_not_hold_is_told() -> None:
    gemm = load(GEMM)
    wrong = load(GEMM.replace(b"A @ B", b"(A @ B).half()")).signature(SIZES)
    gemm.check_signature(gemm.signature(SIZES), SIZES)
    with pytest.raises(TaskError, match=r"says C: float16\[5, 7\], reference.py gives C: float32\[5, 7\]"):
        gemm.check_signature(wrong, SIZES)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(:\n", "reference.py:1: "),
        ("\x00", "reference.py"),
        (
            "import no_such_module_x\n" + NATIVE + "def reference(x): ...\n",
            "reference.py:1: fails to import: ModuleNotFoundError",
        ),
        ("raise SystemExit(3)\ndef inputs(): ...\ndef reference(): ...\n", "fails to import: SystemExit"),
        ("x = 1\n", "is no reference: define inputs() and reference(), or Model"),
        ("class Model: ...\n", "defines no get_inputs()"),
        ("def reference(x): ...\n", "defines no inputs()"),
        (NATIVE + "OUTPUTS = 'C'\ndef reference(x): return x\n", "OUTPUTS must be a tuple of names"),
        (
            NATIVE + "OUTPUTS = ('a', 'b')\ndef reference(x): return x\n",
            "OUTPUTS names 2 tensors, but 1 come out",
        ),
        (NATIVE + "AXES = {'N': 0}\ndef reference(x): return x\n", "AXES must map names to sizes"),
        (NATIVE + "def reference(x): return None\n", "no tensor comes out (got NoneType)"),
        (NATIVE + "def reference(x): return {'a': x}\n", "no tensor comes out (got dict)"),
        (NATIVE + "def reference(x): return ()\n", "no tensor comes out (got nothing)"),
        (NATIVE + "def reference(x): return x @ x.reshape(2, 3)\n", "reference() fails: "),
        (NATIVE + "def reference(x): return x[x > 0]\n", "reference() fails: "),
        (
            NATIVE + "def reference(x): return torch.fft.fft(x)\n",
            "out is complex64, which kernels cannot take",
        ),
        (NATIVE + "def reference(x): return x + torch.rand_like(x)\n", "draws random numbers"),
        (
            NATIVE + "def reference(x): return torch.nn.functional.dropout(x)\n",
            "uses dropout in training mode",
        ),
        (NORM.replace("nn.BatchNorm1d(width)", "nn.Dropout(0.5)"), "uses dropout in training mode"),
        (NORM.replace("[torch.rand(batch, width), N]", "[torch.rand(batch, width)]"), "Model.forward fails"),
        (
            NORM.replace("[torch.rand(batch, width), N]", "[torch.rand(batch, width), 'a']"),
            "input N is a str",
        ),
        (NORM.replace("return [width]", "return [width, 1, 2]"), "Model cannot be made: TypeError"),
    ],
)
def test_bad_reference_is_one_clear_line(text: str, said: str) -> None:
    with pytest.raises(TaskError) as caught:
        reference(text).signature({}) if "Model" in text else reference(text).signature({"N": 6})
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_dropout_in_eval_mode_and_dropout_of_nothing_are_fine() -> None:
    base = NATIVE + "def reference(x): return torch.nn.functional.dropout(x, P)\n"
    assert lines(base.replace("P)", "0.5, training=False)"), {"N": 3})
    assert lines(base.replace("P)", "0.0)"), {"N": 3})


def test_attention_without_dropout_is_no_random_operation() -> None:
    text = NATIVE + (
        "def reference(x):\n    q = x.reshape(1, 1, 2, -1)\n"
        "    return torch.nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=P)\n"
    )
    assert lines(text.replace("P)", "0.0)"), {"N": 6})
    with pytest.raises(TaskError, match="dropout"):
        lines(text.replace("P)", "0.5)"), {"N": 6})


def test_reference_that_does_not_repeat_is_told() -> None:
    text = "import os\n" + NATIVE + "def reference(x): return x * int.from_bytes(os.urandom(7), 'big')\n"
    with pytest.raises(TaskError, match="nondeterministic: out differs between two runs"):
        reference(text).check_repeats({"N": 64})


def test_inputs_that_do_not_repeat_are_told() -> None:
    text = "import os\n" + NATIVE.replace("return {", "return {'a': int.from_bytes(os.urandom(7), 'big'), ")
    with pytest.raises(TaskError, match="input a differs between two calls with one seed"):
        reference(text + "def reference(x, a): return x\n").check_repeats({"N": 64})
