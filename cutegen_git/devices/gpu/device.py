"""The GPU as the judge's device: shared memory, candidates' processes, and the clock for torch's own work."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cutegen_git.hands import toolchain as tools
from cutegen_git.hands.cache import default_root
from cutegen_git.judge.protocol import BrokenDevice, Trouble, layout_of
from cutegen_git.words.device import Device
from cutegen_git.words.task import Task

from .candidate import CALL_LIMIT_S, GpuCandidate
from .child import Child
from .driver import Found, Monitor
from .memory import GpuBuffer, Memory
from .native import Native, build_native

HOLD_LIMIT_NS = 2_000_000_000
_READABLE = ("/usr", "/lib", "/lib64", "/etc", "/sys", "/opt")  # what the driver may open late


@dataclass
class GpuDevice:
    """Implements judge.protocol.DeviceHandle. Nothing is built or allocated before it is needed."""

    found: Found
    folder: Path  # for the built runner
    toolchain: tools.Toolchain | None = None  # None: found when needed
    limits: tuple[str, ...] = ()  # what bound the last candidate's process
    monitor: Monitor = field(init=False)
    _native: Native | None = None
    _library: ctypes.CDLL | None = None
    _memory: Memory | None = None
    _live: dict[int, Child] = field(default_factory=dict)  # by seat

    def __post_init__(self) -> None:
        self.monitor = Monitor(self.found.pci_bus)

    @staticmethod
    def make(found: Found, folder: Path | None, toolchain: tools.Toolchain | None) -> GpuDevice:
        return GpuDevice(found, folder or default_root() / "judge", toolchain)

    @property
    def facts(self) -> Device:
        return self.found.device

    @property
    def torch_device(self) -> str:
        return "cuda"

    def buffer(
        self, name: str, shape: Sequence[int], strides: Sequence[int], dtype: str, *, shift_bytes: int = 0
    ) -> GpuBuffer:
        return self._shared().buffer(name, shape, strides, dtype, shift_bytes)

    def open(self, library: Path, task: Task) -> GpuCandidate | Trouble:
        self._live = {seat: child for seat, child in self._live.items() if child.is_alive}
        if not self._live:
            self._shared().sweep()
        seat = next(number for number in range(len(self._live) + 1) if number not in self._live)
        child = self._child(library)
        reply = child.ask(f"load {str(library).encode().hex()}", CALL_LIMIT_S + 20)
        if isinstance(reply, Trouble):
            return reply
        self.limits = child.limits
        self._live[seat] = child
        return GpuCandidate(child, self._shared(), layout_of(task), task, frozenset(reply), seat)

    def clock(self, work: Callable[[], object], count: int) -> tuple[int, ...]:
        import torch

        library = self._side()
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        times, expired = (ctypes.c_int64 * count)(), ctypes.c_int(0)
        self._check(library.judge_begin(count, ctypes.c_int64(HOLD_LIMIT_NS), stream))
        try:
            for call in range(count):
                library.judge_flush(stream)
                library.judge_mark(call, 0, stream)
                work()
                library.judge_mark(call, 1, stream)
        finally:
            library.judge_release()
        self._check(library.judge_end(count, times, ctypes.byref(expired), stream))
        return tuple(int(ns) for ns in times)

    def sm_mhz(self) -> int:
        return self.monitor.sm_mhz()

    def state(self) -> Mapping[str, str]:
        return {"limits": " ".join(self.limits) or "none", **self.monitor.state()}

    def probe(self) -> str:
        try:
            child = self._child(None)
        except BrokenDevice as error:
            return str(error)
        reply = child.ask("probe", CALL_LIMIT_S)
        child.close()
        return reply.why if isinstance(reply, Trouble) else ""

    def close(self) -> None:
        """Frees the shared memory."""
        if self._memory is not None:
            self._memory.close()

    def native(self) -> Native:
        if self._native is None:
            chain = self.toolchain or tools.find()
            self._native = build_native(chain, self.folder, self.facts.sm)
        return self._native

    def _child(self, library: Path | None) -> Child:
        native = self.native()
        readable = [Path(name) for name in _READABLE] + [native.cudart.parent]
        readable += [Path(self.found.libcuda)] + ([library] if library else [])
        child = Child(native.runner, self._environment(native))
        child.start(2 * self.facts.l2_bytes or 128 << 20, readable)
        return child

    def _environment(self, native: Native) -> dict[str, str]:
        """No key, no GIT_*, no home: what CUDA needs to start, and which GPU."""
        folders = f"{native.cudart.parent}:{self.found.libcuda}"
        kept = {name: os.environ[name] for name in ("CUDA_VISIBLE_DEVICES",) if name in os.environ}
        return {
            "PATH": "/usr/bin:/bin",
            "LD_LIBRARY_PATH": folders,
            "CUDA_CACHE_DISABLE": "1",  # offline code only: a JIT cache would be state between candidates
            "CUDA_MODULE_LOADING": "EAGER",  # a lazy load behind a held stream could wait for it
            **kept,
        }

    def _side(self) -> ctypes.CDLL:
        if self._library is None:
            import torch

            torch.cuda.current_stream()  # makes the primary context that the library then uses
            library = ctypes.CDLL(str(self.native().judge_side))
            library.judge_error.restype = ctypes.c_char_p
            self._check(library.judge_open(ctypes.c_int64(2 * self.facts.l2_bytes or 128 << 20)), library)
            self._library = library
        return self._library

    def _shared(self) -> Memory:
        if self._memory is None:
            self._memory = Memory(self._side())
        return self._memory

    def _check(self, code: int, library: ctypes.CDLL | None = None) -> None:
        if code != 0:
            library = library or self._side()
            raise BrokenDevice(f"the judge's own CUDA call fails: {library.judge_error(code).decode()}")
