"""The candidate's process for real, with a CUDA runtime that needs no GPU: protocol, limits and how each fault ends."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import judge_affine
import judge_gemm
import pytest
import torch
from fake_device import build_of

from cutegen_git.core import abi, stats
from cutegen_git.devices.gpu import candidate as candidate_module
from cutegen_git.devices.gpu import child as child_module
from cutegen_git.devices.gpu import memory as memory_module
from cutegen_git.devices.gpu.device import GpuDevice
from cutegen_git.devices.gpu.driver import Found
from cutegen_git.devices.gpu.memory import Arena, Memory
from cutegen_git.devices.gpu.native import Native, build_native
from cutegen_git.hands import process
from cutegen_git.hands import toolchain as tools
from cutegen_git.hands.build import Build, Library
from cutegen_git.hands.cache import Cache
from cutegen_git.judge import reference
from cutegen_git.judge.baselines import Baseline
from cutegen_git.judge.judgement import Judgement
from cutegen_git.judge.session import Session
from cutegen_git.words.device import EMULATOR, Device
from cutegen_git.words.verdict import Outcome

FACTS = Device(EMULATOR, "host memory", 0, 1 << 33, 1 << 16, 1, "")


class HostMemory(Memory):
    """Arenas as files in /dev/shm."""

    def __init__(self) -> None:
        self._arenas: dict[str, Arena] = {}
        self._outgrown: list[Arena] = []
        self._slots = 0

    def settle(self) -> None:
        return

    def _allocate(self, size: int) -> Arena:
        self._slots += 1
        path = Path(f"/dev/shm/cutegen-{os.getpid()}-{self._slots}")
        path.touch()
        whole = torch.from_file(str(path), shared=True, size=size, dtype=torch.uint8)
        return Arena(self._slots, 0, size, str(path).encode().ljust(64, b"\0"), whole)

    def _free(self, arena: Arena) -> None:
        Path(arena.handle.rstrip(b"\0").decode()).unlink()


@dataclass
class Workshop:
    """The runner, the fake runtime, and libraries made on demand."""

    native: Native
    folder: Path
    includes: tuple[Path, ...]  # of CUDA

    def library(self, fault: int) -> Path:
        path = self.folder / f"fault{fault}.so"
        source = judge_gemm.KERNELS / "host_gemm.cpp"
        argv = ["g++", "-O1", "-shared", "-fPIC", f"-DFAULT={fault}", "-o", path, source]
        process.run(argv, timeout_s=60).check()
        return path


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    cache = Cache.default()
    tools.fetch_cutlass(cache)
    chain = tools.find(cache=cache)
    native = build_native(chain, cache.root / "judge", 89)
    folder = tmp_path_factory.mktemp("candidate")
    cudart = folder / "libcudart.so.13"
    source = judge_gemm.KERNELS / "fake_cudart.cpp"
    process.run(["g++", "-O1", "-shared", "-fPIC", "-o", cudart, source], timeout_s=60).check()
    return Workshop(replace(native, cudart=cudart), folder, chain.include_dirs)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that suit a CPU, which is slow at looking through guards."""
    monkeypatch.setattr(memory_module, "GUARD_BYTES", 1 << 14)
    monkeypatch.setattr(memory_module, "_BLOCK", 1 << 12)
    monkeypatch.setattr(candidate_module, "CALL_LIMIT_S", 2.0)
    monkeypatch.setattr(child_module, "MEMORY_LIMIT_BYTES", 256 << 20)
    monkeypatch.setenv("SECRET_API_KEY", "sk-1")


@pytest.fixture
def judge(small: None, workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Judgement]:
    def run(fault: int) -> Judgement:
        task = judge_gemm.task(64)
        device = _device(workshop, FACTS, monkeypatch)
        loaded = reference.load(judge_gemm.REFERENCE, task)
        session = Session(task, loaded, device, cache_dir=workshop.folder, say=lambda _: None)
        built = build_of("k")
        library = replace(built.libraries[0], path=workshop.library(fault))
        try:
            return session.judge(_with(built, library), commit="c", secret=b"s")
        finally:
            device.close()

    return run


def _device(workshop: Workshop, facts: Device, monkeypatch: pytest.MonkeyPatch) -> GpuDevice:
    device = GpuDevice(Found(facts, "", "/usr/lib"), workshop.folder)
    device._native, device._memory = workshop.native, HostMemory()
    monkeypatch.setattr(GpuDevice, "torch_device", "cpu")
    return device


def _with(built: Build, library: object) -> Build:
    return replace(built, libraries=(library,))


