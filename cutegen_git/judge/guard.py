"""The guard: what of a kernel is refused by reading it, before a compiler runs, and by reading what was built.

It stops what a kernel never needs (design judge.md, section 2) and says where, in a sentence for the model. It proves
nothing: what a candidate does at run time is stopped by its process's limits and seen by the checks. Honest kernels
must pass, so common words are refused only where they can mean nothing else, and the library's imports have the last
word. Pure: bytes in, findings out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cutegen_git.words.verdict import Outcome

from . import guard_elf, guard_names
from .guard_code import assembly, attributes, names, pastes
from .guard_directives import directives
from .guard_found import body
from .guard_lexer import Macro, Source, macros, read

FILE_BYTES = 256 * 1024  # a hand-written kernel has a tenth of it
SHOWN = 5  # findings that one refusal names


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a kernel is refused unrun."""

    outcome: Outcome
    why: str  # one sentence: what is there, and what to do instead
    file: str = ""  # "kernel/kernel.cu"; "" for the built library
    line: int = 0  # from 1
    others: tuple[str, ...] = ()  # further places, as lines

    @property
    def text(self) -> str:
        """The sentence with its place."""
        return f"{self.file}:{self.line}: {self.why}" if self.file else self.why

    @property
    def feedback(self) -> str:
        """Lines for the model."""
        return "\n".join((self.text, *self.others))


def check_sources(files: Mapping[str, bytes]) -> Finding | None:
    """The first thing in the sources that a kernel may not hold, with a few more places. Names relative to kernel/."""
    for name, content in sorted(files.items()):
        if len(content) > FILE_BYTES:
            why = f"the file has {len(content)} bytes, at most {FILE_BYTES} may be"
            return Finding(Outcome.REJECTED_BEFORE_BUILD, why, f"kernel/{name}", 1)
    sources = [read(name, content) for name, content in sorted(files.items())]
    known = macros(sources)
    found = [finding for source in sources for finding in _in_source(source, known, files)]
    return _first(found)


def check_library(path: Path) -> Finding | None:
    """What a built library imports, exports or runs at loading and may not."""
    return check_image(path.read_bytes())


def check_image(data: bytes) -> Finding | None:
    """As `check_library`, of the file's bytes."""
    try:
        image = guard_elf.read(data)
    except guard_elf.NotElf as error:
        return Finding(Outcome.FORBIDDEN_SYMBOL, f"the built library cannot be read: {error}")
    return _first([Finding(Outcome.FORBIDDEN_SYMBOL, why) for why in _in_image(image)])


def _first(found: Sequence[Finding]) -> Finding | None:
    if not found:
        return None
    told = list(dict.fromkeys(finding.text for finding in found))[1:]
    more = [f"(and {len(told) - SHOWN} more)"] if len(told) > SHOWN else []
    return replace(found[0], others=(*told[:SHOWN], *more))


def _in_source(source: Source, known: Mapping[str, Macro], files: Mapping[str, bytes]) -> list[Finding]:
    found = [
        *directives(source, files),
        *names(source.tokens),
        *(item for directive in source.directives for item in names(body(directive))),
        *pastes(source, known),
        *attributes(source),
        *assembly(source, known),
    ]
    place = f"kernel/{source.name}"
    return [
        Finding(outcome, why, place, line)
        for outcome, why, line in sorted(found, key=lambda item: item[2])
    ]  # fmt: skip


def _in_image(image: guard_elf.Image) -> Iterator[str]:
    for library in image.needed:
        if not guard_names.LIBRARIES.fullmatch(library):
            yield f"the library needs {library}; no library does a kernel's work"
    for symbol in image.imports:
        if why := guard_names.why_not_imported(symbol):
            yield f"the library calls {symbol}: {why}"
    for symbol in image.exports:
        if guard_names.is_others(symbol):
            yield f"the library defines {symbol}, a name of the C library or the CUDA runtime; rename it"
    for symbol in image.resolvers:
        yield f"{symbol} is chosen while the library is loaded (ifunc): nothing runs before the entry points"
    for symbol in image.starters:
        if not _REGISTRATION.search(symbol):
            yield f"{symbol} runs when the library is loaded or left: one-time work belongs in setup()"


# CUDA's registration, the compiler's own, and initialisers of static objects (<iostream>, through CuTe, has one).
_REGISTRATION = re.compile(
    r"^(?:frame_dummy|__do_global_(?:dtors|ctors)_aux|_init|_fini|_GLOBAL__sub_[ID]_.*|__cxx_global_\w+|register_tm_clones|deregister_tm_clones"
    r"|(?:_ZL\d+)?__sti____cudaRegisterAll.*|(?:_ZL\d+)?__cudaUnregisterBinaryUtil.*)$"
)
