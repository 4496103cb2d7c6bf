"""Exports on a real GPU: the operator, torch.compile, CUDA graphs, and an evaluation as KernelBench does it.

Needs neither git nor the network. The first test of each kernel builds it, about ten seconds.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from export import host, tasks

from cutegen_git.app import export

pytestmark = pytest.mark.gpu
_MADE: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A warning means that the reference ran: here that is a failure."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*the torch reference ran")
        yield


@pytest.fixture
def package(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The exported package of the task named by the test's parameter."""
    name = request.param
    if name not in _MADE:
        _MADE[name] = host.package(tasks.ALL[name](), tmp_path_factory.mktemp(name))
    return _MADE[name]


def case(name: str, nth: int = 0) -> tuple[dict[str, Any], tuple[torch.Tensor, ...]]:
    values = host.inputs(tasks.ALL[name](), nth, device="cuda")
    return values, host.expected(tasks.ALL[name](), values, nth)


KERNELS = ["add", "scaled", "twice", "linear"]
by_name = pytest.mark.parametrize("package", KERNELS, indirect=True, ids=KERNELS)


@by_name
@pytest.mark.parametrize("nth", [0, 1])
def test_operator_gives_the_references_results(package: Any, nth: int) -> None:
    values, want = case(package.KERNEL_SPEC.name, nth)
    with torch.no_grad():
        host.close(package.forward(**values), want)


@by_name
def test_operator_satisfies_torchs_own_checks(package: Any) -> None:
    values, _ = case(package.KERNEL_SPEC.name)
    with torch.no_grad():
        torch.library.opcheck(package.kernel_op, tuple(values.values()))


@by_name
@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_operator_compiles_as_one_graph(package: Any, mode: str) -> None:
    torch._dynamo.reset()
    values, want = case(package.KERNEL_SPEC.name)
    compiled = torch.compile(package.forward, fullgraph=True, mode=mode)
    with torch.no_grad():
        for _ in range(4):
            host.close(compiled(**values), want)  # type: ignore[no-untyped-call]


@by_name
def test_operator_is_captured_in_a_graph_and_follows_new_data(package: Any) -> None:
    values, _ = case(package.KERNEL_SPEC.name)
    side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side.wait_stream(torch.cuda.current_stream())
    with torch.no_grad(), torch.cuda.stream(side):
        package.forward(**values)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        captured = package.forward(**values)
    for scale in (2.0, 0.5):
        values["x"].mul_(scale)
        graph.replay()
        host.close(captured, host.expected(tasks.ALL[package.KERNEL_SPEC.name](), values))


@pytest.mark.parametrize("package", ["scaled"], indirect=True)
def test_weights_first_packed_inside_a_graph_are_packed_at_every_replay(package: Any) -> None:
    values, _ = case("scaled")
    package.forward(**values)
    values["w"] = values["w"].clone(memory_format=torch.preserve_format)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = package.forward(**values)
    for _ in range(2):
        values["w"].mul_(2)
        graph.replay()
        host.close(captured, host.expected(tasks.scaled(), values))


@pytest.mark.parametrize("package", ["scaled"], indirect=True)
def test_changed_weights_are_packed_again_into_the_memory_that_a_graph_holds(package: Any) -> None:
    values, _ = case("scaled")
    package.forward(**values)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = package.forward(**values)
    values["w"].mul_(3)
    package.forward(**values)
    graph.replay()
    host.close(captured, host.expected(tasks.scaled(), values))


@by_name
def test_operator_works_on_the_current_stream(package: Any) -> None:
    values, want = case(package.KERNEL_SPEC.name)
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    held = {name: torch.zeros_like(v) if name == "x" else v for name, v in values.items()}
    with torch.no_grad(), torch.cuda.stream(stream):
        package.forward(**held)
        torch.cuda._sleep(50_000_000)  # type: ignore[no-untyped-call]
        held["x"].copy_(values["x"])  # behind the sleep: a kernel on another stream would still see zeros
        found = package.forward(**held)
    stream.synchronize()
    host.close(found, want)


def test_size_that_the_kernel_refuses_and_a_misaligned_pointer_get_the_reference(tmp_path: Path) -> None:
    package = host.package(tasks.scaled(), tmp_path)
    x, w = torch.randn(1001, 64, device="cuda"), torch.randn(48, 64, device="cuda").mT
    with pytest.warns(RuntimeWarning, match="cudaErrorNotSupported"):
        host.close(package.forward(x, w, 2.0, False)[0], [2 * (x @ w)])
    odd = torch.randn(64 * 64 + 1, device="cuda")[1:].view(64, 64)
    with pytest.warns(RuntimeWarning, match="not aligned"):
        host.close(package.forward(odd, w, 2.0, False)[0], [2 * (odd @ w)])


def test_model_new_of_the_package_compiles_and_captures(tmp_path: Path) -> None:
    torch._dynamo.reset()
    package = host.package(tasks.linear(), tmp_path)
    module = package.ModelNew(24, 40).cuda()
    x = torch.randn(16, 24, device="cuda")
    with torch.no_grad():
        for mode in ("default", "reduce-overhead"):
            compiled = torch.compile(module, fullgraph=True, mode=mode)
            for _ in range(3):
                host.close(compiled(x), [package.reference.Model.forward(module, x)])  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("name", ["linear"])
def test_evaluation_as_kernelbench_does_it_passes(name: str) -> None:
    exported = tasks.ALL[name]()
    assert host.evaluate(exported.reference.decode(), export.kernelbench(exported), "cuda") == [True] * 3


@pytest.mark.parametrize("name", ["add", "twice"])
def test_evaluation_of_a_native_task_passes(name: str) -> None:
    text = export.kernelbench(tasks.ALL[name]())
    assert host.evaluate(text, text, "cuda") == [True] * 3


def test_model_new_after_training_step_uses_the_new_weights(tmp_path: Path) -> None:
    module = host.kernelbench(tasks.linear(), tmp_path)
    new, x = module.ModelNew(24, 40).cuda(), torch.randn(16, 24, device="cuda")
    for _ in range(2):
        host.close(new(x).detach(), [module.Model.forward(new, x).detach()])
        optimiser = torch.optim.SGD(new.parameters(), lr=0.1)
        module.Model.forward(new, x).square().sum().backward()
        optimiser.step()


@pytest.mark.parametrize("command", ["build", "check", "bench"])
def test_commands_of_the_package_use_the_kernel(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib

    package = host.package(tasks.linear(), tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    main = importlib.import_module(f"{package.__name__}.__main__")
    monkeypatch.setattr("sys.argv", ["package", command])
    assert main.main() == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert {"build": "kernel.so", "check": "largest difference", "bench": "end to end"}[command] in said.out
