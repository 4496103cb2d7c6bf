"""The emulator as a judging device: checked, never timed (design judge.md, section 8).

A "library" is a linked program; each call is a process of its own, and calls take turns between thread orders.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

import torch

from cutegen_git.core import abi
from cutegen_git.hands.build import Build, Library
from cutegen_git.hands.toolchain import Toolchain
from cutegen_git.judge.protocol import Call, FieldKind, Layout, Trouble, layout_of
from cutegen_git.words.device import EMULATOR, Device
from cutegen_git.words.task import Task
from cutegen_git.words.verdict import Outcome

from . import build as emulated
from . import disagreements, report
from .build import BuildStatus, EmulatorBuild
from .call import EmulatorCall, Pointer, Role, Scalar
from .report import Report
from .run import ORDERS, run
from .runtime import engine_hash
from .trouble import CALL_TIMEOUT_S, cannot_run, demoted, trouble_of

BUILD_TIMEOUT_S = 240.0
_FILL = 0xFFC3 - (1 << 16)  # judge.protocol.POISON as int16


def facts() -> Device:
    """The emulator as verdicts name it."""
    return Device(EMULATOR, "emulator on the CPU", 0, 0, 0, 0, "")


@dataclass(frozen=True, slots=True)
class HostBuffer:
    """One tensor in this process; the emulator's child gets a copy with red zones around it."""

    data: bytearray
    tensor: torch.Tensor
    shift_bytes: int

    def poison(self) -> None:
        words = torch.frombuffer(self.data, dtype=torch.int16, count=len(self.data) // 2)
        words.fill_(_FILL)

    def damage(self) -> str:
        return ""  # every access is checked where it happens


@dataclass
class EmulatedCandidate:
    """A built program and what it was seen to do."""

    build: EmulatorBuild
    task: Task
    layout: Layout
    device: EmulatorDevice
    demoted: frozenset[str]  # rules without a veto
    reports: list[Report] = field(default_factory=list)

    def __enter__(self) -> EmulatedCandidate:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def call(self, call: Call) -> Trouble | None:
        """One launch in the next thread order."""
        found = run(
            self.build,
            EmulatorCall(tuple(self._fields(call))),
            orders=(self.device.next_order(),),
            timeout_s=CALL_TIMEOUT_S,
        )
        self.device.limits = found.confined
        found = demoted(found, self.demoted)
        self.reports += [one for one in found.reports if one not in self.reports]
        return trouble_of(found)

    def call_held(self, call: Call, look: Callable[[], str]) -> Trouble | None:
        """The same: there is no stream that could be held."""
        del look
        return self.call(call)

    def time(self, call: Call, count: int) -> tuple[int, ...] | Trouble:
        raise NotImplementedError("the emulator does not time")

    time_calls = time

    def batch_s(self, call: Call, count: int) -> float | Trouble:
        raise NotImplementedError("the emulator does not time")

    def damage(self) -> str:
        return ""

    def advice(self) -> Sequence[str]:
        """What was seen, worst first, in a few lines."""
        return report.feedback(self.reports).splitlines()

    def _fields(self, call: Call) -> list[Pointer | Scalar]:
        return [self._field(field.name, field.kind, call) for field in self.layout.fields]

    def _field(self, name: str, kind: FieldKind, call: Call) -> Pointer | Scalar:
        match kind:
            case FieldKind.INT:
                value = call.axes[name] if name in call.axes else call.scalars[name]
                return Scalar(name, "int64", int(value))
            case FieldKind.FLOAT:
                return Scalar(name, "float64", float(call.scalars[name]))
            case FieldKind.BOOL:
                return Scalar(name, "bool", bool(call.scalars[name]))
            case FieldKind.WORKSPACE:
                return Pointer(name, Role.WORKSPACE, "uint8", None)
            case FieldKind.PACKED:
                return Pointer(name, Role.PACKED, "uint8", None, nbytes=self._packed_bytes(call))
            case FieldKind.TENSOR:
                return self._tensor(name, call)

    def _packed_bytes(self, call: Call) -> int:
        """As on a GPU: the ABI has no function that says how much."""
        weights = [call.buffers[spec.name] for spec in self.task.signature.tensors() if spec.constant]
        return 2 * sum(one.tensor.numel() * one.tensor.element_size() for one in weights) + (1 << 20)

    def _tensor(self, name: str, call: Call) -> Pointer:
        buffer = call.buffers[name]
        assert isinstance(buffer, HostBuffer)
        outputs = {spec.name: spec for spec in self.task.signature.outputs}
        shared = {spec.alias for spec in outputs.values()}
        role = Role.OUTPUT if name in outputs else Role.INPUT
        if name in shared or (name in outputs and outputs[name].alias):
            role = Role.INOUT
        dtype = next(
            spec.dtype for spec in (*self.task.signature.tensors(), *outputs.values()) if spec.name == name
        )
        known = {"float8_e4m3fn": "float8_e4m3"}.get(dtype, dtype)
        return Pointer(name, role, known, memoryview(buffer.data), shift_bytes=buffer.shift_bytes)


@dataclass
class EmulatorDevice:
    """Builds and runs candidates on the CPU."""

    toolchain: Toolchain
    folder: Path  # for programs, by content
    disagreements: Path | None = None  # the store of cases that a GPU judged otherwise
    facts: Device = field(default_factory=facts)
    torch_device: str = "cpu"
    limits: tuple[str, ...] = ()  # that held in the last run: files, calls
    _programs: dict[Path, EmulatorBuild] = field(default_factory=dict)
    _orders: itertools.cycle[str] = field(default_factory=lambda: itertools.cycle(ORDERS))

    def build(self, task: Task, sources: Mapping[str, bytes], built: Build) -> Build | Trouble:
        """The same libraries for the CPU; a Trouble says that the emulator cannot have them."""
        libraries = []
        for library in built.libraries:
            made = self._program(abi.header(task, library.static), sources)
            if made.program is None:
                return Trouble(Outcome.UNSUPPORTED, _cannot_build(made))
            self._programs[made.program] = made
            libraries.append(Library(library.static, made.program, (), ()))
        return Build(True, tuple(libraries), EMULATOR, "", 0, built.seconds, built.cached)

    def _program(self, header: str, sources: Mapping[str, bytes]) -> EmulatorBuild:
        return emulated.build(
            sources,
            header,
            self.toolchain.include_dirs,
            self.folder / "programs" / program_key(self.toolchain.identity, header, sources),
            timeout_s=BUILD_TIMEOUT_S,
            runtime_dir=self.folder / "runtime",
        )

    def buffer(
        self, name: str, shape: Sequence[int], strides: Sequence[int], dtype: str, *, shift_bytes: int = 0
    ) -> HostBuffer:
        """A poisoned tensor; `shift_bytes` is done in the child's memory."""
        del name
        kind = torch.uint8 if dtype == "bool" else getattr(torch, dtype)
        last = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        span = last + 1 if prod(shape) else 1
        data = bytearray(span * kind.itemsize)
        whole = torch.frombuffer(data, dtype=kind)
        buffer = HostBuffer(data, whole.as_strided(tuple(shape), tuple(strides)), shift_bytes)
        buffer.poison()
        return buffer

    def open(self, library: Path, task: Task) -> EmulatedCandidate | Trouble:
        kinds = disagreements.kinds(self.disagreements) if self.disagreements else frozenset()
        return EmulatedCandidate(self._programs[library], task, layout_of(task), self, kinds)

    def clock(self, work: Callable[[], object], count: int) -> tuple[int, ...]:
        raise NotImplementedError("the emulator does not time")

    def sm_mhz(self) -> int:
        return 0

    def next_order(self) -> str:
        return next(self._orders)

    def state(self) -> Mapping[str, str]:
        """What the last run's process was kept from, as on a GPU."""
        return {"limits": " ".join(self.limits)}

    def probe(self) -> str:
        return ""


def program_key(toolchain: str, header: str, sources: Mapping[str, bytes]) -> str:
    """The name of a program's folder: everything that the program is made from, the emulator included."""
    parts = [engine_hash(), toolchain.encode(), header.encode()]
    parts += [part for name, data in sorted(sources.items()) for part in (name.encode(), data)]
    return hashlib.sha256(b"".join(b"%d:%b" % (len(part), part) for part in parts)).hexdigest()[:32]


def _cannot_build(made: EmulatorBuild) -> str:
    if made.unsupported is not None:
        return cannot_run(made.unsupported)
    if made.status is BuildStatus.TIMEOUT:
        return f"the emulator's build did not end within {BUILD_TIMEOUT_S:.0f} s"
    first = next((line for line in made.log.splitlines() if "error" in line), made.log[:200])
    return f"the emulator cannot build it, though nvcc can: {first.strip()}"
