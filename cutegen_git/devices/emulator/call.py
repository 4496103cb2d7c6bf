"""What to call a kernel with: the fields of `Args` in their order, and the bytes behind the pointers."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

SIZES = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3": 1, "float8_e5m2": 1,
    "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
}  # fmt: skip
FORMATS = {
    "float64": "<d",
    "float32": "<f",
    "int64": "<q",
    "int32": "<i",
    "int16": "<h",
    "int8": "<b",
    "uint8": "<B",
    "bool": "<?",
}


class Role(Enum):
    """What a kernel may do with a buffer."""

    INPUT = "input"
    OUTPUT = "output"
    INOUT = "inout"
    WORKSPACE = "workspace"
    PACKED = "packed"


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer field. Outputs are NaN-filled before the call and hold the result after it."""

    name: str
    role: Role
    dtype: str  # a key of SIZES; "uint8" for untyped memory
    data: memoryview | bytearray | bytes | None  # input bytes, or room for the output's; None for a workspace
    nbytes: int = 0  # where there is no data; a workspace of 0 bytes is asked of workspace_bytes()
    shift_bytes: int = 0  # moves the start off its page, to check alignment

    def size_bytes(self) -> int:
        return self.nbytes if self.data is None else memoryview(self.data).nbytes


@dataclass(frozen=True, slots=True)
class Scalar:
    """A field by value."""

    name: str
    dtype: str  # a key of FORMATS
    value: float | int | bool

    def bits(self) -> str:
        """The bytes as a hexadecimal number, little end first in memory."""
        raw = struct.pack(FORMATS[self.dtype], self.value)
        return f"{int.from_bytes(raw, 'little'):x}"


@dataclass(frozen=True, slots=True)
class EmulatorCall:
    """One call of `launch`."""

    fields: tuple[Pointer | Scalar, ...]  # in the order of struct Args

    def pointers(self) -> Sequence[Pointer]:
        return [f for f in self.fields if isinstance(f, Pointer)]

    def args_bytes(self) -> int:
        """The size of the struct under the rules of the C++ ABI."""
        at = 0
        for f in self.fields:
            size = 8 if isinstance(f, Pointer) else SIZES[f.dtype]
            at = (at + size - 1) // size * size + size
        return (
            (at + 7) // 8 * 8
            if any(isinstance(f, Pointer) or SIZES[f.dtype] == 8 for f in self.fields)
            else at
        )
