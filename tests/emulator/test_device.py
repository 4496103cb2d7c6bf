"""What the device adds to a run: where programs are kept, and how a run's end is said to the judge."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cutegen_git.devices.emulator import runtime
from cutegen_git.devices.emulator.report import Report, sentence
from cutegen_git.devices.emulator.run import EmulatorRun, RunStatus
from cutegen_git.devices.emulator.trouble import trouble_of
from cutegen_git.hands.build import Build, Library
from cutegen_git.words.task import Family, Role, Signature, Task, TensorSpec, Workload
from cutegen_git.words.verdict import Outcome

if TYPE_CHECKING:
    from cutegen_git.devices.emulator.device import EmulatorDevice

device_module = pytest.importorskip("cutegen_git.devices.emulator.device")  # needs torch
PACKS = """#include <cuda_runtime.h>
__global__ void negate(const float* w, float* packed, int64_t n) {
  if (threadIdx.x < n) packed[threadIdx.x] = -w[threadIdx.x];
}
__global__ void add(const float* x, const float* packed, float* y, int64_t n) {
  if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] - packed[threadIdx.x];
}
extern "C" cudaError_t prepare(const Args& a, void* packed, cudaStream_t s) {
  negate<<<1, 128, 0, s>>>(a.W, static_cast<float*>(packed), a.N);
  return cudaGetLastError();
}
extern "C" cudaError_t launch(const Args& a, cudaStream_t s) {
  add<<<1, 128, 0, s>>>(a.X, static_cast<const float*>(a.packed), a.Y, a.N);
  return cudaGetLastError();
}
"""
SUM = b"""import torch


def inputs(axes, *, generator, device):
    return {name: torch.randn(axes["N"], generator=generator, device=device) for name in ("X", "W")}


def reference(X, W):
    return X + W
"""


def test_program_is_built_again_when_the_emulator_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    before = device_module.program_key("nvcc", "header", {"kernel.cu": b"x"})
    assert before == device_module.program_key("nvcc", "header", {"kernel.cu": b"x"})
    monkeypatch.setattr(device_module, "engine_hash", lambda: b"another emulator")
    assert device_module.program_key("nvcc", "header", {"kernel.cu": b"x"}) != before


def test_program_key_keeps_names_and_contents_apart() -> None:
    keys = {
        device_module.program_key("nvcc", "header", files)
        for files in ({"a": b"bc"}, {"ab": b"c"}, {"a": b"", "b": b"c"}, {"a": b"b", "c": b""})
    }
    assert len(keys) == 4


def test_engine_hash_covers_native_files(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    seen = runtime.engine_hash()
    native = runtime.NATIVE
    assert {path.name for path in native.rglob("*.h")} >= {"rt.h", "cooperative_groups.h"}
    monkeypatch.setattr(runtime, "NATIVE", native / "shim")  # its parent holds no Python files
    assert runtime.engine_hash() != seen


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("oob-global", Outcome.OUT_OF_BOUNDS),
        ("use-after-free", Outcome.OUT_OF_BOUNDS),
        ("input-written", Outcome.INPUT_MODIFIED),
        ("deadlock", Outcome.TIMEOUT),
        ("misaligned", Outcome.CRASHED),
        ("trap", Outcome.CRASHED),
        ("assert", Outcome.CRASHED),
        ("stack-overflow", Outcome.CRASHED),
        ("crash", Outcome.CRASHED),
        ("launch-limit", Outcome.LAUNCH_FAILED),
        ("barrier-divergence", Outcome.LAUNCH_FAILED),
        ("barrier-exited", Outcome.LAUNCH_FAILED),
        ("warp-exited", Outcome.LAUNCH_FAILED),
        ("mask-without-caller", Outcome.LAUNCH_FAILED),
    ],
)
def test_veto_has_the_outcome_that_a_gpus_verdict_would_have(kind: str, outcome: Outcome) -> None:
    veto = Report(kind, "veto", "k", "kernel.cu", 7, (0, 0, 0), (3, 0, 0), "", -1, 1, "here")
    trouble = trouble_of(EmulatorRun(RunStatus.STOPPED, 0, (veto,), None, confined=("calls",)))
    assert trouble
    assert trouble.outcome is outcome
    assert trouble.why == f"[{kind}] {sentence(veto)}"


def sum_task() -> Task:
    inputs = TensorSpec("X", "float32", ("N",)), TensorSpec("W", "float32", ("N",), constant=True)
    signature = Signature(inputs, (TensorSpec("Y", "float32", ("N",)),), ("N",))
    loads = (Workload({"N": 100}, Role.CHECK), Workload({"N": 128}, Role.RANK))
    return Task("sum", Family.ELEMENTWISE, "sm_89", "rtx4090", signature, loads)


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        (PACKS, Outcome.PASSED),
        (PACKS.replace("prepare(", "never_called("), Outcome.OUT_OF_BOUNDS),  # a null pointer, as on a GPU
    ],
)
def test_weights_are_packed_where_the_kernel_asks_for_it(
    device: EmulatorDevice, tmp_path: Path, source: str, outcome: Outcome
) -> None:
    from cutegen_git.judge import reference
    from cutegen_git.judge.session import Session

    task = sum_task()
    unbuilt = Build(True, (Library({}, tmp_path, (), ()),), "sm_89", "", 0, 0.0, False)
    made = device.build(task, {"kernel.cu": source.encode()}, unbuilt)
    assert isinstance(made, Build), made
    session = Session(task, reference.load(SUM, task), device, cache_dir=tmp_path, say=lambda _: None)
    found = session.judge(made, commit="a", secret=secrets.token_bytes(16))
    assert found.outcome is outcome, found.why
