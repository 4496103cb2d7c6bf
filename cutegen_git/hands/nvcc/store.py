"""Builds in the cache, failed ones too. A damaged entry is dropped and counts as absent."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from cutegen_git.hands.cache import Cache

from .records import Build, KernelResources, Library

KIND = "build"
_RECORD = "build.json"


def load(cache: Cache, key: str) -> Build | None:
    """The build as it was, marked as cached."""
    entry = cache.get(KIND, key)
    if entry is None:
        return None
    try:
        return _read(entry)
    except (OSError, ValueError, KeyError, TypeError):
        cache.drop(KIND, key)
        return None


def save(cache: Cache, key: str, build: Build) -> Build:
    """The same build with its files in the cache; those it names now may be removed."""

    def fill(folder: Path) -> None:
        libraries = [_copy(library, folder / str(number)) for number, library in enumerate(build.libraries)]
        record = {**asdict(replace(build, libraries=())), "libraries": libraries}
        (folder / _RECORD).write_text(json.dumps(record))

    return replace(_read(cache.put(KIND, key, fill)), cached=False)


def _copy(library: Library, folder: Path) -> dict[str, Any]:
    folder.mkdir()
    return {
        "static": dict(library.static),
        "files": _copy_files((library.path, *library.cubins), folder),
        "resources": [asdict(kernel) for kernel in library.resources],
    }


def _copy_files(files: Sequence[Path], folder: Path) -> dict[str, int]:
    """Name in the entry -> size in bytes, in order: library, cubins."""
    for file in files:
        shutil.copyfile(file, folder / file.name)
    return {f"{folder.name}/{file.name}": file.stat().st_size for file in files}


def _read(entry: Path) -> Build:
    record = json.loads((entry / _RECORD).read_text())
    libraries = tuple(_library(entry, item) for item in record.pop("libraries"))
    return Build(**{**record, "libraries": libraries, "cached": True})


def _library(entry: Path, item: Mapping[str, Any]) -> Library:
    for name, size in item["files"].items():
        if (entry / name).stat().st_size != size:
            raise ValueError(f"{name} is damaged")
    path, *cubins = (entry / name for name in item["files"])
    resources = tuple(KernelResources(**kernel) for kernel in item["resources"])
    return Library(item["static"], path, tuple(cubins), resources)
