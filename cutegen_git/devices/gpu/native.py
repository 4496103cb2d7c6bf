"""Builds the runner and the judge's side once per machine code and compiler, into a cache folder."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from cutegen_git.hands import process
from cutegen_git.hands.toolchain import Toolchain
from cutegen_git.words.errors import ToolError

BUILD_TIMEOUT_S = 300.0
_PRODUCTS = ("runner", "judge_side.so")
_SOURCES = ("runner.cu", "judge_side.cu", "timing.cuh", "sandbox.h")


@dataclass(frozen=True, slots=True)
class Native:
    """The built files."""

    runner: Path  # executable
    judge_side: Path  # shared library
    cudart: (
        Path  # the runtime that runner and candidates share, so that no launch error hides from the runner
    )


def build_native(toolchain: Toolchain, folder: Path, sm: int) -> Native:
    """From the cache folder if they are there. ToolError when nvcc fails: never the kernel's fault."""
    home = resources.files(__package__) / "native"
    sources = {name: (home / name).read_bytes() for name in _SOURCES}
    key = hashlib.sha256(repr((sorted(sources.items()), toolchain.identity, sm)).encode()).hexdigest()[:16]
    done = folder / f"native-{key}"
    if not all((done / name).is_file() for name in _PRODUCTS):
        shutil.rmtree(done, ignore_errors=True)  # the cache may have evicted a part
        folder.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=folder, prefix="tmp-"))
        try:
            _compile(toolchain, work, sources, sm)
            _publish(work, done)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return Native(done / "runner", done / "judge_side.so", toolchain.cudart)


def _compile(toolchain: Toolchain, work: Path, sources: dict[str, bytes], sm: int) -> None:
    for name, text in sources.items():
        (work / name).write_bytes(text)
    # The PTX rides along: a driver newer than the compiler's list of GPUs can still run it.
    common: list[str | Path] = [
        toolchain.nvcc,
        "-std=c++17",
        "-O2",
        f"-gencode=arch=compute_{sm},code=[sm_{sm},compute_{sm}]",
    ]
    common += [f"-L{folder}" for folder in toolchain.lib_dirs]
    # The wheel has libcudart.so.13 and no libcudart.so, so the file itself is named.
    runner: list[str | Path] = ["-cudart", "none", "-o", "runner", "runner.cu", "-ldl"]
    runner += ["-Xlinker", f"-l:{toolchain.cudart.name}"]
    side: list[str | Path] = [
        "-cudart",
        "static",
        "-shared",
        "-Xcompiler",
        "-fPIC",
        "-o",
        "judge_side.so",
        "judge_side.cu",
    ]
    for argv in (runner, side):
        process.run([*common, *argv], timeout_s=BUILD_TIMEOUT_S, cwd=work).check()


def _publish(work: Path, done: Path) -> None:
    try:
        work.rename(done)
    except OSError as error:
        if not done.is_dir():  # otherwise another process built the same
            raise ToolError(["rename", str(work), str(done)], None, "", str(error), why="no cache") from error
