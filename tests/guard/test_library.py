"""The guard on built libraries: imports against a list, exports, and what runs at loading. Real compilers."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from desk import KERNEL, TASK

from cutegen_git.core import taskfile
from cutegen_git.hands import build as builder
from cutegen_git.hands import toolchain
from cutegen_git.hands.cache import Cache
from cutegen_git.judge.guard import check_image, check_library
from cutegen_git.judge.guard_elf import read
from cutegen_git.words.verdict import Outcome

Link = Callable[..., Path]
ENTRY = 'extern "C" int launch() { return 0; }\n'


@pytest.fixture
def link(tmp_path: Path) -> Link:
    """A shared library from C++ text, by the host compiler alone."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++")

    def make(text: str, *flags: str) -> Path:
        source, library = tmp_path / "kernel.cpp", tmp_path / "kernel.so"
        source.write_text(text)
        words = [compiler, "-shared", "-fPIC", "-O2", "-o", str(library), str(source), *flags]
        subprocess.run(words, check=True, capture_output=True)
        return library

    return make


IMPORTS = {
    "dlopen": ('extern "C" void* dlopen(const char*, int); int f() { return dlopen("x", 1) != 0; }', "loads no code"),
    "fork": ("#include <unistd.h>\nint f() { return fork(); }", "threads or processes"),
    "exec": ('#include <unistd.h>\nint f() { return execv("x", 0); }', "threads or processes"),
    "system": ('#include <stdlib.h>\nint f() { return system("true"); }', "threads or processes"),
    "raw system call": ("#include <unistd.h>\nint f() { return syscall(57); }", "threads or processes"),
    "thread": ("#include <thread>\nvoid f() { std::thread([] {}).detach(); }", "threads or processes"),
    "file": ('#include <fcntl.h>\nint f() { return open("x", 0); }', "files"),
    "file in C++": ('#include <fstream>\nint f() { return std::ifstream("x").get(); }', "files"),
    "socket": ("#include <sys/socket.h>\nint f() { return socket(2, 1, 0); }", "connections"),
    "clock": ("#include <time.h>\nlong f() { return time(0); }", "clocks"),
    "chrono": ("#include <chrono>\nlong f() { return std::chrono::steady_clock::now().time_since_epoch().count(); }", "clocks"),
    "environment": ('#include <stdlib.h>\nbool f() { return getenv("CI"); }', "environment"),
    "random": ("#include <random>\nint f() { return std::random_device()(); }", "environment"),
    "exit": ("#include <unistd.h>\nvoid f() { _exit(0); }", "cudaError_t"),
    "cudaMalloc": ('extern "C" int cudaMalloc(void**, unsigned long); int f(void** p) { return cudaMalloc(p, 4); }', "workspace"),
    "stream": ('extern "C" int cudaStreamCreate(void**); int f(void** p) { return cudaStreamCreate(p); }', "stream"),
    "cublas": ('extern "C" int cublasCreate_v2(void**); int f(void** p) { return cublasCreate_v2(p); }', "CuTe"),
    "unknown": ('extern "C" int answer(); int f() { return answer(); }', "not among"),
}  # fmt: skip


@pytest.mark.parametrize("name", IMPORTS)
def test_import_that_no_kernel_needs_is_refused(name: str, link: Link) -> None:
    text, why = IMPORTS[name]
    found = check_library(link(ENTRY + text))
    assert found is not None
    assert found.outcome is Outcome.FORBIDDEN_SYMBOL
    assert why in found.feedback, found


def test_code_that_runs_at_loading_is_refused(link: Link) -> None:
    found = check_library(link(ENTRY + "int x; __attribute__((constructor)) static void early() { x = 1; }"))
    assert found is not None
    assert "early" in found.why
    assert "setup()" in found.why


def test_code_that_runs_at_unloading_is_refused(link: Link) -> None:
    found = check_library(link(ENTRY + "int x; __attribute__((destructor)) void late() { x = 1; }"))
    assert found is not None
    assert "late" in found.why


