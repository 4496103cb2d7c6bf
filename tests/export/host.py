"""The exported code on a CPU: kernels compiled by g++, and a Kernel whose device is the CPU."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import itertools
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from cutegen_git.app import export
from cutegen_git.app.export import Exported
from cutegen_git.app.export_build import cuda_top, find_nvcc
from cutegen_git.core import abi
from cutegen_git.judge import reference

_COUNT = itertools.count()


def write(exported: Exported, folder: Path) -> Path:
    """The folder of the package."""
    for name, data in export.torch_op(exported).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def kernelbench(exported: Exported, folder: Path) -> ModuleType:
    """The file, imported."""
    path = folder / f"{exported.task.name}.py"
    path.write_text(export.kernelbench(exported))
    spec = importlib.util.spec_from_file_location(f"exported_{next(_COUNT)}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def package(exported: Exported, folder: Path) -> Any:
    """The package, imported; its operator is registered once a process, under a name of its own."""
    name = f"cutegen_{exported.task.name}_{next(_COUNT)}"
    home = write(exported, folder) / export.package_name(exported.task)
    (home / "__init__.py").write_text(
        (home / "__init__.py").read_text().replace(f'"{home.name}::forward"', f'"{name}::forward"')
    )
    home.rename(folder / name)
    sys.path.insert(0, str(folder))
    try:
        importlib.invalidate_caches()
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))


def on_cpu(module: Any, sources: Exported, *, capability: tuple[int, int] = (8, 9)) -> Any:
    """The module's kernel, from now on compiled by g++ and called with memory of the CPU."""
    kernel = module.KERNEL
    kernel.calls = []
    whole = kernel.call

    def call(plan: Any, *arguments: object) -> object:
        kernel.calls.append(plan.sizes)
        return whole(plan, *arguments)

    kernel.call = call
    kernel.device_type = "cpu"
    kernel.build = lambda static, capability: host_library(sources, tuple(static))
    kernel.on = lambda device: contextlib.nullcontext()
    kernel.stream = lambda device: 0
    kernel.capability = lambda device: capability
    kernel.capturing = lambda: False
    kernel.wait = lambda device: None
    return kernel


def host_library(exported: Exported, static: tuple[int, ...]) -> Path:
    """One second of g++; once a session."""
    header = abi.header(exported.task, dict(zip(exported.task.static, static, strict=True)))
    return _compiled(header, exported.sources["kernel.cu"])


@functools.cache
def _compiled(header: str, kernel: bytes) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="cutegen-export-"))
    (folder / "abi.h").write_text(header)
    (folder / "kernel.cpp").write_bytes(kernel)
    include = cuda_top(find_nvcc()) / "include"
    argv = ["g++", "-std=c++17", "-O1", "-shared", "-fPIC", "-include", "abi.h", "-isystem", str(include)]
    subprocess.run([*argv, "kernel.cpp", "-o", "kernel.so"], cwd=folder, check=True)
    return folder / "kernel.so"


def inputs(exported: Exported, nth: int = 0, *, device: str = "cpu", seed: int = 1) -> dict[str, Any]:
    """Of the nth workload, by name."""
    loaded = reference.load(exported.reference, exported.task)
    return dict(loaded.inputs(exported.task.workloads[nth].axes, seed=seed, device=device))


def expected(exported: Exported, values: dict[str, Any], nth: int = 0) -> tuple[torch.Tensor, ...]:
    return reference.load(exported.reference, exported.task).run(values, exported.task.workloads[nth].axes)


def close(have: object, want: Sequence[torch.Tensor]) -> None:
    """AssertionError unless both are the same but for rounding."""
    found = list(have) if isinstance(have, (tuple, list)) else [have]
    torch.testing.assert_close(found, list(want), rtol=1e-4, atol=1e-4)


def evaluate(published: str, text: str, device: str, trials: int = 3) -> list[bool]:
    """As KernelBench does: the submission runs in the reference's namespace, with the same seeds for weights and data."""
    world: dict[str, Any] = {}
    exec(compile(published, "<reference>", "exec"), world)
    model, get_init, get_inputs = (world[name] for name in ("Model", "get_init_inputs", "get_inputs"))
    torch.manual_seed(42)
    made_with = get_init()
    with torch.no_grad():
        torch.manual_seed(42)
        old = model(*made_with).to(device=device, dtype=torch.float32)
        exec(compile(text, "<submission>", "exec"), world)
        torch.manual_seed(42)
        new = world["ModelNew"](*made_with).to(device=device, dtype=torch.float32)
        return [_trial(old, new, get_inputs, seed, device) for seed in range(trials)]


def _trial(
    old: torch.nn.Module, new: torch.nn.Module, get_inputs: Callable[[], list[Any]], seed: int, device: str
) -> bool:
    torch.manual_seed(seed)
    given = [item.to(device) if isinstance(item, torch.Tensor) else item for item in get_inputs()]
    want, have = old(*given), new(*given)
    return bool(have.shape == want.shape and torch.allclose(have, want, rtol=1e-4, atol=1e-4))
