"""Budgets by family: honest variants pass, mutants are refused, on every kind of data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch

from cutegen_git.judge import reference
from cutegen_git.judge.compare import inspect
from cutegen_git.judge.honest import Honesty
from cutegen_git.judge.reference_data import KINDS
from cutegen_git.words.task import Family, Role, Signature, Task, TensorSpec, Workload
from cutegen_git.words.verdict import Outcome

Form = Callable[..., torch.Tensor]
SOURCE = """import torch
import torch.nn.functional as F
OUTPUTS = ("y",)
def inputs(axes, *, generator, device):
    return {{{inputs}}}
def reference({names}):
    return {body}
"""


@dataclass(frozen=True)
class Problem:
    """A task of one family with forms that must pass and forms that must not."""

    family: Family
    body: str  # of the reference
    shapes: dict[str, tuple[str, ...]]
    out: tuple[str, ...]
    honest: dict[str, Form]
    mutants: dict[str, Form]
    axes: dict[str, int]
    dtype: str = "float32"
    add: float = 0.0  # mean of the data
    scale: float = 1.0

    def task(self) -> Task:
        specs = tuple(TensorSpec(name, self.dtype, shape) for name, shape in self.shapes.items())
        signature = Signature(specs, (TensorSpec("y", self.dtype, self.out),), tuple(self.axes))
        return Task("t", self.family, "sm_89", "rtx4090", signature, (Workload(self.axes, Role.CHECK),))

    def source(self) -> bytes:
        made = [
            f'"{name}": (torch.randn({", ".join(f"axes[{d!r}]" for d in shape)}, generator=generator, device=device)'
            f" * {self.scale} + {self.add}).to(torch.{self.dtype})"
            for name, shape in self.shapes.items()
        ]
        return SOURCE.format(inputs=", ".join(made), names=", ".join(self.shapes), body=self.body).encode()


def outcomes(problem: Problem, form: Form) -> set[Outcome]:
    """What is found over all kinds of data; {PASSED} for an honest form."""
    task = problem.task()
    loaded = reference.load(problem.source(), task)
    honesty, found = Honesty(task, loaded), set()
    for kind in KINDS:
        values = loaded.inputs(problem.axes, seed=11, kind=kind)
        (standard,) = honesty.standards(values, problem.axes, kind, is_large=False)
        got = form(*values.values()).to(getattr(torch, problem.dtype))
        finding = inspect(got, standard).finding
        found.add(finding.outcome if finding else Outcome.PASSED)
    return found


def cut(t: torch.Tensor, bits: int) -> torch.Tensor:
    """float32 rounded to fewer bits after the point."""
    drop = 23 - bits
    return ((t.contiguous().view(torch.int32) + (1 << (drop - 1))) & -(1 << drop)).view(torch.float32)


def softmax_exp2(x: torch.Tensor) -> torch.Tensor:
    scaled = x * torch.tensor(1.4426950408889634)
    e = torch.exp2(scaled - scaled.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


def softmax_online(x: torch.Tensor) -> torch.Tensor:
    top, total = torch.full_like(x[:, :1], -torch.inf), torch.zeros_like(x[:, :1])
    for column in x.split(64, dim=1):
        new = torch.maximum(top, column.amax(1, keepdim=True))
        total = total * torch.exp(top - new) + torch.exp(column - new).sum(1, keepdim=True)
        top = new
    return torch.exp(x - top) / total


def norm_two_pass(x: torch.Tensor) -> torch.Tensor:
    mean = x.mean(-1, keepdim=True)
    return (x - mean) * torch.rsqrt(((x - mean) ** 2).mean(-1, keepdim=True) + 1e-5)


def norm_one_pass(x: torch.Tensor) -> torch.Tensor:
    mean = x.mean(-1, keepdim=True)
    return (x - mean) * torch.rsqrt((x * x).mean(-1, keepdim=True) - mean * mean + 1e-5)


def norm_welford(x: torch.Tensor) -> torch.Tensor:
    mean, m2 = torch.zeros_like(x[:, 0]), torch.zeros_like(x[:, 0])
    for n, column in enumerate(x.t(), 1):
        delta = column - mean
        mean = mean + delta / n
        m2 = m2 + delta * (column - mean)
    return (x - mean[:, None]) * torch.rsqrt(m2 / x.shape[1] + 1e-5)[:, None]


def sum_in_order(x: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(x.shape[0])
    for column in x.t():
        total = total + column
    return total


def sum_bf16(x: torch.Tensor) -> torch.Tensor:
    return cut(x, 7).sum(1)


def sum_without_last(x: torch.Tensor) -> torch.Tensor:
    return x[:, :-1].sum(1)


def matmul_fp16_sums(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Partial sums of 16 products kept in half precision, as mma.f16.f16 does."""
    total = torch.zeros(a.shape[0], b.shape[1], dtype=torch.float16)
    for k in range(0, a.shape[1], 16):
        total = (total.float() + a[:, k : k + 16].float() @ b[k : k + 16].float()).half()
    return total


