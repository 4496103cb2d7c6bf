"""Builds an exported kernel with nvcc. Shipped with every export, so it imports nothing of cutegen-git.

nvcc comes from CUTEGEN_GIT_NVCC, CUDA_HOME, NVIDIA's wheels, PATH or /usr/local/cuda; CUTLASS's headers from
CUTEGEN_GIT_CUTLASS, CUTLASS_PATH, the nvidia-cutlass package or cutegen-git's own cache.
"""

import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path


def build_library(
    name: str, sources: Mapping[str, str | bytes], header: str, arch: str, capability: tuple[int, int]
) -> Path:
    """The kernel as a shared library for a GPU of this capability, from the cache if it was built before."""
    texts = {file: text.encode() if isinstance(text, str) else text for file, text in sources.items()}
    nvcc = find_nvcc()
    flags = nvcc_flags(nvcc, texts, arch, capability)
    key = hashlib.sha256(repr((sorted(texts.items()), header, flags)).encode()).hexdigest()[:24]
    built = cache_folder() / name / key / "kernel.so"
    if not built.is_file():
        built.parent.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=built.parent.parent, prefix="tmp-") as folder:
            compile_into(Path(folder) / "made", nvcc, flags, texts, header)
            with contextlib.suppress(OSError):  # another process may be first
                (Path(folder) / "made").rename(built.parent)
    if not built.is_file():
        raise RuntimeError(f"cannot put the built kernel into {built.parent}")
    return built


def compile_into(
    folder: Path, nvcc: Path, flags: tuple[str, ...], sources: Mapping[str, bytes], header: str
) -> None:
    """Leaves kernel.so in a new folder; RuntimeError with the end of nvcc's output where it fails."""
    for place in ("kernel", "lib", "tmp"):
        (folder / place).mkdir(parents=True)
    for file, text in sources.items():
        (folder / "kernel" / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / "kernel" / file).write_bytes(text)
    (folder / "cutegen_abi.h").write_text(header)
    for cudart in find_cudart(nvcc)[
        :1
    ]:  # the wheel has libcudart.so.13 without the name that linkers look for
        (folder / "lib" / "libcudart.so").symlink_to(cudart)
    units = sorted((f"kernel/{file}" for file in sources if file.endswith(".cu")), key=lambda unit: (unit != "kernel/kernel.cu", unit))  # fmt: skip
    argv = [str(nvcc), *flags, *units, "-o", "kernel.so"]
    env = {**os.environ, "TMPDIR": str(folder / "tmp"), "LC_ALL": "C"}
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"nvcc cannot build the kernel:\n{(done.stdout + done.stderr)[-4000:]}")


def nvcc_flags(
    nvcc: Path, sources: Mapping[str, bytes], arch: str, capability: tuple[int, int]
) -> tuple[str, ...]:
    """The options that the kernel was measured with; relative folders are those of the build."""
    number = arch.removeprefix("sm_")
    here = f"{capability[0]}{capability[1]}"
    code = ["-gencode", f"arch=compute_{number},code=[sm_{number},compute_{number}]"]
    if here != number.rstrip("af"):
        code += ["-gencode", f"arch=compute_{number},code=sm_{here}"]
    includes = [word for folder in include_folders(nvcc, sources) for word in ("-isystem", str(folder))]
    cudart = find_cudart(nvcc)
    link = [f"-L{cudart[0].parent}", f"-Xlinker=-rpath={cudart[0].parent}"] if cudart else []
    host = os.environ.get("CUTEGEN_GIT_CXX")
    return (
        *("-std=c++17", "-O3", "--expt-relaxed-constexpr", "-lineinfo", "-shared", "-cudart", "shared"),
        *(
            "-Xcompiler",
            "-fPIC",
            *(("-ccbin", host) if host else ()),
            "-include",
            "cutegen_abi.h",
            "-Ikernel",
        ),
        *(*includes, *code, "-Llib", *link, "-Xlinker=--no-undefined", "-Xlinker=--require-defined=launch"),
    )


