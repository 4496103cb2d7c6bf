"""The tensors of one call in a memory file that the child maps."""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
from types import TracebackType

from .call import SIZES, EmulatorCall, Pointer, Role

PAGE = 4096
WRITTEN = {Role.OUTPUT, Role.INOUT}


class SharedTensors:
    """A sealed memory file with every buffer at a page of its own; closes itself."""

    def __init__(self, call: EmulatorCall) -> None:
        self._call = call
        self._offsets: list[tuple[Pointer, int]] = []
        at = 0
        for pointer in call.pointers():
            self._offsets.append((pointer, at))
            at += (pointer.size_bytes() + pointer.shift_bytes + PAGE - 1) // PAGE * PAGE + PAGE
        self.total_bytes = max(at, PAGE)
        self.fd = os.memfd_create("cutegen-tensors", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, self.total_bytes)
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        self._map = mmap.mmap(self.fd, self.total_bytes)

    def __enter__(self) -> SharedTensors:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._map.close()
        os.close(self.fd)

    def reset(self) -> None:
        """Inputs as given. The child fills outputs with NaN patterns itself."""
        for pointer, at in self._offsets:
            if pointer.data is not None and pointer.size_bytes() and pointer.role is not Role.OUTPUT:
                start = at + pointer.shift_bytes
                self._map[start : start + pointer.size_bytes()] = bytes(memoryview(pointer.data).cast("B"))

    def read_outputs(self) -> None:
        """Copies what the kernel wrote into the caller's buffers."""
        for pointer, at in self._offsets:
            if pointer.role in WRITTEN and pointer.data is not None and pointer.size_bytes():
                start = at + pointer.shift_bytes
                memoryview(pointer.data).cast("B")[:] = self._map[start : start + pointer.size_bytes()]

    def digest(self) -> str:
        """A hash of all outputs."""
        total = hashlib.blake2b(digest_size=16)
        with memoryview(self._map) as view:
            for pointer, at in self._offsets:
                if pointer.role in WRITTEN:
                    start = at + pointer.shift_bytes
                    total.update(view[start : start + pointer.size_bytes()])
        return total.hexdigest()

    def job(self, order: str, seed: int) -> str:
        """The program's orders: see native/host.cpp."""
        lines = [f"order {order} {seed}"]
        places = iter(self._offsets)
        for field in self._call.fields:
            if isinstance(field, Pointer):
                pointer, at = next(places)
                size = SIZES[pointer.dtype]
                lines.append(
                    f"field pointer {pointer.name} {pointer.role.value} {pointer.size_bytes()} {size} {at} {pointer.shift_bytes}"
                )
            else:
                lines.append(f"field value {field.name} {SIZES[field.dtype]} {field.bits()}")
        lines.append(f"args {self._call.args_bytes()}")
        return "\n".join(lines) + "\n"
