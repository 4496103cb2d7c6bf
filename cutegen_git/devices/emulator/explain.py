"""Which errors of the host compiler mean "not emulated" rather than "wrong"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .rewrite import Unsupported

ERROR = re.compile(
    r"^(?:\./)?(?P<file>[^\s:]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$", re.MULTILINE
)
UNKNOWN_NAME = re.compile(
    r"['‘](?P<name>__\w+|cuda[A-Z]\w+|h2?[a-z]+\d*|cooperative_groups|nvcuda|wmma|cub|cuda)['’]"
    r" (?:was not declared|has not been declared|is not a (?:namespace|member)|is not a class)"
)
MISSING_FILE = re.compile(r"(?P<name>[\w/.]+(?:\.h|\.cuh|\.hpp)?): No such file or directory")
DEVICE_HEADERS = ("cub/", "thrust/", "cuda/", "mma.h", "cudnn", "cublas", "curand", "cooperative_groups")
UNDEFINED = re.compile(
    r"undefined reference to [`'](?P<name>(?:cuda|cu|cublas|cudnn|curand)[A-Z]\w*|__tsan_\w+|__\w+)'"
)


def unsupported_error(log: str, user_files: Sequence[str]) -> Unsupported | None:
    """The construct behind the first error, if it is one that the emulator lacks."""
    first = ERROR.search(log)
    if not first:
        return None
    text = first["text"]
    line = int(first["line"]) if first["file"] in user_files else 0
    name = UNKNOWN_NAME.search(text)
    if name:
        return Unsupported(f"{name['name']} (not known to the emulator)", first["file"], line)
    missing = MISSING_FILE.search(text)
    if missing and missing["name"].startswith(DEVICE_HEADERS):
        return Unsupported(f"#include <{missing['name']}>", first["file"], line)
    if "/cub/" in first["file"] or "/thrust/" in first["file"]:
        return Unsupported("a header of CUB or Thrust", first["file"], 0)
    return None


def link_problem(log: str) -> Unsupported | None:
    """A runtime or library call that the emulator does not have."""
    name = UNDEFINED.search(log)
    return Unsupported(f"{name['name']} (not known to the emulator)", "", 0) if name else None