def include_folders(nvcc: Path, sources: Mapping[str, bytes]) -> list[Path]:
    """CUTLASS's headers where the kernel uses them, and CUDA's."""
    found = next(cutlass_folders(), None)
    uses = any(b"cute/" in text or b"cutlass/" in text for text in sources.values())
    if uses and found is None:
        raise RuntimeError(
            "this kernel needs CUTLASS's headers: set CUTLASS_PATH to a checkout of CUTLASS 4.2, or"
            " pip install nvidia-cutlass"
        )
    top = cuda_top(nvcc)
    folders = [top / "include", top / "targets/x86_64-linux/include"]
    folders += [folder / "cccl" for folder in folders]
    return [*([found] if found else []), *(folder for folder in folders if folder.is_dir())]


def find_nvcc() -> Path:
    """RuntimeError where there is none."""
    named = os.environ.get("CUTEGEN_GIT_NVCC")
    home = os.environ.get("CUDA_HOME")
    wheels = [Path(folder) / "cu13/bin/nvcc" for folder in package_folders("nvidia")]
    on_path = shutil.which("nvcc")
    places = [Path(named)] if named else []
    places += [Path(home) / "bin/nvcc"] if home else []
    places += [*wheels, *([Path(on_path)] if on_path else []), Path("/usr/local/cuda/bin/nvcc")]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise RuntimeError(
            "nvcc is not installed: pip install 'nvidia-cuda-nvcc==13.0.*' 'nvidia-cuda-crt==13.0.*'"
            " 'nvidia-nvvm==13.0.*' 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-cccl==13.0.*', or set CUDA_HOME"
        )
    return found.absolute()


def cuda_top(nvcc: Path) -> Path:
    """The toolkit's folder as nvcc itself sees it: it may be a wrapper script elsewhere."""
    done = subprocess.run([nvcc, "--dryrun", "none.cu"], capture_output=True, text=True, check=False)
    found = re.search(r"^#\$ TOP=(.+)$", done.stderr + done.stdout, re.MULTILINE)
    return Path(found[1].strip()).resolve() if found else nvcc.parent.parent


def find_cudart(nvcc: Path) -> list[Path]:
    """libcudart of this nvcc, the shortest name first; empty where the host compiler knows it by itself."""
    top = cuda_top(nvcc)
    folders = (top / "lib64", top / "lib", top / "targets/x86_64-linux/lib")
    found = [file for folder in folders if folder.is_dir() for file in folder.glob("libcudart.so.*")]
    return sorted(found, key=lambda file: (len(file.name), str(file)))


def cutlass_folders() -> Iterator[Path]:
    """Include folders that hold CuTe, the user's own first."""
    for variable in ("CUTEGEN_GIT_CUTLASS", "CUTLASS_PATH", "CUTLASS_DIR"):
        if os.environ.get(variable):
            named = Path(os.environ[variable])
            yield from filter(holds_cute, (named / "include", named))
    for folder in package_folders("cutlass_library"):
        yield from filter(holds_cute, (Path(folder) / "source/include",))
    yield from filter(holds_cute, sorted(cutegen_cache().glob("cutlass/*/*/include")))


def holds_cute(folder: Path) -> bool:
    return (folder / "cute/tensor.hpp").is_file() and (folder / "cutlass/version.h").is_file()


def package_folders(name: str) -> list[str]:
    spec = importlib.util.find_spec(name)
    return list(spec.submodule_search_locations or ()) if spec else []


def cutegen_cache() -> Path:
    named = os.environ.get("CUTEGEN_GIT_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(named) if named else Path(base) / "cutegen-git"


def cache_folder() -> Path:
    """Where built libraries lie: `exported` in cutegen-git's cache folder."""
    return cutegen_cache() / "exported"
