"""The exported caller against real libraries, built by g++ from the generated header."""

from __future__ import annotations

import gc
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from export import host, tasks

from cutegen_git.core import abi
from cutegen_git.hands.build import static_sizes
from cutegen_git.judge.protocol import layout_of


@pytest.fixture
def scaled(tmp_path: Path) -> Any:
    module = host.kernelbench(tasks.scaled(), tmp_path)
    return host.on_cpu(module, tasks.scaled())


@pytest.mark.parametrize("name", tasks.ALL)
def test_args_are_packed_as_the_judge_packs_them(name: str, tmp_path: Path) -> None:
    exported = tasks.ALL[name]()
    spec = host.kernelbench(exported, tmp_path).KERNEL_SPEC
    layout = layout_of(exported.task)
    assert spec.size == layout.size
    assert [(member, offset) for member, _, offset in spec.members] == [
        (f.name, f.offset) for f in layout.fields
    ]


@pytest.mark.parametrize("name", tasks.ALL)
def test_header_with_sizes_filled_in_is_the_one_that_was_built(name: str, tmp_path: Path) -> None:
    exported = tasks.ALL[name]()
    module = host.kernelbench(exported, tmp_path)
    for sizes in static_sizes(exported.task):
        text = module.KERNEL_HEADER
        for axis, size in sizes.items():
            text = text.replace(f"@{axis}@", str(size))
        assert text == abi.header(exported.task, sizes)


@pytest.mark.parametrize("nth", [0, 1])
def test_kernel_with_all_of_the_abi_gives_the_references_results(scaled: Any, nth: int) -> None:
    values = host.inputs(tasks.scaled(), nth)
    host.close(scaled.run(values), host.expected(tasks.scaled(), values, nth))


def test_output_that_overwrites_an_input_leaves_the_callers_tensor_alone(tmp_path: Path) -> None:
    kernel = host.on_cpu(host.kernelbench(tasks.twice(), tmp_path), tasks.twice())
    x = torch.arange(101.0)
    host.close(kernel.run({"x": x}), [torch.arange(101.0) * 2])
    assert torch.equal(x, torch.arange(101.0))


def _changed(values: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**values, **changes}


X, W = torch.ones(64, 64), torch.ones(48, 64).mT
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "dtype": ({"x": X.double()}, "x is torch.float64"),
    "rank": ({"x": X[None]}, "do not fit together"),
    "relation between axes": ({"x": torch.ones(64, 62)}, "do not fit together"),
    "odd size where the axis is doubled": ({"x": torch.ones(64, 7), "w": torch.ones(48, 7).mT}, "do not fit"),
    "compile-time axis": ({"x": torch.ones(64, 10), "w": torch.ones(48, 10).mT}, "K have sizes"),
    "nothing in it": ({"x": torch.ones(0, 64)}, "do not fit together"),
    "strides": ({"w": torch.ones(64, 48)}, "w has strides (48, 1)"),
    "alignment": ({"x": torch.ones(64 * 64 + 1)[1:].view(64, 64)}, "x is not aligned to 16 bytes"),
    "device": ({"x": X.to("meta")}, "the inputs are on cpu, meta"),
    "scalar of another kind": ({"flip": 1}, "flip is no bool"),
    "truth for a number": ({"alpha": True}, "alpha is no float"),
    "no tensor": ({"x": 3.0}, "no tensor"),
    "sizes that the kernel refuses": ({"x": torch.ones(1001, 64)}, "cudaErrorNotSupported"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_kernel_is_not_called_for_what_was_not_verified(scaled: Any, what: str) -> None:
    changes, why = REFUSED[what]
    found = scaled.run(_changed({"x": X, "w": W, "alpha": 1.0, "flip": False}, **changes))
    assert isinstance(found, str)
    assert why in found


def test_older_gpu_than_the_kernel_is_for_is_refused(tmp_path: Path) -> None:
    kernel = host.on_cpu(host.kernelbench(tasks.add(), tmp_path), tasks.add(), capability=(8, 6))
    assert "older than sm_89" in kernel.run({"x": torch.ones(8), "y": torch.ones(8)})


def test_stride_of_a_dimension_of_one_does_not_matter(scaled: Any) -> None:
    x = torch.ones(1, 64).as_strided((1, 64), (7, 1))
    assert not isinstance(scaled.run({"x": x, "w": W, "alpha": 1.0, "flip": False}), str)


def test_error_of_the_kernel_is_raised_and_not_hidden_by_the_reference(scaled: Any) -> None:
    scaled.set_up = lambda *arguments: 35  # cudaErrorInsufficientDriver
    with pytest.raises(RuntimeError, match="CUDA error 35"):
        scaled.run({"x": X, "w": W, "alpha": 1.0, "flip": False})


def test_weights_are_packed_once_and_again_when_they_change(scaled: Any) -> None:
    w = torch.ones(48, 64).mT
    values = {"x": X, "w": w, "alpha": 1.0, "flip": False}
    assert scaled.run(values)[0][0, 0] == 64
    w.data.mul_(3)  # hidden from torch's version counter: shows that the second call packs nothing
    assert scaled.run(values)[0][0, 0] == 64
    scaled.repack()
    assert scaled.run(values)[0][0, 0] == 192
    buffer = next(iter(scaled.packed.values())).buffer
    w.mul_(2)
    assert scaled.run(values)[0][0, 0] == 384
    assert next(iter(scaled.packed.values())).buffer is buffer, "a captured graph holds the old address"


def test_packed_weights_go_when_the_weights_are_gone(scaled: Any) -> None:
    for _ in range(3):
        w = torch.ones(48, 64).mT
        scaled.run({"x": X, "w": w, "alpha": 1.0, "flip": False})
        del w
        gc.collect()
    assert len(scaled.packed) == 1


def test_inference_tensors_are_packed_at_every_call(scaled: Any) -> None:
    with torch.inference_mode():
        values: dict[str, Any] = {"x": X, "w": torch.ones(48, 64).mT, "alpha": 1.0, "flip": False}
        assert scaled.run(values)[0][0, 0] == 64
        values["w"].mul_(2)
        assert scaled.run(values)[0][0, 0] == 128


def test_weights_packed_while_a_graph_is_captured_are_not_kept(scaled: Any) -> None:
    scaled.capturing = lambda: True
    assert scaled.run({"x": X, "w": W, "alpha": 1.0, "flip": False})[0][0, 0] == 64
    assert not scaled.packed


def test_fallback_is_said_once_for_each_reason(tmp_path: Path) -> None:
    module = host.kernelbench(tasks.add(), tmp_path)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(3):
            module.ModelNew()(torch.ones(4), torch.ones(4))
    assert [str(item.message) for item in said] == [
        "add: the torch reference ran, not the kernel: the inputs are on cpu"
    ]
