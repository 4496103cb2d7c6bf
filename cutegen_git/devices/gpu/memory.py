"""Memory that the judge and a candidate's process share: allocations of the judge's own, with guards around.

torch's blocks are not shared: an IPC handle maps a whole block, and references would lie in it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch

from cutegen_git.core.shapes import ITEM_BYTES
from cutegen_git.judge.protocol import POISON, BrokenDevice

GUARD_BYTES = 4 << 20  # before and after: a tile of 128 rows of 8192 floats
_BLOCK = 2 << 20  # the driver's own granularity
_POISON16 = POISON - (1 << 16)  # as a signed 16-bit number


class _Raw:
    """A pointer as torch can adopt it."""

    def __init__(self, pointer: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,), "typestr": "|u1", "data": (pointer, False), "version": 3,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Arena:
    """One allocation. Its slot is the number under which a candidate's process maps it."""

    slot: int
    pointer: int
    size: int  # bytes
    handle: bytes  # cudaIpcMemHandle_t
    bytes_: torch.Tensor  # uint8 view of all of it


@dataclass(frozen=True, slots=True)
class GpuBuffer:
    """Implements judge.protocol.Buffer: `span` bytes at `start` of an arena."""

    arena: Arena
    start: int
    span: int
    view: torch.Tensor

    @property
    def tensor(self) -> torch.Tensor:
        return self.view

    def poison(self) -> None:
        self.arena.bytes_.view(torch.int16).fill_(_POISON16)

    def damage(self) -> str:
        end = self.start + self.span
        before = self._changed(max(0, self.start - GUARD_BYTES), self.start)
        after = self._changed(end, min(self.arena.size, end + GUARD_BYTES))
        said = []
        if after.numel():
            said.append(f"{after.numel()} bytes after its end, the first {int(after[0])} bytes away")
        if before.numel():
            said.append(f"{before.numel()} bytes before its start")
        return " and ".join(said)

    def _changed(self, start: int, end: int) -> torch.Tensor:
        """Distances from `start` of the bytes that are no longer poison."""
        part = self.arena.bytes_[start:end]
        low, high = POISON & 0xFF, POISON >> 8
        is_odd = (torch.arange(start, end, device=part.device) & 1).bool()
        return torch.nonzero(part != torch.where(is_odd, high, low).to(torch.uint8)).flatten()


class Memory:
    """Arenas by name, each as large as the largest buffer of that name so far."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self._arenas: dict[str, Arena] = {}
        self._outgrown: list[Arena] = []
        self._slots = 0

    def buffer(
        self, name: str, shape: Sequence[int], strides: Sequence[int], dtype: str, shift_bytes: int
    ) -> GpuBuffer:
        span = 0
        if prod(shape):
            last = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
            span = (last + 1) * ITEM_BYTES[dtype]
        arena = self._arena(name, span + shift_bytes + 2 * GUARD_BYTES)
        start = GUARD_BYTES + shift_bytes
        kind: torch.dtype = torch.uint8 if dtype == "bool" else getattr(torch, dtype)
        view = arena.bytes_[start : start + span].view(kind).as_strided(tuple(shape), tuple(strides))
        buffer = GpuBuffer(arena, start, span, view)
        buffer.poison()
        return buffer

    def room(self, name: str, size: int) -> GpuBuffer:
        """Untyped bytes, for the workspace."""
        return self.buffer(name, (size,), (1,), "uint8", 0)

    def settle(self) -> None:
        """Waits for the judge's own writes: another process is about to read."""
        torch.cuda.synchronize()

    def _arena(self, name: str, size: int) -> Arena:
        known = self._arenas.get(name)
        if known is not None and known.size >= size:
            return known
        if known is not None:
            self._outgrown.append(self._arenas.pop(name))
        arena = self._arenas[name] = self._allocate((size + _BLOCK - 1) // _BLOCK * _BLOCK)
        return arena

    def _allocate(self, size: int) -> Arena:
        pointer, handle = ctypes.c_void_p(), ctypes.create_string_buffer(64)
        code = self._library.judge_alloc(ctypes.c_int64(size), ctypes.byref(pointer), handle)
        if code != 0:
            torch.cuda.empty_cache()  # torch keeps what it freed
            code = self._library.judge_alloc(ctypes.c_int64(size), ctypes.byref(pointer), handle)
        if code != 0 or pointer.value is None:
            raise BrokenDevice(f"no {size >> 20} MiB of device memory to share (CUDA error {code})")
        self._slots += 1
        whole = torch.as_tensor(_Raw(pointer.value, size), device="cuda")
        return Arena(self._slots, pointer.value, size, handle.raw, whole)

    def _free(self, arena: Arena) -> None:
        torch.cuda.synchronize()
        self._library.judge_free(ctypes.c_void_p(arena.pointer))

    def sweep(self) -> None:
        """Frees what was outgrown. Only while no other process maps it: the driver leaves that case undefined."""
        for arena in self._outgrown:
            self._free(arena)
        self._outgrown.clear()

    def close(self) -> None:
        self._outgrown += self._arenas.values()
        self._arenas.clear()
        self.sweep()
