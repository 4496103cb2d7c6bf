"""Finds nvcc, the CUDA headers, CUTLASS's headers and the host compiler.

What the user names wins, then NVIDIA's wheels in the running environment, then nvcc on PATH. Nothing is guessed:
a compiler of another generation is refused, since its kernels could not be compared with the others.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cutegen_git.hands import process
from cutegen_git.hands.cache import Cache
from cutegen_git.words.errors import TaskError, ToolError

from .cutlass import find_cutlass
from .missing import FIX, ToolMissing

CUDA_MAJOR = 13  # of an nvcc that nobody named
CUDA_WHEELS = (  # the extra [cuda] of pyproject.toml
    "nvidia-cuda-nvcc==13.0.*",
    "nvidia-cuda-crt==13.0.*",
    "nvidia-nvvm==13.0.*",
    "nvidia-cuda-runtime==13.0.*",
    "nvidia-cuda-cccl==13.0.*",
)
OLDEST_NAMED = (12, 4)  # of an nvcc that the user named


@dataclass(frozen=True, slots=True)
class Toolchain:
    """All that a build needs."""

    nvcc: Path
    include_dirs: tuple[Path, ...]  # CUTLASS, CUDA runtime, CCCL: in the order of a compiler's command line
    lib_dirs: tuple[Path, ...]  # where libcudart is
    version: str  # of nvcc: "13.0.88"
    cutlass_version: str  # "4.2.0"
    host_compiler: Path  # g++
    identity: str  # what of it can change a build's result; part of the cache key

    @property
    def cudart(self) -> Path:
        """libcudart.so, under the name that candidates load."""
        return _cudart(self.lib_dirs)


def find(
    *,
    nvcc: Path | None = None,
    cutlass: Path | None = None,
    cache: Cache | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Toolchain:
    """The tool chain. TaskError where the user named something unusable, ToolMissing where something lacks."""
    compiler, version = find_nvcc(nvcc, environment)
    headers, cutlass_version, cutlass_id = find_cutlass(cutlass, cache or Cache.default(), environment)
    host, host_version = find_host_compiler(environment)
    includes, libs = cuda_dirs(compiler)
    identity = (
        f"nvcc {version} {compiler}\ncutlass {cutlass_version} {cutlass_id}\n"
        f"host {host_version} {host}\nlib {':'.join(map(str, libs))}\n"
    )
    return Toolchain(compiler, (headers, *includes), libs, version, cutlass_version, host, identity)


def find_nvcc(named: Path | None, environment: Mapping[str, str] = os.environ) -> tuple[Path, str]:
    """nvcc and its version ("13.0.88")."""
    for source, path in _named_nvcc(named, environment):
        if not path.is_file():
            raise TaskError(f"{source} names {path}, which is not there; name the nvcc of a CUDA toolkit")
        version = nvcc_version(path)
        if _numbers(version)[:2] < OLDEST_NAMED:
            oldest = ".".join(map(str, OLDEST_NAMED))
            raise TaskError(f"{source} names nvcc {version}; CuTe needs {oldest} or newer")
        return path.absolute(), version
    for folder in _wheel_folders():
        wheel = folder / f"cu{CUDA_MAJOR}" / "bin" / "nvcc"
        if wheel.is_file():
            return wheel, nvcc_version(wheel)
    on_path = shutil.which("nvcc", path=environment.get("PATH"))
    if on_path is None:
        raise ToolMissing(f"nvcc {CUDA_MAJOR}")
    version = nvcc_version(Path(on_path))
    if _numbers(version)[0] != CUDA_MAJOR:
        fix = f"{FIX} (or name this one with CUTEGEN_GIT_NVCC={on_path})"
        raise ToolMissing(f"nvcc {CUDA_MAJOR} (PATH has {version})", fix)
    return Path(on_path), version


def _wheel_folders() -> tuple[Path, ...]:
    """The folders of the namespace package that NVIDIA's wheels share, in the running environment."""
    importlib.invalidate_caches()  # `doctor --fix` may just have made it
    spec = importlib.util.find_spec("nvidia")
    return tuple(Path(place) for place in (spec.submodule_search_locations or ())) if spec else ()


def _named_nvcc(named: Path | None, environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if named is not None:
        yield "--nvcc", named
    if environment.get("CUTEGEN_GIT_NVCC"):
        yield "CUTEGEN_GIT_NVCC", Path(environment["CUTEGEN_GIT_NVCC"])
    if environment.get("CUDA_HOME"):
        yield "CUDA_HOME", Path(environment["CUDA_HOME"]) / "bin" / "nvcc"


def nvcc_version(nvcc: Path) -> str:
    """ "13.0.88"; ToolError if this is no nvcc."""
    done = process.run([nvcc, "--version"], timeout_s=60).check()
    found = re.search(r"V(\d+\.\d+\.\d+)", done.text())
    if found is None:
        raise ToolError([str(nvcc), "--version"], 0, done.text(), "", why="does not say its version")
    return found[1]


def cuda_dirs(nvcc: Path) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """The include folders and the library folders of this nvcc; ToolMissing where libcudart lacks."""
    top = _top(nvcc)
    includes = _existing(top, "include", "targets/x86_64-linux/include")
    cccl = tuple(folder / "cccl" for folder in includes if (folder / "cccl").is_dir())
    libs = _existing(top, "lib64", "lib", "targets/x86_64-linux/lib")
    libs = tuple(folder for folder in libs if any(folder.glob("libcudart.so*")))
    _cudart(libs)
    return (*includes, *cccl), libs


def _top(nvcc: Path) -> Path:
    """The toolkit's folder as nvcc itself sees it: it may be a wrapper script elsewhere."""
    done = process.run([nvcc, "--dryrun", "none.cu"], timeout_s=60)
    found = re.search(r"^#\$ TOP=(.+)$", done.errors() + done.text(), re.MULTILINE)
    if found is None:
        raise ToolError([str(nvcc), "--dryrun"], done.code, done.text(), done.errors())
    return Path(found[1].strip()).resolve()


def find_host_compiler(environment: Mapping[str, str] = os.environ) -> tuple[Path, str]:
    """g++ and its version: what CUTEGEN_GIT_CXX names, else the one on PATH."""
    named = environment.get("CUTEGEN_GIT_CXX")
    found = shutil.which(named or "g++", path=environment.get("PATH"))
    if found is None:
        raise ToolMissing(named or "g++", "install it (Debian, Ubuntu: apt-get install g++)")
    done = process.run([found, "-dumpfullversion", "-dumpversion"], timeout_s=60).check()
    return Path(found), done.text().strip()


def _existing(top: Path, *names: str) -> tuple[Path, ...]:
    return tuple(top / name for name in names if (top / name).is_dir())


def _cudart(lib_dirs: tuple[Path, ...]) -> Path:
    found = [file for folder in lib_dirs for file in sorted(folder.glob("libcudart.so.*")) if file.is_file()]
    if not found:
        raise ToolMissing("libcudart")
    return min(found, key=lambda file: len(file.name))  # libcudart.so.13, not libcudart.so.13.0.96


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
