"""CUTLASS's headers: a checkout that the user names, else the pinned release in the cache."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from cutegen_git.hands import process
from cutegen_git.hands.cache import Cache
from cutegen_git.words.errors import CutegenError, TaskError

from .missing import ToolMissing

CUTLASS_WHEEL = "nvidia-cutlass==4.2.0.0"
CUTLASS_SHA256 = "f9599ada45c7bcb6bf53f7d3f0a7d154183e53451c01bfa59eecd37dd4a693f6"
CUTLASS_FOLDER = "cutlass_library/source/include/"
LICENSE_SUFFIX = ".dist-info/licenses/LICENSE.txt"


def find_cutlass(
    named: Path | None, cache: Cache, environment: Mapping[str, str] = os.environ
) -> tuple[Path, str, str]:
    """CUTLASS's include folder, its version, and what identifies its content."""
    source = "--cutlass" if named is not None else "CUTEGEN_GIT_CUTLASS"
    if named is None and environment.get("CUTEGEN_GIT_CUTLASS"):
        named = Path(environment["CUTEGEN_GIT_CUTLASS"])
    if named is not None:
        include = next((folder for folder in (named / "include", named) if _is_cutlass(folder)), None)
        if include is None:
            raise TaskError(f"{source} names {named}, which holds no include/cute; name a CUTLASS checkout")
        include = include.resolve()
        return include, cutlass_version(include), f"{include} {_state(include)}"
    entry = cache.get("cutlass", CUTLASS_SHA256)
    if entry is None:
        raise ToolMissing("CUTLASS 4.2 (headers)")
    return entry / "include", cutlass_version(entry / "include"), CUTLASS_SHA256


def cutlass_version(include: Path) -> str:
    """ "4.2.0", from cutlass/version.h."""
    text = (include / "cutlass" / "version.h").read_text()
    numbers = [re.search(rf"#define CUTLASS_{part}\s+(\d+)", text) for part in ("MAJOR", "MINOR", "PATCH")]
    return ".".join(found[1] if found else "0" for found in numbers)


def fetch_cutlass(cache: Cache, say: Callable[[str], None] = lambda line: None) -> Path:
    """The include folder in the cache, fetched if it is not there. Network through the running Python's pip."""
    entry = cache.get("cutlass", CUTLASS_SHA256)
    if entry is None:
        say(f"fetching the headers of {CUTLASS_WHEEL}")
        with tempfile.TemporaryDirectory(prefix="cutegen-cutlass-") as folder:
            wheel = download(CUTLASS_WHEEL, Path(folder))
            check_sha256(wheel, CUTLASS_SHA256)
            entry = cache.put("cutlass", CUTLASS_SHA256, lambda target: unpack_headers(wheel, target))
    return entry / "include"


def require_pip() -> None:
    """ToolMissing where the running Python has no pip."""
    try:
        importlib.metadata.version("pip")
    except importlib.metadata.PackageNotFoundError:
        fix = (
            f"give this Python one ({sys.executable} -m ensurepip), "
            "or name a CUTLASS checkout with CUTEGEN_GIT_CUTLASS and a CUDA 13 nvcc with CUTEGEN_GIT_NVCC"
        )
        raise ToolMissing("pip", fix) from None


def download(requirement: str, folder: Path) -> Path:
    """The wheel that pip, with the user's configuration, finds for exactly this requirement."""
    require_pip()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "-q"]
    process.run([*command, "-d", folder, requirement], timeout_s=600).check()
    return next(iter(folder.glob("*.whl")))


def check_sha256(file: Path, expected: str) -> None:
    """Raises unless the file is the one that this code was written for."""
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    if found != expected:
        raise CutegenError(
            f"{file.name} is not the file that cutegen-git knows (sha256 {found[:12]}…, expected "
            f"{expected[:12]}…); do not use this package index, or name a CUTLASS checkout: CUTEGEN_GIT_CUTLASS"
        )


def unpack_headers(wheel: Path, target: Path) -> None:
    """Writes CUTLASS's include folder and its licence; refuses names that leave the folder."""
    with zipfile.ZipFile(wheel) as archive:
        for item in archive.infolist():
            name = _header_name(item.filename)
            if name is None or item.is_dir():
                continue
            if name.is_absolute() or ".." in name.parts or "\\" in str(name) or ":" in str(name):
                raise CutegenError(
                    f"{wheel.name} holds the unsafe name {item.filename!r}; nothing was installed"
                )
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(archive.read(item))
    if not _is_cutlass(target / "include"):
        raise CutegenError(f"{wheel.name} holds no CuTe headers")


def _header_name(name: str) -> PurePosixPath | None:
    if name.startswith(CUTLASS_FOLDER):
        return PurePosixPath("include") / name[len(CUTLASS_FOLDER) :]
    return PurePosixPath("LICENSE.txt") if name.endswith(LICENSE_SUFFIX) else None


def _is_cutlass(folder: Path) -> bool:
    return (folder / "cute" / "tensor.hpp").is_file() and (folder / "cutlass" / "version.h").is_file()


def _state(folder: Path) -> str:
    """A hash over names, sizes and times of a checkout's headers: it changes when somebody edits them."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.h*")):
        stat = file.stat()
        digest.update(f"{file.relative_to(folder)}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
