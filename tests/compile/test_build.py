"""Real nvcc. The kernels are plain CUDA, which compiles in about two seconds; CuTe ones are slow."""

from __future__ import annotations

import ctypes
import re
import stat
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from cutegen_git.hands.build import Build, build, code_for, static_sizes
from cutegen_git.hands.cache import Cache
from cutegen_git.hands.toolchain import Toolchain
from cutegen_git.words.errors import TaskError, ToolError
from cutegen_git.words.task import Role, Task, Workload

DOUBLE = b"""
namespace doubling {
__device__ float factor = 2.0f;
__global__ void twice(const float* x, float* y, int64_t n) {
  __shared__ float tile[256];
  int64_t i = blockIdx.x * 256ll + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  if (i < n) y[i] = factor * tile[threadIdx.x];
}
}
cudaError_t launch(const Args& a, cudaStream_t stream) {
  doubling::twice<<<(a.N + 255) / 256, 256, 0, stream>>>(a.x, a.y, a.N);
  return cudaGetLastError();
}
"""


def _build(task: Task, source: bytes, toolchain: Toolchain, cache: Cache, **more: object) -> Build:
    options: dict[str, object] = {"target_sm": None, **more}
    return build(task, {"kernel.cu": source}, toolchain=toolchain, cache=cache, **options)  # type: ignore[arg-type]


def _symbols(library: Path) -> set[str]:
    """Symbols without the module id in the names of internal ones."""
    text = subprocess.run(["nm", "-C", library], capture_output=True, text=True, check=True).stdout
    return {re.sub(r"\d+_GLOBAL__N_\w+?(?=\d+twice)", "", line[17:]) for line in text.splitlines()}


def test_kernel_becomes_a_library_with_its_cubin_and_resources(
    task: Task, toolchain: Toolchain, cache: Cache
) -> None:
    said: list[str] = []
    result = _build(task, DOUBLE, toolchain, cache, say=said.append)
    assert (result.ok, result.exit_code, result.code, result.cached) == (True, 0, "sm_89", False)
    (library,) = result.libraries
    assert hasattr(ctypes.CDLL(str(library.path)), "launch")
    assert library.cubin is not None
    assert library.cubin.read_bytes()[:4] == b"\x7fELF"
    (kernel,) = library.resources
    assert kernel.name == "doubling::twice(float const*, float*, long)"
    assert (kernel.arch, kernel.smem_bytes, kernel.spill_store_bytes) == ("sm_89", 1024, 0)
    assert 4 <= kernel.registers <= 40
    assert said == ["compiling kernel/kernel.cu for sm_89"]


def test_side_by_side_gives_what_plain_nvcc_gives(task: Task, toolchain: Toolchain, tmp_path: Path) -> None:
    fast = _build(task, DOUBLE, toolchain, Cache(tmp_path / "a"), target_sm=90)
    plain = _build(task, DOUBLE, toolchain, Cache(tmp_path / "b"), target_sm=90, side_by_side=False)
    assert fast.ok
    assert plain.ok
    assert fast.libraries[0].resources == plain.libraries[0].resources
    assert _symbols(fast.libraries[0].path) == _symbols(plain.libraries[0].path)
    assert _without_times(fast.log) == _without_times(plain.log)
    sizes = [build.libraries[0].path.stat().st_size for build in (fast, plain)]
    assert abs(sizes[0] - sizes[1]) <= 512  # internal names differ in length


def _without_times(log: str) -> list[str]:
    return sorted(line for line in log.splitlines() if "Compile time" not in line)


def test_other_device_gets_the_same_ptx_compiled_for_it(
    task: Task, toolchain: Toolchain, cache: Cache
) -> None:
    result = _build(task, DOUBLE, toolchain, cache, target_sm=90)
    assert result.code == "compute_89->sm_90"
    assert result.libraries[0].cubins[0].name == "kernel.sm_90.cubin"
    assert {kernel.arch for kernel in result.libraries[0].resources} == {"sm_89", "sm_90"}


def test_second_build_comes_from_the_cache(task: Task, toolchain: Toolchain, cache: Cache) -> None:
    first = _build(task, DOUBLE, toolchain, cache)
    started = time.monotonic()
    second = _build(task, DOUBLE, toolchain, cache)
    assert time.monotonic() - started < 0.5
    assert second == replace(first, cached=True)


def test_damaged_entry_is_built_again(task: Task, toolchain: Toolchain, cache: Cache) -> None:
    library = _build(task, DOUBLE, toolchain, cache).libraries[0].path
    library.write_bytes(library.read_bytes()[:100])
    again = _build(task, DOUBLE, toolchain, cache)
    assert again.ok
    assert not again.cached


