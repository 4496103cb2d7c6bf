"""What the judge, its devices and a candidate's process share: calls, how they end, and how Args is laid out.

The judge is handed a device and never imports one. A device owns all memory that a candidate sees; the judge looks
at results in that memory and believes nothing that the candidate's process says about them.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cutegen_git.core.abi import args_fields
from cutegen_git.words.device import Device
from cutegen_git.words.errors import CutegenError
from cutegen_git.words.task import Axes, Task
from cutegen_git.words.verdict import Outcome

if TYPE_CHECKING:
    import torch

Scalar = float | int | bool
# 0xFFC3 repeated is NaN in every float of 16 bits or more, and nothing that a kernel writes by chance.
POISON = 0xFFC3


class BrokenDevice(CutegenError):
    """The device or its tools failed in a way that says nothing about the kernel; worth one more try."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """How a candidate failed: a value, since a bad kernel is a result."""

    outcome: Outcome
    why: str  # one sentence for people and models


class Buffer(Protocol):
    """One tensor in memory that a candidate sees. Valid until the device makes another of the same name."""

    @property
    def tensor(self) -> torch.Tensor:
        """The judge's view of it, in the task's shape and strides; bool as uint8."""

    def poison(self) -> None:
        """Fills it and all around it with `POISON`."""

    def damage(self) -> str:
        """What was written around it: "12 bytes after its end, the first 0 bytes away"; "" if nothing was."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of `launch`."""

    axes: Axes  # every axis, the static ones too
    scalars: Mapping[str, Scalar]
    buffers: Mapping[str, Buffer]  # by field of Args: inputs and outputs


class Candidate(contextlib.AbstractContextManager["Candidate"], Protocol):
    """A loaded library in its own process. After a `Trouble` it is of no more use."""

    def call(self, call: Call) -> Trouble | None:
        """setup, workspace and prepare as the library has them, then launch, to the end of the work."""

    def call_held(self, call: Call, look: Callable[[], str]) -> Trouble | None:
        """launch behind a held stream; `look` runs meanwhile and says what is already written ("" = nothing)."""

    def time(self, call: Call, count: int) -> tuple[int, ...] | Trouble:
        """Nanoseconds of `count` calls: held stream, cold caches. After `call` with the same argument."""

    def time_calls(self, call: Call, count: int) -> tuple[int, ...] | Trouble:
        """Nanoseconds of host time from launch to the end of its work, cold caches."""

    def batch_s(self, call: Call, count: int) -> float | Trouble:
        """Seconds, by the judge's own clock, of `count` calls back to back."""

    def damage(self) -> str:
        """As Buffer.damage, for the workspace and the packed weights."""

    def advice(self) -> Sequence[str]:
        """What the device saw in the last call that refuses nothing but is worth telling the model."""


class DeviceHandle(Protocol):
    """A device that can run candidates."""

    @property
    def facts(self) -> Device: ...

    @property
    def torch_device(self) -> str:
        """Where references run and buffers live: "cuda", "cpu"."""

    def buffer(
        self, name: str, shape: Sequence[int], strides: Sequence[int], dtype: str, *, shift_bytes: int = 0
    ) -> Buffer:
        """Poisoned memory, aligned to 256 bytes and then moved by `shift_bytes`. BrokenDevice when it does not fit."""

    def open(self, library: Path, task: Task) -> Candidate | Trouble:
        """The library in a fresh process. BrokenDevice if the process cannot be had at all."""

    def clock(self, work: Callable[[], object], count: int) -> tuple[int, ...]:
        """Nanoseconds of `count` runs of torch work in this process, measured as a candidate's are."""

    def sm_mhz(self) -> int:
        """The clock now; 0 where it cannot be read."""

    def state(self) -> Mapping[str, str]:
        """What a claim says of the device: driver, clocks, power limit."""

    def probe(self) -> str:
        """Runs a known kernel in a fresh process: "" if the device works, else what is wrong."""


class FieldKind(str, Enum):
    TENSOR = "tensor"
    INT = "int"  # int64_t
    FLOAT = "float"  # double
    BOOL = "bool"
    WORKSPACE = "workspace"
    PACKED = "packed"


@dataclass(frozen=True, slots=True)
class Field:
    """One member of Args."""

    name: str
    kind: FieldKind
    offset: int  # bytes


@dataclass(frozen=True, slots=True)
class Layout:
    """How Args lies in memory: natural alignment, as every C++ compiler for this platform does it."""

    fields: tuple[Field, ...]
    size: int  # bytes

    def pack(self, axes: Axes, scalars: Mapping[str, Scalar]) -> bytes:
        """The bytes of Args, every pointer null."""
        data = bytearray(self.size)
        for field in self.fields:
            if field.kind is FieldKind.INT:
                value = axes[field.name] if field.name in axes else scalars[field.name]
                struct.pack_into("<q", data, field.offset, int(value))
            elif field.kind is FieldKind.FLOAT:
                struct.pack_into("<d", data, field.offset, float(scalars[field.name]))
            elif field.kind is FieldKind.BOOL:
                struct.pack_into("<?", data, field.offset, bool(scalars[field.name]))
        return bytes(data)

    def pointers(self) -> tuple[Field, ...]:
        """The members that a device fills in."""
        plain = (FieldKind.INT, FieldKind.FLOAT, FieldKind.BOOL)
        return tuple(field for field in self.fields if field.kind not in plain)


_PLAIN = {"double": FieldKind.FLOAT, "int64_t": FieldKind.INT, "bool": FieldKind.BOOL}


def layout_of(task: Task) -> Layout:
    """The layout of the task's Args."""
    fields, offset = [], 0
    members = args_fields(task)
    for position, (c_type, name) in enumerate(members):
        kind = _PLAIN.get(c_type, FieldKind.TENSOR)
        if position == len(members) - 2:
            kind = FieldKind.WORKSPACE
        elif position == len(members) - 1:
            kind = FieldKind.PACKED
        size = 1 if kind is FieldKind.BOOL else 8
        offset = (offset + size - 1) // size * size
        fields.append(Field(name, kind, offset))
        offset += size
    return Layout(tuple(fields), (offset + 7) // 8 * 8)
