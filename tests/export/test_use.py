"""The exports outside this process: built by nvcc, installed by pip, run as programs."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest
from export import host, tasks

from cutegen_git.app import export, export_build

PROGRAM = """
import torch, {package}
x, y = torch.randn(100), torch.randn(100)
assert torch.equal({package}.forward(x, y), x + y)
assert torch.equal(torch.compile({package}.forward, fullgraph=True, backend="aot_eager")(x, y), x + y)
print({package}.__file__)
"""
CUTE = b"""#include <cute/tensor.hpp>
__global__ void add(const float* x, const float* y, float* z, int n) {
  auto a = cute::make_tensor(cute::make_gmem_ptr(x), cute::make_layout(n));
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = a(i) + y[i];
}
extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  add<<<unsigned((a.N + 255) / 256), 256, 0, stream>>>(a.x, a.y, a.z, int(a.N));
  return cudaGetLastError();
}
"""


def _run(*words: str | Path, cwd: Path, code: int = 0) -> str:
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache for what is built; CUTLASS comes from the real one."""
    found = next(export_build.cutlass_folders(), None)
    if found:
        monkeypatch.setenv("CUTLASS_PATH", str(found.parent))
    monkeypatch.setenv("CUTEGEN_GIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.slow
def test_package_installs_with_pip_and_runs(tmp_path: Path) -> None:
    host.write(tasks.add(), tmp_path / "source")
    _run(sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", "venv", cwd=tmp_path)
    python = tmp_path / "venv/bin/python"
    # A venv of a venv sees the system's packages only: this environment's own come by a .pth file.
    site = Path(pytest.__file__).parents[1]
    home = next((tmp_path / "venv/lib").glob("python*")) / "site-packages"
    (home / "outer.pth").write_text(f"{site}\n")
    pip = (python, "-m", "pip", "install", "-q", "--no-index", "--no-build-isolation", "--no-deps")
    _run(*pip, tmp_path / "source", cwd=tmp_path)
    said = _run(python, "-c", PROGRAM.format(package="cutegen_add"), cwd=tmp_path)
    assert str(home) in said
    assert (home / "cutegen_add/kernel/kernel.cu").is_file()
    assert "no GPU here" in _run(python, "-m", "cutegen_add", "bench", cwd=tmp_path, code=1)


@pytest.mark.slow
@pytest.mark.parametrize("capability", [(8, 9), (9, 0)])
def test_kernel_is_built_by_nvcc_for_the_gpu_at_hand(
    capability: tuple[int, int], tmp_path: Path, cache: Path
) -> None:
    exported = tasks.add()
    exported = export.Exported(exported.task, "0007", exported.reference, {"kernel.cu": CUTE}, exported.about)
    module = host.kernelbench(exported, tmp_path)
    library = module.build_kernel((), capability)
    assert library == module.build_kernel((), capability), "the second time it comes from the cache"
    assert library.is_relative_to(cache)
    assert ctypes.CDLL(str(library)).launch
    for section in ("sm_89", f"sm_{capability[0]}{capability[1]}"):
        assert section.encode() in library.read_bytes()
    assert [path.name for path in (cache / "exported/add").iterdir()] == [library.parent.name]


@pytest.mark.slow
def test_kernel_with_compile_time_sizes_is_built_for_each(tmp_path: Path, cache: Path) -> None:
    module = host.kernelbench(tasks.scaled(), tmp_path)
    built = {module.build_kernel(static, (8, 9)) for static in module.KERNEL_SPEC.statics}
    assert len(built) == 2
    for library in built:
        loaded = ctypes.CDLL(str(library))
        assert all(hasattr(loaded, name) for name in ("launch", "prepare", "setup", "workspace_bytes"))


def test_compiler_error_is_shown(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(RuntimeError, match=r"nvcc cannot build the kernel:\n(.|\n)*kernel\.cu.1"):
        export_build.build_library("bad", {"kernel.cu": "#error no\n"}, "", "sm_89", (8, 9))
    assert list((cache / "exported/bad").iterdir()) == []


def test_missing_tools_name_their_fix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUTEGEN_GIT_CACHE", str(tmp_path))
    monkeypatch.setattr(export_build, "package_folders", lambda name: [])
    nvcc = export_build.find_nvcc
    with pytest.raises(RuntimeError, match="set CUTLASS_PATH"):
        export_build.include_folders(Path("nvcc"), {"kernel.cu": b"#include <cute/tensor.hpp>"})
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(Path, "is_file", lambda path: False)
    with pytest.raises(RuntimeError, match="pip install 'nvidia-cuda-nvcc"):
        nvcc()