def test_compile_error_is_a_value_that_names_the_users_file(
    task: Task, toolchain: Toolchain, cache: Cache
) -> None:
    result = _build(
        task, b"\n\ncudaError_t launch(const Args& a, cudaStream_t s) { return nope; }\n", toolchain, cache
    )
    assert not result.ok
    assert result.libraries == ()
    assert result.exit_code not in (0, None)
    assert result.log.startswith('kernel/kernel.cu(3): error: identifier "nope" is undefined')
    assert "/tmp" not in result.log
    assert result.log.count('identifier "nope"') == 1
    assert _build(
        task, b"\n\ncudaError_t launch(const Args& a, cudaStream_t s) { return nope; }\n", toolchain, cache
    ).cached


def test_failing_log_is_that_of_plain_nvcc(task: Task, toolchain: Toolchain, tmp_path: Path) -> None:
    source = DOUBLE.replace(b"factor *", b"factor * oops *").replace(b"<<<(a.N", b"<<<(b.N")
    fast = _build(task, source, toolchain, Cache(tmp_path / "a"))
    plain = _build(task, source, toolchain, Cache(tmp_path / "b"), side_by_side=False)
    assert fast.log == plain.log


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (b"int x;", "launch"),
        (b"cudaError_t launch(int) { return cudaSuccess; }", "launch"),
        (DOUBLE + b"void gone(); cudaError_t setup(const Args&) { gone(); return cudaSuccess; }", "gone"),
    ],
)
def test_missing_function_is_an_error_at_build(
    task: Task, toolchain: Toolchain, cache: Cache, source: bytes, expected: str
) -> None:
    result = _build(task, source, toolchain, cache)
    assert not result.ok
    assert expected in result.log


def test_wrong_signature_of_launch_is_an_error(task: Task, toolchain: Toolchain, cache: Cache) -> None:
    source = b'extern "C" int launch(const Args& a, cudaStream_t s) { return 0; }'
    assert not _build(task, source, toolchain, cache).ok


def test_static_axes_give_one_library_for_each_size(task: Task, toolchain: Toolchain, cache: Cache) -> None:
    workloads = tuple(Workload({"N": size}, Role.RANK) for size in (256, 512, 256))
    task = replace(task, static=("N",), workloads=workloads)
    assert static_sizes(task) == [{"N": 256}, {"N": 512}]
    source = DOUBLE.replace(b"(a.N + 255) / 256", b"Args::N / 256") + b"static_assert(Args::N % 256 == 0);"
    result = _build(task, source, toolchain, cache)
    assert [dict(library.static) for library in result.libraries] == [{"N": 256}, {"N": 512}]
    assert result.library({"N": 512}).path != result.library({"N": 256}).path
    failed = _build(task, source + b"static_assert(Args::N == 256);", toolchain, cache)
    assert failed.log.startswith("with N = 512:\nkernel/kernel.cu(")


def test_several_files_are_compiled_and_linked(task: Task, toolchain: Toolchain, cache: Cache) -> None:
    main = b'#include "part.cuh"\ncudaError_t launch(const Args& a, cudaStream_t s) { return part(a, s); }'
    sources = {
        "kernel.cu": main,
        "part.cuh": b"#pragma once\ncudaError_t part(const Args& a, cudaStream_t s);",
        "a_part.cu": DOUBLE.replace(b"cudaError_t launch", b'#include "part.cuh"\ncudaError_t part'),
    }
    result = build(task, sources, toolchain=toolchain, cache=cache, target_sm=None)
    assert result.ok, result.log
    assert [file.name for file in result.libraries[0].cubins] == ["kernel.sm_89.cubin", "a_part.sm_89.cubin"]
    assert [kernel.name.split("(")[0] for kernel in result.libraries[0].resources] == ["doubling::twice"]


def test_include_outside_the_kernel_is_refused_without_a_compiler(
    task: Task, toolchain: Toolchain, cache: Cache
) -> None:
    broken = replace(toolchain, nvcc=Path("/nonexistent"))
    result = _build(task, b'#include "/etc/passwd"\n', broken, cache)
    assert (result.ok, result.exit_code) == (False, 1)
    assert "kernel/kernel.cu(1): error" in result.log


