"""Cases where a GPU and the emulator disagreed. The GPU was right, so the rule that refused has lost its veto.

One JSON file a case, to be read and rerun by people; deleting it gives the rule its veto back.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cutegen_git.words.errors import TaskError

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A kernel that a rule refused for certain and that a GPU judged otherwise."""

    kind: str  # the rule: see trouble.kind_of
    kernel_tree: str  # git's id of kernel/
    sources: Mapping[str, bytes]  # its files
    header: str  # cutegen_abi.h, as the emulator had it
    why: str  # the emulator's words
    gpu_outcome: str  # what the GPU's verdict says

    def text(self) -> str:
        """The case as JSON. Bytes that are no UTF-8 are kept as lone surrogates."""
        sources = {name: data.decode("utf-8", "surrogateescape") for name, data in self.sources.items()}
        fields = {
            name: getattr(self, name) for name in ("kind", "kernel_tree", "header", "why", "gpu_outcome")
        }
        return json.dumps({"format": _FORMAT, **fields, "sources": sources}, indent=1, sort_keys=True) + "\n"


def add(folder: Path, case: Disagreement) -> Path:
    """The file that keeps the case; the same rule on the same kernel and header is one case."""
    if not case.kind:
        raise ValueError("a disagreement needs the rule that refused")
    folder.mkdir(parents=True, exist_ok=True)
    same = "\0".join((case.kind, case.kernel_tree, case.header)).encode("utf-8", "surrogateescape")
    target = folder / f"{case.kind}-{hashlib.sha256(same).hexdigest()[:16]}.json"
    fd, part = tempfile.mkstemp(dir=folder, suffix=".part")
    with os.fdopen(fd, "w") as file:
        file.write(case.text())
    Path(part).replace(target)
    return target


def cases(folder: Path) -> tuple[Disagreement, ...]:
    """All cases, by name. TaskError names a file that is none."""
    return tuple(_read(path) for path in sorted(folder.glob("*.json")))


def kinds(folder: Path) -> frozenset[str]:
    """The rules that have lost their veto; none where there is no folder."""
    return frozenset(case.kind for case in cases(folder))


def _read(path: Path) -> Disagreement:
    try:
        data = json.loads(path.read_text())
        if data["format"] != _FORMAT:
            raise ValueError(f"format {data['format']}")
        words = {name: _text(data[name]) for name in ("kind", "kernel_tree", "header", "why", "gpu_outcome")}
        sources = {
            name: _text(text).encode("utf-8", "surrogateescape") for name, text in data["sources"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise TaskError(f"{path} is not a case of GPU against emulator ({error}): delete it") from error
    return Disagreement(**words, sources=sources)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
