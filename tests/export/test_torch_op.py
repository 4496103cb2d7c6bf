"""The exported package, used as an operator."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from export import host, tasks
from torch._subclasses.fake_tensor import FakeTensorMode


def _inputs(exported: Any, nth: int = 0) -> list[Any]:
    return list(host.inputs(exported, nth).values())


@pytest.fixture
def scaled(tmp_path: Path) -> Any:
    return host.package(tasks.scaled(), tmp_path)


@pytest.fixture
def linear(tmp_path: Path) -> Any:
    return host.package(tasks.linear(), tmp_path)


@pytest.mark.parametrize("name", tasks.ALL)
@pytest.mark.parametrize("where", ["reference", "kernel"])
def test_operator_satisfies_torchs_own_checks(name: str, where: str, tmp_path: Path) -> None:
    exported = tasks.ALL[name]()
    package = host.package(exported, tmp_path)
    if where == "kernel" and name != "norm":
        host.on_cpu(package, exported)
    with torch.no_grad():
        torch.library.opcheck(package.kernel_op, tuple(_inputs(exported)))


@pytest.mark.parametrize("nth", [0, 1])
def test_cpu_tensors_get_the_references_results_without_a_warning(scaled: Any, nth: int) -> None:
    values = host.inputs(tasks.scaled(), nth)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        host.close(scaled.forward(**values), host.expected(tasks.scaled(), values, nth))


def test_kernel_runs_through_the_operator(scaled: Any) -> None:
    kernel = host.on_cpu(scaled, tasks.scaled())
    values = host.inputs(tasks.scaled())
    host.close(scaled.forward(**values), host.expected(tasks.scaled(), values))
    assert len(kernel.calls) == 1


@pytest.mark.parametrize("where", ["reference", "kernel"])
def test_forward_compiles_as_one_graph(scaled: Any, where: str) -> None:
    kernel = host.on_cpu(scaled, tasks.scaled()) if where == "kernel" else None

    @torch.compile(fullgraph=True, backend="aot_eager")
    def compiled(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y, s = scaled.forward(x.relu(), w, 0.5, False)
        return torch.as_tensor(y + s[:, None])

    for rows in (64, 63, 5):
        x, w = torch.randn(rows, 64), torch.randn(48, 64).mT
        y = 0.5 * (x.relu() @ w)
        host.close(compiled(x, w), [y + y.sum(1)[:, None]])
    assert kernel is None or len(kernel.calls) == 3


def test_model_new_compiles_as_one_graph_and_calls_the_kernel(linear: Any) -> None:
    kernel = host.on_cpu(linear, tasks.linear())
    module = linear.ModelNew(24, 40)
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        for rows in (16, 5, 9):
            x = torch.randn(rows, 24)
            host.close(compiled(x), [linear.reference.Model.forward(module, x)])  # type: ignore[no-untyped-call]
        assert len(kernel.calls) == 3
        module.layers[0].weight.mul_(2)
        host.close(compiled(x), [linear.reference.Model.forward(module, x)])  # type: ignore[no-untyped-call]
        other = linear.ModelNew(24, 40, slope=0.1)
        again = torch.compile(other, fullgraph=True, backend="aot_eager")
        host.close(again(x), [linear.reference.Model.forward(other, x)])  # type: ignore[no-untyped-call]
    assert len(kernel.calls) == 4


def test_fake_results_have_the_real_shapes_dtypes_and_strides(scaled: Any) -> None:
    real = scaled.kernel_op(*_inputs(tasks.scaled()))
    given = _inputs(tasks.scaled())
    with FakeTensorMode() as mode:
        faked = [mode.from_tensor(v) if isinstance(v, torch.Tensor) else v for v in given]
        fake = scaled.kernel_op(*faked)
    assert [(t.shape, t.dtype, t.stride()) for t in fake] == [(t.shape, t.dtype, t.stride()) for t in real]


def test_dtype_that_was_not_verified_gives_the_references_dtype_real_and_fake(tmp_path: Path) -> None:
    package = host.package(tasks.add(), tmp_path)
    x = torch.ones(4, 3, dtype=torch.float64).mT
    real = package.forward(x, x)
    with FakeTensorMode() as mode:
        fake = package.forward(mode.from_tensor(x), mode.from_tensor(x))
    assert (fake.dtype, fake.shape, fake.stride()) == (real.dtype, real.shape, real.stride())
    assert torch.equal(real, x + x)


def test_gradients_come_from_the_reference(scaled: Any, linear: Any) -> None:
    host.on_cpu(scaled, tasks.scaled())
    host.on_cpu(linear, tasks.linear())
    x = torch.randn(64, 64, requires_grad=True)
    w = torch.randn(48, 64).mT
    scaled.forward(x, w, 2.0, False)[0].sum().backward()
    host.close(x.grad, [(2.0 * w.sum(1)).expand(64, 64)])
    module = linear.ModelNew(24, 40)
    with pytest.warns(RuntimeWarning, match="gradients are asked for"):
        module(torch.randn(16, 24)).sum().backward()
    assert module.layers[0].weight.grad is not None


def test_functional_form_of_a_model_uses_the_weights_that_it_is_given(linear: Any) -> None:
    values = host.inputs(tasks.linear(), 1)
    with torch.no_grad():
        host.close(linear.forward(**values), host.expected(tasks.linear(), values, 1))
        with pytest.raises(RuntimeError, match="call ModelNew instead"):
            linear.forward(values["x"][None], values["layers_0_weight"], values["layers_0_bias"])


def test_model_new_falls_back_for_shapes_that_the_signature_does_not_know(linear: Any) -> None:
    kernel = host.on_cpu(linear, tasks.linear())
    module, x = linear.ModelNew(24, 40), torch.randn(2, 16, 24)
    with torch.no_grad(), pytest.warns(RuntimeWarning, match="do not fit together"):
        host.close(module(x), [linear.reference.Model.forward(module, x)])
    assert kernel.calls == []


def test_misaligned_tensor_falls_back_inside_a_compiled_graph(tmp_path: Path) -> None:
    package = host.package(tasks.add(), tmp_path)
    kernel = host.on_cpu(package, tasks.add())
    compiled = torch.compile(package.forward, fullgraph=True, backend="aot_eager")
    whole = torch.randn(65)
    with pytest.warns(RuntimeWarning, match="x is not aligned to 16 bytes"):
        host.close(compiled(whole[1:], whole[:64]), [whole[1:] + whole[:64]])  # type: ignore[no-untyped-call]
    assert kernel.calls == []


def test_readme_states_claim_and_limits(tmp_path: Path) -> None:
    text = (host.write(tasks.scaled(), tmp_path) / "README.md").read_text()
    for words in (
        "tag rtx4090/0007-1.20x",
        "K = 32 or K = 3",
        "`M, 2*K`",
        "no older than sm_89",
        "KERNEL.repack()",
    ):
        assert words in text