def test_resolver_of_an_ifunc_is_refused(link: Link) -> None:
    text = 'extern "C" int one() { return 1; }\nextern "C" int (*pick())() { return one; }\n'
    found = check_library(
        link(ENTRY + text + 'int g() __attribute__((ifunc("pick")));\nint h() { return g(); }')
    )
    assert found is not None
    assert "ifunc" in found.feedback


def test_another_timer_for_the_judge_is_refused(link: Link) -> None:
    found = check_library(link(ENTRY + 'extern "C" int cudaEventElapsedTime(float* t) { *t = 0; return 0; }'))
    assert found is not None
    assert "defines cudaEventElapsedTime" in found.why


def test_another_library_is_refused(link: Link) -> None:
    found = check_library(link(ENTRY, "-Wl,--no-as-needed", "-lresolv"))
    assert found is not None
    assert "libresolv" in found.why


HONEST = {
    "containers": "#include <map>\n#include <string>\n#include <vector>\nint f() { std::map<std::string, std::vector<int>> m; m[\"a\"].push_back(1); return m.size(); }",
    "printing": '#include <cstdio>\n#include <iostream>\nvoid f(int e) { fprintf(stderr, "%d\\n", e); std::cerr << e << std::endl; printf("x"); }',
    "assert": "#include <cassert>\nvoid f(int e) { assert(e == 0); }",
    "mathematics": "#include <cmath>\ndouble f(double x, float y) { return std::exp2(x) + std::log(x) + std::pow(y, 0.3f) + std::fmod(x, 3); }",
    "a static object": "#include <vector>\nstatic std::vector<int> sizes{1, 2, 3};\nint f(int i) { return sizes[i]; }",
    "once": "#include <mutex>\nstd::once_flag flag; int x; void f() { static std::mutex m; std::lock_guard<std::mutex> g(m); x = 1; }",
    "exceptions": "#include <stdexcept>\nint f(int x) { if (x) throw std::runtime_error(\"no\"); return 1; }\nint g() { try { return f(1); } catch (const std::exception&) { return 2; } }",
    "big integers": "__int128 f(__int128 a, __int128 b) { return a / b; }",
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
@pytest.mark.parametrize("flag", ["-O0", "-O3", "-D_FORTIFY_SOURCE=2"])
def test_honest_host_code_passes(name: str, flag: str, link: Link) -> None:
    found = check_library(link(ENTRY + HONEST[name], flag))
    assert found is None, found


def test_what_is_no_library_is_refused(tmp_path: Path, link: Link) -> None:
    data = link(ENTRY).read_bytes()
    for damaged in (b"", b"#!/bin/sh\n", data[:100], data[:64] + bytes(len(data))):
        found = check_image(damaged)
        assert found is not None
        assert "cannot be read" in found.why


def test_the_reader_agrees_with_binutils(link: Link) -> None:
    nm, readelf = shutil.which("nm"), shutil.which("readelf")
    if nm is None or readelf is None:
        pytest.skip("no binutils")
    library = link(ENTRY + HONEST["printing"])
    image = read(library.read_bytes())

    def names(*flags: str) -> set[str]:
        lines = subprocess.run(
            [nm, "-D", *flags, library], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        return {line.split()[-1].split("@")[0] for line in lines}

    assert set(image.imports) == names("--undefined-only")
    assert set(image.exports) == names("--defined-only")
    said = subprocess.run([readelf, "-d", library], capture_output=True, text=True, check=True).stdout
    assert all(f"[{name}]" in said for name in image.needed)
    assert len(image.needed) == said.count("(NEEDED)")


def test_library_that_nvcc_built_passes() -> None:
    task, cache = taskfile.parse(TASK), Cache.default()
    built = builder.build(
        task, {"kernel.cu": KERNEL.encode()}, toolchain=toolchain.find(), cache=cache, target_sm=None
    )
    assert built.ok, built.log
    assert check_library(built.libraries[0].path) is None
    image = read(built.libraries[0].path.read_bytes())
    assert "launch" in image.exports
    assert "__cudaRegisterFatBinary" in image.imports
    assert any("cudaRegisterAll" in name for name in image.starters)
