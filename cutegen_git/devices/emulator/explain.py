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
    file, line = user_place(log, first, user_files)
    if "/cub/" in first["file"] or "/thrust/" in first["file"]:
        return Unsupported("a header of cub or thrust", file, line)
    name = UNKNOWN_NAME.search(text)
    if name:
        return Unsupported(f"{name['name']} (not known to the emulator)", file, line)
    missing = MISSING_FILE.search(text)
    if missing and missing["name"].startswith(DEVICE_HEADERS):
        return Unsupported(f"#include <{missing['name']}>", file, line)
    return None


def user_place(log: str, error: re.Match[str], user_files: Sequence[str]) -> tuple[str, int]:
    """The user's line of an error, or the line whose #include leads to it."""
    if error["file"] in user_files:
        return error["file"], int(error["line"])
    for via in re.finditer(r"from (?:\./)?([^\s:]+):(\d+)[:,]", log[: error.start()]):
        if via[1] in user_files:
            return via[1], int(via[2])
    return error["file"], 0


def link_problem(log: str) -> Unsupported | None:
    """A runtime or library call that the emulator does not have."""
    name = UNDEFINED.search(log)
    return Unsupported(f"{name['name']} (not known to the emulator)", "", 0) if name else None
