"""A device for tests: a "kernel" is a Python function on CPU tensors. Thin, but true to the protocol."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from cutegen_git.hands.build import Build, Library
from cutegen_git.judge.protocol import POISON, Call, Trouble
from cutegen_git.words.device import EMULATOR, Device
from cutegen_git.words.task import Task

Kernel = Callable[[Mapping[str, torch.Tensor], Call], Trouble | None]
REAL_NS = 1_000_000  # what a call really takes
GUARD = 64  # elements
_FILL = POISON - (1 << 16)


@dataclass
class FakeBuffer:
    whole: torch.Tensor  # with guards
    tensor: torch.Tensor

    def poison(self) -> None:
        self.whole.view(torch.int16).fill_(_FILL)

    def damage(self) -> str:
        words = self.whole.view(torch.int16)
        width = GUARD * self.whole.element_size() // 2
        hurt = int((words[:width] != _FILL).sum() + (words[-width:] != _FILL).sum())
        return f"{hurt} words" if hurt else ""


@dataclass
class FakeCandidate:
    kernel: Kernel
    ns: int

    def __enter__(self) -> FakeCandidate:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def call(self, call: Call) -> Trouble | None:
        return self.kernel({name: buffer.tensor for name, buffer in call.buffers.items()}, call)

    def call_held(self, call: Call, look: Callable[[], str]) -> Trouble | None:
        assert look() == ""
        return self.call(call)

    def time(self, call: Call, count: int) -> tuple[int, ...] | Trouble:
        trouble = self.call(call)
        return trouble or (self.ns,) * count

    def time_calls(self, call: Call, count: int) -> tuple[int, ...] | Trouble:
        return (self.ns + 5000,) * count

    def batch_s(self, call: Call, count: int) -> float | Trouble:
        return count * REAL_NS * 1e-9

    def damage(self) -> str:
        return ""

    def advice(self) -> Sequence[str]:
        return ()


EMULATED = Device(EMULATOR, "fake", 0, 1 << 33, 0, 1, "")
REAL = Device("fakegpu", "fake GPU", 90, 1 << 33, 0, 1, "1.0")  # can time, so all checks run


@dataclass
class FakeDevice:
    kernels: Mapping[str, Kernel]  # by name of the "library"
    facts: Device = EMULATED
    torch_device: str = "cpu"
    broken: str = ""
    ns: Mapping[str, int] = field(
        default_factory=lambda: defaultdict(lambda: REAL_NS)
    )  # a call, as it reports

    def buffer(
        self, name: str, shape: Sequence[int], strides: Sequence[int], dtype: str, *, shift_bytes: int = 0
    ) -> FakeBuffer:
        kind = getattr(torch, dtype)
        span = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True)) + 1
        whole = torch.zeros(span + 2 * GUARD, dtype=kind)
        buffer = FakeBuffer(whole, whole[GUARD : GUARD + span].as_strided(tuple(shape), tuple(strides)))
        buffer.poison()
        return buffer

    def open(self, library: Path, task: Task) -> FakeCandidate | Trouble:
        return FakeCandidate(self.kernels[library.name], self.ns[library.name])

    def clock(self, work: Callable[[], object], count: int) -> tuple[int, ...]:
        work()
        return (2 * REAL_NS,) * count

    def sm_mhz(self) -> int:
        return 0

    def state(self) -> Mapping[str, str]:
        return {}

    def probe(self) -> str:
        return self.broken


def build_of(name: str) -> Build:
    return Build(True, (Library({}, Path(name), (), ()),), "fake", "", 0, 0.0, False)
