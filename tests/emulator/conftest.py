"""Builds kernels for the emulator once a session and calls them with numpy arrays."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cutegen_git.devices.emulator.build import EmulatorBuild, build
from cutegen_git.devices.emulator.call import EmulatorCall, Pointer, Role, Scalar
from cutegen_git.devices.emulator.run import ORDERS, EmulatorRun, run
from cutegen_git.devices.emulator.runtime import engine_hash
from cutegen_git.hands import toolchain
from cutegen_git.words.errors import TaskError, ToolError

HERE = Path(__file__).parent
if TYPE_CHECKING:
    from cutegen_git.devices.emulator.device import EmulatorDevice  # needs torch

Builder = Callable[..., EmulatorBuild]


@pytest.fixture(scope="session")
def include_dirs() -> list[Path]:
    """CUTLASS first, then CUDA. The tutorials are found where CUTEGEN_GIT_CUTLASS names a whole source tree."""
    try:
        return list(toolchain.find().include_dirs)
    except (ToolError, TaskError) as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def builder(include_dirs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """Builds sources under a header, at most once a session."""
    kept = os.environ.get("CUTEGEN_GIT_TEST_CACHE")
    root = Path(kept) if kept else tmp_path_factory.mktemp("emulator")

    def make(sources: Mapping[str, bytes] | str, header: str, **options: float) -> EmulatorBuild:
        files = {"kernel.cu": sources.encode()} if isinstance(sources, str) else sources
        key = hashlib.sha256(repr((sorted(files.items()), header)).encode() + engine_hash()).hexdigest()[:20]
        return build(files, header, include_dirs, root / key, timeout_s=options.get("timeout_s", 300))

    return make


@pytest.fixture
def device(tmp_path: Path) -> EmulatorDevice:
    """As the judge has it, with an empty store of disagreements."""
    module = pytest.importorskip("cutegen_git.devices.emulator.device")
    try:
        made = module.EmulatorDevice(toolchain.find(), tmp_path / "programs", tmp_path / "disagreements")
    except (ToolError, TaskError) as missing:
        pytest.skip(str(missing))
    assert isinstance(made, module.EmulatorDevice)
    return made  # type: ignore[no-any-return]


DTYPES = {"float32": "float", "float64": "double", "int32": "int32_t", "int64": "int64_t", "int8": "int8_t", "uint8": "uint8_t",
          "float16": "__half", "bfloat16": "__nv_bfloat16"}  # fmt: skip


def header(fields: str) -> str:
    """The generated header for the body of `struct Args`."""
    return (
        "#define CUTEGEN_ABI 1\n#include <cuda_runtime.h>\n#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cstdint>\n"
        f"struct Args {{ {fields} }};\n"
        'extern "C" cudaError_t launch(const Args& a, cudaStream_t stream);\n'
        'extern "C" size_t workspace_bytes(const Args& a);\n'
        'extern "C" cudaError_t setup(const Args& a);\n'
    )


def tensor(name: str, array: np.ndarray, role: Role, dtype: str = "") -> Pointer:
    return Pointer(name, role, dtype or str(array.dtype), memoryview(array.reshape(-1).view(np.uint8)))


def call_kernel(
    built: EmulatorBuild,
    fields: Sequence[Pointer | Scalar],
    orders: Sequence[str] = ORDERS,
    timeout_s: float = 60,
) -> EmulatorRun:
    assert built.ok, f"{built.status}: {built.unsupported} {built.log[-2000:]}"
    return run(built, EmulatorCall(tuple(fields)), orders=orders, timeout_s=timeout_s)