FAULTS = {
    "exit": (1, Outcome.CRASHED, "ended the process with exit code 0"),
    "bad pointer": (2, Outcome.CRASHED, "SIGSEGV"),
    "endless": (3, Outcome.TIMEOUT, "no end after 2 s"),
    "fork": (4, Outcome.FORBIDDEN_CALL, "started a process"),
    "socket": (5, Outcome.FORBIDDEN_CALL, "socket"),
    "exec": (11, Outcome.FORBIDDEN_CALL, "started a process"),
    "host memory": (7, Outcome.CRASHED, "host memory"),
    "past the workspace": (8, Outcome.OUT_OF_BOUNDS, "workspace"),
    "illegal address": (9, Outcome.CRASHED, "cudaErrorIllegalAddress"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_the_process_gets_its_own_outcome(judge: Callable[[int], Judgement], name: str) -> None:
    fault, outcome, said = FAULTS[name]
    found = judge(fault)
    assert found.outcome is outcome, found.why
    assert said in found.why


@pytest.mark.parametrize(("name", "fault"), [("plain", 0), ("floods stdout", 6)])
def test_a_correct_library_passes(judge: Callable[[int], Judgement], name: str, fault: int) -> None:
    found = judge(fault)
    assert found.outcome is Outcome.PASSED, found.why


def test_a_candidate_sees_no_key_no_home_and_writes_nowhere(judge: Callable[[int], Judgement]) -> None:
    found = judge(10)
    if "files" not in found.facts.get("Confined", ""):
        pytest.skip("this kernel has no landlock")
    assert found.outcome is Outcome.PASSED, found.why


def test_the_limits_that_hold_are_named(judge: Callable[[int], Judgement]) -> None:
    assert "calls" in judge(0).facts["Confined"].split()


REAL = replace(FACTS, slug="fakegpu")


def _affine(workshop: Workshop) -> Build:
    """One library for each size of the static axis."""
    task, made = judge_affine.task(), []
    for size in sorted({workload.axes["N"] for workload in task.workloads}):
        header, path = workshop.folder / f"abi{size}.h", workshop.folder / f"affine{size}.so"
        header.write_text(abi.header(task, {"N": size}))
        argv = ["g++", "-O2", "-shared", "-fPIC", "-include", header, "-o", path]
        argv += [f"-I{folder}" for folder in workshop.includes]
        process.run([*argv, judge_gemm.KERNELS / "host_affine.cpp"], timeout_s=120).check()
        made.append(Library({"N": size}, path, (), ()))
    return Build(True, tuple(made), "fake", "", 0, 0.0, False)


def test_all_of_the_abi_from_check_to_timing(
    small: None, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scalars, static axis, workspace, packed weights and setup reach the library; timing takes its turns."""
    device, task = _device(workshop, REAL, monkeypatch), judge_affine.task()
    task = replace(
        task,
        workloads=tuple(replace(w, axes={**w.axes, "M": min(w.axes["M"], 64)}) for w in task.workloads[:-1]),
    )
    # Work is done at launch here, so nothing can be held back, and torch's time is made up.
    monkeypatch.setattr(candidate_module.GpuCandidate, "call_held", lambda self, call, look: self.call(call))
    real_batch = candidate_module.GpuCandidate.batch_s
    monkeypatch.setattr(
        candidate_module.GpuCandidate,
        "batch_s",
        lambda self, call, count: real_batch(self, call, count) and count * 1e-4,
    )
    monkeypatch.setattr(GpuDevice, "clock", lambda self, work, count: (2_000_000,) * count)
    session = Session(
        task,
        reference.load(judge_affine.REFERENCE, task),
        device,
        cache_dir=workshop.folder,
        say=lambda _: None,
    )
    label = task.workloads[-1].label()
    session.tuned = Baseline("eager", {label: lambda: None}, {label: 2000.0}, {})
    built = _affine(workshop)
    found = session.judge(built, commit="c", secret=b"s", incumbent=built)
    device.close()
    assert found.outcome is Outcome.PASSED, found.why
    assert found.timing is not None
    assert found.timing.speedup == pytest.approx(2.0)  # the fake events say 1 ms
    assert stats.compare(found.samples, "incumbent", "attempt").value == pytest.approx(1.0)
    assert not list(Path("/dev/shm").glob(f"cutegen-{os.getpid()}-*"))


def test_a_runner_that_the_cache_lost_is_built_again(workshop: Workshop) -> None:
    cache = Cache.default()
    workshop.native.judge_side.unlink()
    again = build_native(tools.find(cache=cache), cache.root / "judge", 89)
    assert again.judge_side == workshop.native.judge_side
    assert again.judge_side.is_file()
