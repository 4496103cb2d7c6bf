"""The guard on sources: what a kernel never needs is refused with its place, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cutegen_git.hands import data, toolchain
from cutegen_git.judge.guard import FILE_BYTES, check_sources
from cutegen_git.words.errors import TaskError, ToolError
from cutegen_git.words.verdict import Outcome

ROOT = Path(__file__).parents[1]
CALL, REJECTED = Outcome.FORBIDDEN_CALL, Outcome.REJECTED_BEFORE_BUILD

CALLS = {
    "allocates": ("float* p; cudaMalloc(&p, 4);", "workspace"),
    "allocates later": ("cudaMallocAsync(&p, 4, stream);", "workspace"),
    "makes a stream": ("cudaStreamCreateWithFlags(&s, 1);", "stream that launch"),
    "synchronises": ("cudaDeviceSynchronize();", "only enqueues"),
    "waits for its stream": ("return cudaStreamSynchronize(stream);", "only enqueues"),
    "records events": ("cudaEventRecord(e, stream);", "events belong to the judge"),
    "replays a graph": ("cudaGraphLaunch(g, stream);", "graph"),
    "asks whether it is captured": ("cudaStreamIsCapturing(stream, &status);", "graph"),
    "sets a persisting window": ("cudaStreamSetAttribute(stream, id, &value);", "L2"),
    "reserves L2": ("cudaDeviceSetLimit(x, 1 << 20);", "L2"),
    "calls back": ("cudaLaunchHostFunc(stream, f, 0);", "callbacks"),
    "copies and blocks": ("cudaMemcpy(d, s, n, cudaMemcpyDeviceToDevice);", "Async"),
    "loads a driver function": ("cudaGetDriverEntryPoint(n, &f, 0, 0);", "driver"),
    "calls the driver": ("cuMemAlloc(&p, 4);", "driver"),
    "calls cuBLAS": ("cublasSgemm(h, n);", "CuTe"),
    "calls ATen": ("at::matmul(a, b);", "CuTe"),
    "calls thrust": ("thrust::reduce(a, b);", "CuTe"),
    "reads the clock": ("long t = clock64();", "clocks"),
    "reads the other clock": ("long t = clock();", "clocks"),
    "reads the time of day": ("clock_gettime(0, &t);", "clocks"),
    "starts a thread": ("std::thread t(f);", "threads"),
    "sleeps": ("std::this_thread::sleep_for(x);", "threads"),
    "loads a library": ('dlopen("libcublas.so", 1);', "loads no code"),
    "ends the process": ("_exit(0);", "cudaError_t"),
    "opens a file": ('fopen("/tmp/x", "w");', "files"),
    "opens a file in C++": ('std::ofstream f("/tmp/x");', "files"),
    "reads the environment": ('getenv("CI");', "environment"),
    "over two lines": ("cuda\\\nMalloc(&p, 4);", "workspace"),
    "behind a comment": ("/* cudaFree */ cudaMalloc /* x */ (&p, 4);", "workspace"),
    "as a value": ("auto f = &cudaMalloc;", "workspace"),
}


def kernel(line: str) -> bytes:
    return f'// first line\nextern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {{\n{line}\n}}\n'.encode()


@pytest.mark.parametrize("name", CALLS)
def test_call_that_no_kernel_needs_is_refused_with_its_line(name: str) -> None:
    line, why = CALLS[name]
    found = check_sources({"kernel.cu": kernel(line)})
    assert found is not None
    assert found.outcome is CALL
    assert (found.file, why in found.why) == ("kernel/kernel.cu", True), found
    assert found.line == 3


ASSEMBLY = {
    "clock": r'asm volatile("mov.u64 %0, %%clock64;" : "=l"(t));',
    "timer": r'asm("mov.u64 %0, %globaltimer;" : "=l"(t));',
    "in two strings": 'asm("mov.u64 %0, %global" "timer;");',
    "raw string": 'asm volatile(R"(mov.u32 %0, %clock;)");',
    "kept in L2": 'asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(p));',
    "prefetch to stay": 'asm("prefetch.global.L2::evict_last [%0];" :: "l"(p));',
    "a system call": 'asm volatile("mov $60, %eax\\n\\tsyscall");',
    "machine code": '__asm__(".byte 0x0f, 0x05");',
    "a section": '__asm__ volatile (".section .init_array");',
    "through a macro": '#define T "%%globaltimer"\nasm("mov.u64 %0, " T ";");',
    "in a macro": '#define NOW(t) asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t))',
}


@pytest.mark.parametrize("name", ASSEMBLY)
def test_assembly_outside_a_kernels_job_is_refused(name: str) -> None:
    found = check_sources({"kernel.cu": kernel(ASSEMBLY[name])})
    assert found is not None
    assert found.outcome is CALL
    assert found.why.startswith("asm with")


TEXTS = {
    "cublas": ("#include <cublas_v2.h>", "library"),
    "torch": ("#include <torch/extension.h>", "library"),
    "thrust": ("#include <thrust/sort.h>", "library"),
    "device-wide cub": ("#include <cub/device/device_reduce.cuh>", "library"),
    "threads": ("#include <thread>", "threads"),
    "chrono": ("# include <chrono>", "clocks"),
    "files": ('#include "fstream"', "files"),
    "system": ("#include <sys/socket.h>", "operating system"),
    "unknown": ("#include <reference_answers.h>", "its own files"),
    "by macro": ("#define H <vector>\n#include H", "plain file name"),
    "digraph": ("%:include <dlfcn.h>", "operating system"),
    "asks for torch": ("#if __has_include(<torch/torch.h>)\n#endif", "library"),
    "fast math": ("#pragma nv_fp_fast_math", "arithmetic"),
    "contraction": ("#pragma STDC FP_CONTRACT ON", "arithmetic"),
    "optimise": ('#pragma GCC optimize("Ofast")', "build flags"),
    "pragma operator": ('_Pragma("GCC optimize(\\"Ofast\\")")', "build flags"),
    "renames": ("#pragma redefine_extname launch other", "linked"),
    "constructor": ("__attribute__((constructor)) void f() {}", "setup()"),
    "constructor with bars": ("__attribute__((__constructor__(101))) void f() {}", "setup()"),
    "destructor": ("[[gnu::destructor]] void f() {}", "setup()"),
    "attribute in a macro": ("#define FIRST __attribute__((constructor))", "setup()"),
    "ifunc": ('__attribute__((ifunc("pick"))) void f();', "linked"),
    "section": ('__attribute__((section(".text"))) int x[] = {1};', "linked"),
    "keyword": ("#define float __half", "belongs to"),
    "precise type": ("#define double float", "belongs to"),
    "entry point": ("#define launch not_launch", "belongs to"),
    "the record": ("#define Args Other", "belongs to"),
    "the interface": ("#undef CUTEGEN_ABI", "belongs to"),
    "the architecture": ("#undef __CUDA_ARCH__", "belongs to"),
    "a launch": ("#define cudaLaunchKernel mine", "belongs to"),
    "the date": ("const char* when = __TIME__;", "same library"),
    "the emulator": ("#ifdef EMU_CUDA_ARCH\n#endif", "who judges"),
    "the place": ('#line 1 "reference.py"', "true"),
    "the place, short": ('# 1 "reference.py"', "true"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_that_changes_the_build_is_refused(name: str) -> None:
    text, why = TEXTS[name]
    found = check_sources({"kernel.cu": kernel("").replace(b"// first line", text.encode())})
    assert found is not None
    assert found.outcome is REJECTED
    assert why in found.why, found


def test_names_that_macros_paste_are_seen_where_they_are_used() -> None:
    text = "#define JOIN(a, b) a##b\n#define CALL(name) JOIN(cuda, name)\nint f() { JOIN(cuda, Malloc)(&p, 4); }\n"
    found = check_sources({"kernel.cu": text.encode()})
    assert found is not None
    assert found.line == 3
    assert "cudaMalloc, pasted together" in found.why


def test_pasting_in_another_file_is_seen() -> None:
    files = {
        "join.cuh": b"#define JOIN(a, b) a##b\n",
        "kernel.cu": b'#include "join.cuh"\nint x = JOIN(clock, 64)();\n',
    }
    found = check_sources(files)
    assert found is not None
    assert (found.file, found.line) == ("kernel/kernel.cu", 2)


def test_several_places_are_named() -> None:
    found = check_sources({"kernel.cu": kernel("cudaMalloc(&p, 4); clock64(); getenv(0);")})
    assert found is not None
    assert len(found.feedback.splitlines()) == 3


HONEST = {
    "comments": "// cudaMalloc, std::thread, asm(\"%clock\")\n/* cudaDeviceSynchronize(); */",
    "texts": 'const char* s = "cudaMalloc std::thread ::open(";',
    "left out": "#if 0\nint main() { cudaMalloc(&p, 4); }\n#endif",
    "own names": "struct T { int clock, time, open, exit; }; int f(T t) { return t.clock + t.time + t.open; }",
    "own checks": "#define CUDA_CHECK(x) do { cudaError_t e = x; if (e) return e; } while (0)\n#define cudaCheckError(x) x",
    "own helper": "inline cudaError_t cudaCheck(cudaError_t e) { return e; }",
    "architecture": "#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 800)\n#define FAST 1\n#endif",
    "guards": "#ifndef __KERNEL_CUH__\n#define __KERNEL_CUH__\n#endif",
    "switches": "#if 1\n#define FAST 1\n#elif 2\n#else\n#endif\n#if 0 // left out\nint main() { cudaMalloc(&p, 4); }\n#endif",
    "unroll": "#pragma unroll 4\n#pragma nv_diag_suppress 177\n#pragma once\n#pragma GCC diagnostic ignored \"-Wunused\"\n#pragma nounroll",
    "bounds": "__global__ void __launch_bounds__(256, 2) k(const float* __restrict__ x);",
    "attributes": "__attribute__((always_inline)) inline int f(); [[nodiscard]] int g(); __attribute__((aligned(16))) int h;",
    "cache hints": 'asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%0,%1,%2,%3}, [%4];");',
    "spins": "while (atomicAdd(flag, 0) == 0) __nanosleep(32);",
    "grid": "#include <cooperative_groups.h>\nvoid f() { cooperative_groups::this_grid().sync(); }",
    "headers": "#include <cute/tensor.hpp>\n#include <cutlass/numeric_types.h>\n#include <cub/block/block_reduce.cuh>\n#include <cuda/std/limits>\n#include <cstdio>\n#include <vector>\n#include <cuda_fp16.h>\n#include <mma.h>",
    "attribute call": "cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 16);",
    "memset": "cudaMemsetAsync(a.workspace, 0, 64, stream);",
    "device copy": "cudaMemcpyAsync(a.C, a.A, n, cudaMemcpyDeviceToDevice, stream);",
    "pasting": "#define NAME(t) run_##t\n#define CASE(n) case n: NAME(n)(); break;\nvoid NAME(fast)();",
    "own checks that end": "#include <cstdlib>\n#define CHECK(x) if (x) { fprintf(stderr, \"%d\", x); std::exit(EXIT_FAILURE); }",
    "occupancy": "int n; cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, k, 256, 0); cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, 0);",
    "numbers": "constexpr long big = 1'000'000; constexpr char quote = '\"'; float x = 1.e-5f;",
    "raw": 'const char* s = R"x(cudaMalloc(" // )x";',
    "at": "v.at(0); namespace my { int at; } int q = my::at;",
    "slices": "tensor(_, _, 0); auto t = a[[]{ return 1; }()];",
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_honest_text_passes(name: str) -> None:
    text = f"{HONEST[name]}\n".encode() + kernel("return cudaGetLastError();")
    found = check_sources({"kernel.cu": text})
    assert found is None, found


def files_beside(path: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes()} | {
        more.name: more.read_bytes() for more in path.parent.glob("*.cuh")
    }


def shipped() -> list[Path]:
    folders = (ROOT / "emulator/kernels", ROOT / "judge/kernels", data.root("prompts"))
    return sorted(path for folder in folders for path in folder.rglob("*.cu"))


@pytest.mark.parametrize("path", shipped(), ids=lambda path: path.stem)
def test_every_shipped_kernel_passes(path: Path) -> None:
    found = check_sources(files_beside(path))
    assert found is None, found


def test_headers_of_cute_hold_nothing_that_is_refused_in_code() -> None:
    """As much honest code as there is: only what they include, and their own debugging, differs from a kernel."""
    try:
        include = toolchain.find().include_dirs[0]
    except (ToolError, TaskError) as missing:
        pytest.skip(str(missing))
    files = [path for path in sorted((include / "cute").rglob("*.hpp")) if path.stat().st_size < FILE_BYTES]
    assert len(files) > 50
    for path in files:
        found = check_sources({path.name: path.read_bytes()})
        lines = found.feedback.splitlines() if found else []
        odd = [line for line in lines if "#include" not in line and path.name != "debug.hpp"]
        assert not odd, odd


def test_every_kernel_of_the_recorded_run_passes(tmp_path: Path, plain_git: Callable[..., str]) -> None:
    plain_git(tmp_path, "clone", "-q", "--mirror", str(data.root("examples/gemm") / "gemm.bundle"), "run.git")
    run = tmp_path / "run.git"
    attempts = plain_git(run, "for-each-ref", "--format=%(refname)", "refs/cutegen/attempt/").split()
    assert attempts
    for ref in attempts:
        source = plain_git(run, "show", f"{ref}:kernel/kernel.cu").encode()
        assert check_sources({"kernel.cu": source}) is None
