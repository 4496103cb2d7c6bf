"""The candidate's process for real, with a CUDA runtime that needs no GPU: protocol, limits and how each fault ends."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import judge_gemm
import pytest
import torch
from fake_device import build_of

from cutegen_git.devices.gpu import candidate as candidate_module
from cutegen_git.devices.gpu import child as child_module
from cutegen_git.devices.gpu import memory as memory_module
from cutegen_git.devices.gpu.device import GpuDevice
from cutegen_git.devices.gpu.driver import Found
from cutegen_git.devices.gpu.memory import Arena, Memory
from cutegen_git.devices.gpu.native import Native, build_native
from cutegen_git.hands import process
from cutegen_git.hands import toolchain as tools
from cutegen_git.hands.build import Build
from cutegen_git.hands.cache import Cache
from cutegen_git.judge import reference
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
    native = build_native(tools.find(cache=cache), cache.root / "judge", 89)
    folder = tmp_path_factory.mktemp("candidate")
    cudart = folder / "libcudart.so.13"
    source = judge_gemm.KERNELS / "fake_cudart.cpp"
    process.run(["g++", "-O1", "-shared", "-fPIC", "-o", cudart, source], timeout_s=60).check()
    return Workshop(replace(native, cudart=cudart), folder)


@pytest.fixture
def judge(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Judgement]:
    monkeypatch.setattr(candidate_module, "CALL_LIMIT_S", 2.0)
    monkeypatch.setattr(memory_module, "GUARD_BYTES", 1 << 14)  # the CPU is slow at looking through them
    monkeypatch.setattr(memory_module, "_BLOCK", 1 << 12)
    monkeypatch.setattr(child_module, "MEMORY_LIMIT_BYTES", 256 << 20)
    monkeypatch.setenv("SECRET_API_KEY", "sk-1")

    def run(fault: int) -> Judgement:
        task = judge_gemm.task(64)
        device = GpuDevice(Found(FACTS, "", "/usr/lib"), workshop.folder)
        device._native, device._memory = workshop.native, HostMemory()
        monkeypatch.setattr(GpuDevice, "torch_device", "cpu")
        loaded = reference.load(judge_gemm.REFERENCE, task)
        session = Session(task, loaded, device, cache_dir=workshop.folder, say=lambda _: None)
        built = build_of("k")
        library = replace(built.libraries[0], path=workshop.library(fault))
        try:
            return session.judge(_with(built, library), commit="c", secret=b"s")
        finally:
            device.close()

    return run


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