def test_time_limit_kills_the_compiler_and_its_children_and_is_not_cached(
    task: Task, toolchain: Toolchain, cache: Cache, tmp_path: Path
) -> None:
    sleeps = f'case "$*" in *kernel/kernel.cu*) (sleep 2; touch {tmp_path}/alive) & wait;; esac'
    _fake_tool(tmp_path / "bin", "g++", f'{sleeps}; exec {toolchain.host_compiler} "$@"')
    slow = replace(toolchain, host_compiler=tmp_path / "bin" / "g++")
    result = _build(task, DOUBLE, slow, cache, timeout_s=1.0)
    assert (result.ok, result.exit_code) == (False, None)
    assert result.seconds < 1.9
    assert "time limit of 1 s" in result.log
    assert list(cache.root.glob("build/*/*")) == []
    time.sleep(max(0.0, 2.5 - result.seconds))
    assert not (tmp_path / "alive").exists()


def _fake_tool(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


def test_killed_compiler_is_the_machines_fault_after_one_retry(
    task: Task, toolchain: Toolchain, cache: Cache, tmp_path: Path
) -> None:
    _fake_tool(tmp_path / "bin", "g++", f"echo once >> {tmp_path}/calls; kill -9 $$")
    broken = replace(toolchain, host_compiler=tmp_path / "bin" / "g++")
    said: list[str] = []
    with pytest.raises(ToolError, match="signal 9"):
        _build(task, DOUBLE, broken, cache, say=said.append)
    assert any("trying once more" in line for line in said)
    assert list(cache.root.glob("build/*/*")) == []


def test_kernels_own_words_cannot_pass_for_a_machine_failure(
    task: Task, toolchain: Toolchain, cache: Cache
) -> None:
    source = b'#error "out of memory: No space left on device, Killed signal terminated"\n'
    assert not _build(task, source, toolchain, cache).ok


def test_compiler_sees_no_key_of_the_environment(
    task: Task, toolchain: Toolchain, cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    _fake_tool(tmp_path / "bin", "g++", f'env > {tmp_path}/env; exec {toolchain.host_compiler} "$@"')
    spied = replace(toolchain, host_compiler=tmp_path / "bin" / "g++")
    assert _build(task, DOUBLE, spied, cache).ok
    assert "secret" not in (tmp_path / "env").read_text()


def test_unknown_plan_falls_back_to_plain_nvcc(
    task: Task, toolchain: Toolchain, cache: Cache, tmp_path: Path
) -> None:
    script = (
        f'case " $* " in *" --dryrun "*) echo "#$ new-tool --fast" >&2;; *) exec {toolchain.nvcc} "$@";; esac'
    )
    _fake_tool(tmp_path / "bin", "nvcc", script)
    assert _build(task, DOUBLE, replace(toolchain, nvcc=tmp_path / "bin" / "nvcc"), cache).ok


def test_code_that_runs_is_named() -> None:
    assert code_for("sm_89", None) == "sm_89"
    assert code_for("sm_89", 89) == "sm_89"
    assert code_for("sm_89", 90) == "compute_89->sm_90"
    with pytest.raises(TaskError, match="sm_86"):
        code_for("sm_89", 86)
    with pytest.raises(TaskError, match="sm_89"):
        code_for("ada", None)


COPY = b"""
#include <cute/tensor.hpp>
using namespace cute;
namespace doubling {
__global__ void twice(const float* x, float* y, int n) {
  Tensor gx = make_tensor(make_gmem_ptr(x), make_shape(n));
  Tensor gy = make_tensor(make_gmem_ptr(y), make_shape(n));
  Tensor tx = local_tile(gx, make_shape(Int<256>{}), make_coord(blockIdx.x));
  Tensor ty = local_tile(gy, make_shape(Int<256>{}), make_coord(blockIdx.x));
  if (blockIdx.x * 256 + threadIdx.x < n) ty(threadIdx.x) = 2.0f * tx(threadIdx.x);
}
}
cudaError_t launch(const Args& a, cudaStream_t stream) {
  doubling::twice<<<ceil_div(int(a.N), 256), 256, 0, stream>>>(a.x, a.y, int(a.N));
  return cudaGetLastError();
}
"""


@pytest.mark.slow
def test_cute_kernel_compiles_and_equals_plain_nvcc(task: Task, toolchain: Toolchain, tmp_path: Path) -> None:
    fast = _build(task, COPY, toolchain, Cache(tmp_path / "a"))
    plain = _build(task, COPY, toolchain, Cache(tmp_path / "b"), side_by_side=False)
    assert fast.ok, fast.log
    assert fast.libraries[0].resources == plain.libraries[0].resources
    assert _symbols(fast.libraries[0].path) == _symbols(plain.libraries[0].path)
