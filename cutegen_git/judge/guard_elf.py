"""Reads what the guard asks of a shared library: needed libraries, imports, exports, what runs at loading.

A small reader of 64-bit little-endian ELF (System V ABI, "Object Files"), since binutils may be absent where a
library from the cache is checked.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_DYNAMIC, _RELA, _SYMTAB, _DYNSYM, _INIT_ARRAY, _FINI_ARRAY, _PREINIT_ARRAY = 6, 4, 2, 11, 14, 15, 16
_NEEDED = 1
_RELATIVE = {62: 8, 183: 1027}  # machine -> relocation type: x86-64, AArch64
_ABSOLUTE = {62: 1, 183: 257}
_GNU_IFUNC = 10
_LOCAL = 0


class NotElf(ValueError):
    """The bytes are no shared library that this reader knows."""


@dataclass(frozen=True, slots=True)
class Image:
    """The facts of one library. Names without versions, sorted."""

    needed: tuple[str, ...]
    imports: tuple[str, ...]  # undefined dynamic symbols
    exports: tuple[str, ...]  # defined dynamic symbols
    resolvers: tuple[str, ...]  # ifuncs: chosen by code at loading
    starters: tuple[str, ...]  # functions in init and fini arrays


@dataclass(frozen=True, slots=True)
class _Section:
    kind: int
    address: int
    offset: int
    size: int
    link: int

    def of(self, data: bytes) -> bytes:
        return data[self.offset : self.offset + self.size]


@dataclass(frozen=True, slots=True)
class _Symbol:
    name: str
    kind: int
    binding: int
    section: int  # 0: undefined
    value: int


def read(data: bytes) -> Image:
    """The library's facts. NotElf for anything else."""
    try:
        return _read(data)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise NotElf(f"a damaged ELF file ({error})") from error


def _read(data: bytes) -> Image:
    if data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", data, 16)[0] != 3:
        raise NotElf("no 64-bit shared library")
    machine = struct.unpack_from("<H", data, 18)[0]
    sections = list(_sections(data))
    dynamic = [symbol for s in sections if s.kind == _DYNSYM for symbol in _symbols(data, sections, s)]
    if not dynamic:
        raise NotElf("no dynamic symbols")
    static = [symbol for s in sections if s.kind == _SYMTAB for symbol in _symbols(data, sections, s)]
    everything = [*dynamic, *static]
    return Image(
        needed=tuple(_needed(data, sections)),
        imports=_sorted(symbol for symbol in dynamic if symbol.section == 0),
        exports=_sorted(symbol for symbol in dynamic if symbol.section and symbol.binding != _LOCAL),
        resolvers=_sorted(symbol for symbol in everything if symbol.kind == _GNU_IFUNC and symbol.section),
        starters=tuple(_starters(data, sections, dynamic, everything, machine)),
    )


def _sorted(symbols: Iterator[_Symbol]) -> tuple[str, ...]:
    return tuple(sorted({symbol.name for symbol in symbols if symbol.name}))


def _sections(data: bytes) -> Iterator[_Section]:
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    for number in range(count):
        _, kind, _, address, offset, length, link, *_ = struct.unpack_from(
            "<IIQQQQIIQQ", data, start + number * size
        )
        yield _Section(kind, address, offset, length, link)


def _symbols(data: bytes, sections: list[_Section], table: _Section) -> Iterator[_Symbol]:
    names = sections[table.link].of(data)
    for name, info, _, section, value, _ in struct.iter_unpack("<IBBHQQ", table.of(data)):
        yield _Symbol(_text(names, name), info & 15, info >> 4, section, value)


def _needed(data: bytes, sections: list[_Section]) -> Iterator[str]:
    for section in sections:
        if section.kind == _DYNAMIC:
            names = sections[section.link].of(data)
            for tag, value in struct.iter_unpack("<qQ", section.of(data)):
                if tag == _NEEDED:
                    yield _text(names, value)


def _starters(
    data: bytes, sections: list[_Section], dynamic: list[_Symbol], everything: list[_Symbol], machine: int
) -> Iterator[str]:
    """Names of the functions that loading and unloading run; none where the symbol table was stripped."""
    slots = dict(_relocated(data, sections, dynamic, machine))
    names = {
        symbol.value: symbol.name
        for symbol in everything
        if symbol.section and symbol.name and symbol.kind == 2
    }
    if len(everything) == len(dynamic):
        return
    for section in sections:
        if section.kind in (_INIT_ARRAY, _FINI_ARRAY, _PREINIT_ARRAY):
            for at in range(section.address, section.address + section.size, 8):
                target = slots.get(at, 0)
                yield target if isinstance(target, str) else names.get(target, f"code at {target:#x}")


def _relocated(
    data: bytes, sections: list[_Section], dynamic: list[_Symbol], machine: int
) -> Iterator[tuple[int, int | str]]:
    """Place -> address, or the name of a symbol, that the loader writes there."""
    for section in sections:
        if section.kind == _RELA:
            for at, info, addend in struct.iter_unpack("<QQq", section.of(data)):
                if info & 0xFFFFFFFF == _RELATIVE.get(machine):
                    yield at, addend
                elif info & 0xFFFFFFFF == _ABSOLUTE.get(machine) and info >> 32 < len(dynamic):
                    yield at, dynamic[info >> 32].name


def _text(names: bytes, at: int) -> str:
    return names[at : names.index(b"\0", at)].decode("utf-8", "replace")
