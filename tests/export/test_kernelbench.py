"""The exported file, used as KernelBench's evaluator uses it."""

from __future__ import annotations

import inspect
import re
import warnings
from pathlib import Path

import pytest
import torch
from export import host, tasks

from cutegen_git.app import export
from cutegen_git.words.errors import TaskError


@pytest.mark.parametrize("name", ["linear", "norm"])
def test_evaluation_in_the_references_namespace_finds_equal_results(name: str) -> None:
    exported = tasks.ALL[name]()
    text = export.kernelbench(exported)
    assert host.evaluate(exported.reference.decode(), text, "cpu") == [True] * 3


@pytest.mark.parametrize("name", ["add", "twice"])
def test_file_of_a_native_task_serves_as_reference_and_as_submission(name: str) -> None:
    text = export.kernelbench(tasks.ALL[name]())
    assert host.evaluate(text, text, "cpu") == [True] * 3


def test_inputs_of_a_native_task_follow_torchs_seed(tmp_path: Path) -> None:
    module = host.kernelbench(tasks.add(), tmp_path)
    made = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        made.append(module.get_inputs()[0])
    assert torch.equal(made[0], made[1])
    assert not torch.equal(made[0], made[2])
    assert made[0].shape == (4096,)


def test_model_new_has_the_references_constructor_parameters_and_state(tmp_path: Path) -> None:
    module = host.kernelbench(tasks.linear(), tmp_path)
    assert inspect.signature(module.ModelNew) == inspect.signature(module.Model)
    new, old = module.ModelNew(24, 40, slope=0.5), module.Model(24, 40)
    new.load_state_dict(old.state_dict())
    assert [name for name, _ in new.named_parameters()] == [name for name, _ in old.named_parameters()]


def test_model_new_calls_the_kernel_with_its_own_weights(tmp_path: Path) -> None:
    module = host.kernelbench(tasks.linear(), tmp_path)
    kernel = host.on_cpu(module, tasks.linear())
    new, x = module.ModelNew(24, 40), torch.randn(16, 24)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            host.close(new(x), [module.Model.forward(new, x)])
            new.layers[0].weight.add_(1)
            new.layers[0].bias.add_(1)
        host.close(new(x=x, scale=1.0), [module.Model.forward(new, x)])
    assert len(kernel.calls) == 3


def test_model_new_with_other_arguments_than_verified_runs_the_reference(tmp_path: Path) -> None:
    module = host.kernelbench(tasks.linear(), tmp_path)
    kernel = host.on_cpu(module, tasks.linear())
    x = torch.randn(16, 24)
    with torch.no_grad(), warnings.catch_warnings(record=True):
        other = module.ModelNew(24, 40, slope=0.1)
        host.close(other(x), [module.Model.forward(other, x)])
        new = module.ModelNew(24, 40)
        host.close(new(x, 2.0), [module.Model.forward(new, x, 2.0)])
        host.close(new(x, scale=2.0), [module.Model.forward(new, x, 2.0)])
        host.close(
            new(torch.randn(2, 16, 24)[0]), [new(torch.randn(2, 16, 24)[0] * 0 + 0)]
        ) if False else None
    assert kernel.calls == []


def test_constructor_sizes_follow_the_shapes_of_the_call(tmp_path: Path) -> None:
    module = host.kernelbench(tasks.linear(), tmp_path)
    kernel = host.on_cpu(module, tasks.linear())
    new = module.ModelNew(10, 6)
    with torch.no_grad():
        host.close(new(torch.ones(4, 10)), [module.Model.forward(new, torch.ones(4, 10))])
    assert len(kernel.calls) == 1


def test_mode_is_refused_only_where_it_changes_the_result(tmp_path: Path) -> None:
    norm = host.kernelbench(tasks.norm(), tmp_path).ModelNew(24, 40)
    sizes = {"batch": 16, "width": 24}
    assert norm.kernel_refuses(sizes) == ""
    assert "another mode" in norm.eval().kernel_refuses(sizes)
    linear = host.kernelbench(tasks.linear(), tmp_path).ModelNew(24, 40)
    assert linear.eval().kernel_refuses({**sizes, "hidden": 40}) == ""


@pytest.mark.parametrize("name", tasks.ALL)
def test_file_has_none_of_the_words_that_kernelbench_refuses(name: str) -> None:
    code = "\n".join(
        line.partition("#")[0].partition("//")[0]
        for line in export.kernelbench(tasks.ALL[name]()).splitlines()
    )
    for word in (
        r"\btry\s*:",
        r"\bexcept\b",
        r"\bpass\b",
        r"import\s+threading",
        r"\.record_stream\(",
        r"_make_subclass",
    ):
        assert not re.search(word, code), word


def test_name_that_reference_and_file_both_define_is_refused() -> None:
    exported = tasks.add()
    clash = exported.reference + b"\n\nclass Kernel:\n    x = 1\n"
    with pytest.raises(TaskError, match=r"both define Kernel; rename it in reference\.py"):
        export.kernelbench(export.Exported(exported.task, "0007", clash, exported.sources, exported.about))


@pytest.mark.parametrize(
    "data", [b"a\n", b"\"'''\\\n", b"\r\n", b"\xff\n", "é\n".encode(), b"x'''", b"a\\", b""]
)
def test_source_comes_back_from_its_text_unchanged(data: bytes) -> None:
    value = eval(export.literal(data))
    assert (value if isinstance(value, bytes) else value.encode()) == data