def matmul_fp32_sums(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.float() @ b.float()


def matmul_blocks(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(a.shape[0], b.shape[1])
    for k in range(0, a.shape[1], 16):
        total = total + a[:, k : k + 16].float() @ b[k : k + 16].float()
    return total


ROWS = {"x": ("M", "N")}
SIZE = {"M": 64, "N": 1000}
PROBLEMS = {
    "relu": Problem(
        Family.ELEMENTWISE, "F.relu(x)", ROWS, ("M", "N"),
        {"max": lambda x: x.clamp(min=0)},
        {"copy": lambda x: x, "1.02": lambda x: x.relu() * 1.02, "tf32": lambda x: cut(x, 10).relu()}, SIZE,
    ),
    "gelu": Problem(
        Family.ELEMENTWISE, "F.gelu(x)", ROWS, ("M", "N"),
        {"erf": lambda x: 0.5 * x * (1 + torch.erf(x * 0.7071067811865476)),
         "erfc": lambda x: 0.5 * x * torch.erfc(-x * 0.7071067811865476)},
        {"tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"), "tf32": lambda x: torch.nn.functional.gelu(cut(x, 10)),
         "zeros": torch.zeros_like, "silu": torch.nn.functional.silu}, SIZE,
    ),
    "sigmoid": Problem(
        Family.ELEMENTWISE, "torch.sigmoid(x)", ROWS, ("M", "N"),
        {"exp": lambda x: 1 / (1 + torch.exp(-x)), "exp2": lambda x: 1 / (1 + torch.exp2(x * -1.4426950408889634))},
        {"bf16": lambda x: torch.sigmoid(cut(x, 7)), "one half": lambda x: torch.full_like(x, 0.5)}, SIZE,
    ),
    "tanh": Problem(
        Family.ELEMENTWISE, "torch.tanh(x)", ROWS, ("M", "N"),
        {"torch": torch.tanh, "expm1": lambda x: torch.expm1(2 * x.clamp(-20, 20)) / (torch.expm1(2 * x.clamp(-20, 20)) + 2)},
        {"fast": lambda x: cut(torch.tanh(x), 11), "x": lambda x: x}, SIZE,
    ),
    "softmax": Problem(
        Family.SOFTMAX, "torch.softmax(x, -1)", ROWS, ("M", "N"),
        {"exp2": softmax_exp2, "online": softmax_online},
        {"zeros": torch.zeros_like, "mean": lambda x: torch.full_like(x, 1 / x.shape[1]), "1.02": lambda x: torch.softmax(x, -1) * 1.02,
         "bf16": lambda x: torch.softmax(cut(x, 7), -1), "no last": lambda x: torch.softmax(torch.cat([x[:, :-1], x[:, :1] * 0 - 99], 1), -1)}, SIZE,
    ),
    "softmax at scale 30": Problem(
        Family.SOFTMAX, "torch.softmax(x, -1)", ROWS, ("M", "N"), {"exp2": softmax_exp2, "online": softmax_online},
        {"tf32": lambda x: torch.softmax(cut(x, 10), -1)}, SIZE, scale=30.0,
    ),
    "layer norm": Problem(
        Family.NORM, "F.layer_norm(x, (x.shape[-1],))", ROWS, ("M", "N"),
        {"two passes": norm_two_pass, "welford": norm_welford},
        {"copy": lambda x: x, "1.02": lambda x: norm_two_pass(x) * 1.02, "tf32": lambda x: norm_two_pass(cut(x, 10))}, SIZE,
    ),
    "layer norm at mean 100": Problem(
        Family.NORM, "F.layer_norm(x, (x.shape[-1],))", ROWS, ("M", "N"), {"two passes": norm_two_pass},
        {"one pass": norm_one_pass}, SIZE, add=100.0,
    ),
    "sum": Problem(
        Family.REDUCTION, "x.sum(-1)", ROWS, ("M",), {"in order": sum_in_order},
        {"zeros": lambda x: torch.zeros(x.shape[0]), "bf16": sum_bf16, "without last": sum_without_last}, SIZE,
    ),
    "mean": Problem(
        Family.REDUCTION, "x.mean(-1)", ROWS, ("M",), {"in order": lambda x: sum_in_order(x) / x.shape[1]},
        {"bf16": lambda x: sum_bf16(x) / x.shape[1], "n - 1": lambda x: x.sum(-1) / (x.shape[1] - 1)}, SIZE,
    ),
    "max": Problem(
        Family.REDUCTION, "x.amax(-1)", ROWS, ("M",), {"halves": lambda x: torch.maximum(x[:, ::2].amax(1), x[:, 1::2].amax(1))},
        {"tf32": lambda x: cut(x, 10).amax(1), "half": lambda x: x[:, : x.shape[1] // 2].amax(1)}, SIZE,
    ),
    "transpose": Problem(
        Family.MOVEMENT, "x.t().contiguous()", ROWS, ("N", "M"), {"copy": lambda x: x.t().contiguous()},
        {"tf32": lambda x: cut(x.t().contiguous(), 10), "same": lambda x: x.reshape(x.shape[1], x.shape[0])}, SIZE,
    ),
    "matmul in fp16": Problem(
        Family.MATMUL, "a @ b", {"a": ("M", "K"), "b": ("K", "N")}, ("M", "N"),
        {"float32 sums": matmul_fp32_sums, "blocks": matmul_blocks},
        {"float16 sums": matmul_fp16_sums, "bf16 inputs": lambda a, b: a.bfloat16().float() @ b.bfloat16().float()},
        {"M": 64, "N": 96, "K": 1024}, dtype="float16", scale=0.25,
    ),
    "matmul in bf16": Problem(
        Family.MATMUL, "a @ b", {"a": ("M", "K"), "b": ("K", "N")}, ("M", "N"),
        {"float32 sums": matmul_fp32_sums, "blocks": matmul_blocks},
        {"float16 sums": lambda a, b: matmul_fp16_sums(a / 64, b / 64).float() * 4096, "half": lambda a, b: a[:, :512] @ b[:512]},
        {"M": 64, "N": 96, "K": 1024}, dtype="bfloat16",
    ),
    "long matmul": Problem(
        Family.MATMUL, "a @ b", {"a": ("M", "K"), "b": ("K", "N")}, ("M", "N"),
        {"in order": lambda a, b: in_order(a, b), "torch": torch.matmul},
        {"tf32": lambda a, b: cut(a, 10) @ cut(b, 10), "bf16": lambda a, b: cut(a, 7) @ cut(b, 7)},
        {"M": 24, "N": 40, "K": 16384},
    ),
}  # fmt: skip


def in_order(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(a.shape[0], b.shape[1])
    for k in range(a.shape[1]):
        total = torch.addcmul(total, a[:, k : k + 1], b[k : k + 1])
    return total


def _all(kind: str) -> list[tuple[str, str]]:
    return [(name, form) for name, problem in PROBLEMS.items() for form in getattr(problem, kind)]


@pytest.mark.parametrize(("name", "form"), _all("honest"))
def test_honest_forms_pass(name: str, form: str) -> None:
    problem = PROBLEMS[name]
    assert outcomes(problem, problem.honest[form]) == {Outcome.PASSED}


@pytest.mark.parametrize(("name", "form"), _all("mutants"))
def test_mutants_are_refused(name: str, form: str) -> None:
    problem = PROBLEMS[name]
    found = outcomes(problem, problem.mutants[form])
    assert found - {Outcome.PASSED}, "accepted on all data"


def test_low_precision_is_told_from_a_wrong_answer() -> None:
    problem = PROBLEMS["long matmul"]
    for form in problem.mutants.values():
        assert outcomes(problem, form) <= {Outcome.PRECISION_DOWNGRADE, Outcome.PASSED}
