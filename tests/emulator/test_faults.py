"""Whatever a kernel does to its process, the answer is a value that says what happened."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cutegen_git.devices.emulator import build as build_module
from cutegen_git.devices.emulator.build import BuildStatus, EmulatorBuild
from cutegen_git.devices.emulator.call import Pointer, Role, Scalar
from cutegen_git.devices.emulator.compiler import COMPILE
from cutegen_git.devices.emulator.pathscheck import cute_paths_missing
from cutegen_git.devices.emulator.rewrite import Unsupported, leftovers
from cutegen_git.devices.emulator.run import EmulatorRun, RunStatus

from .conftest import Builder, call_kernel, header, tensor

FIELDS = "const float* x; float* y; int64_t n; int32_t which; void* workspace;"
SOURCE = (Path(__file__).parent / "faults.cu").read_text()
X = np.arange(64, dtype=np.float32)


@pytest.fixture(scope="module")
def faults(builder: Builder) -> EmulatorBuild:
    return builder(SOURCE, header(FIELDS))


def run_case(
    built: EmulatorBuild, which: int, *, timeout_s: float = 30, shift: int = 0
) -> tuple[np.ndarray, EmulatorRun]:
    y = np.zeros(64, np.float32)
    x_bytes, y_bytes = (memoryview(v.view(np.uint8)) for v in (X, y))
    fields = [
        Pointer("x", Role.INPUT, "float32", x_bytes, shift_bytes=shift), Pointer("y", Role.OUTPUT, "float32", y_bytes, shift_bytes=shift),
        Scalar("n", "int64", 64), Scalar("which", "int32", which), Pointer("workspace", Role.WORKSPACE, "float32", None),
    ]  # fmt: skip
    return y, call_kernel(built, fields, timeout_s=timeout_s)


def line_of(word: str) -> int:
    return next(i for i, line in enumerate(SOURCE.splitlines(), 1) if word in line)


def test_elements_that_nobody_writes_stay_nan(faults: EmulatorBuild) -> None:
    y, result = run_case(faults, 0)
    assert result.ok
    assert np.array_equal(y[:32], X[:32])
    assert np.isnan(y[32:]).all()


def test_endless_loop_is_a_timeout(faults: EmulatorBuild) -> None:
    _, result = run_case(faults, 1, timeout_s=1.5)
    assert result.status is RunStatus.TIMEOUT
    assert result.time_s < 10


@pytest.mark.parametrize(("which", "word"), [(2, "while (*p"), (3, "// spin")])
def test_spin_on_memory_is_unsupported_with_its_line(faults: EmulatorBuild, which: int, word: str) -> None:
    _, result = run_case(faults, which)
    assert result.status is RunStatus.UNSUPPORTED
    assert result.unsupported
    assert "spin" in result.unsupported.construct
    assert result.unsupported.line == line_of(word)


def test_launch_inside_a_kernel_is_unsupported(faults: EmulatorBuild) -> None:
    _, result = run_case(faults, 4)
    assert result.status is RunStatus.UNSUPPORTED
    assert result.unsupported
    assert "dynamic parallelism" in result.unsupported.construct
    assert result.unsupported.line == line_of("void parent")


@pytest.mark.parametrize("which", [5, 6])
def test_process_that_ends_itself_has_crashed(faults: EmulatorBuild, which: int) -> None:
    assert run_case(faults, which)[1].status is RunStatus.CRASHED


def test_error_code_of_launch_is_handed_on(faults: EmulatorBuild) -> None:
    _, result = run_case(faults, 7)
    assert (result.status, result.code) == (RunStatus.LAUNCH_ERROR, 801)


def test_refused_launch_counts_though_its_error_is_swallowed(faults: EmulatorBuild) -> None:
    _, result = run_case(faults, 15)
    assert result.status is RunStatus.LAUNCH_ERROR
    assert [r.kind for r in result.vetoes] == ["launch-limit"]


def test_device_printf_is_kept(faults: EmulatorBuild) -> None:
    assert "value 1" in run_case(faults, 8)[1].said


def test_result_that_depends_on_order_is_a_finding(faults: EmulatorBuild) -> None:
    _, result = run_case(faults, 9)
    kinds = {r.kind for r in result.reports}
    assert {"order-dependent", "race-shared"} <= kinds
    assert result.ok  # a finding is advice


@pytest.mark.parametrize(("shift", "expected"), [(0, []), (16, []), (4, ["misaligned"])])
def test_alignment_is_checked_off_the_page(faults: EmulatorBuild, shift: int, expected: list[str]) -> None:
    y, result = run_case(faults, 10, shift=shift)
    assert sorted({r.kind for r in result.vetoes}) == expected
    assert bool(expected) or np.array_equal(y, X)


def test_code_for_the_device_takes_the_device_branch(faults: EmulatorBuild) -> None:
    assert np.array_equal(run_case(faults, 11)[0], X + 1)


def test_setup_and_workspace_are_served(faults: EmulatorBuild) -> None:
    y, result = run_case(faults, 12)
    assert result.ok, result
    assert not result.reports
    assert np.array_equal(y, X)


def test_environment_is_clean(faults: EmulatorBuild) -> None:
    assert run_case(faults, 13)[1].ok


def test_memory_is_limited(faults: EmulatorBuild) -> None:
    assert run_case(faults, 14)[1].code == 2  # cudaErrorMemoryAllocation, from malloc's null


def test_struct_of_another_size_is_our_fault_not_the_kernels(faults: EmulatorBuild) -> None:
    result = call_kernel(faults, [tensor("x", X, Role.INPUT)])
    assert result.status is RunStatus.INFRASTRUCTURE


# ---- no silent pass -------------------------------------------------------------------------------------------------


def test_kernel_without_hooks_never_passes(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = tuple(f for f in COMPILE if not f.startswith(("-fsanitize=thread", "--param=tsan")))
    monkeypatch.setattr(build_module, "COMPILE", bare)
    built = builder(SOURCE + "\n// not instrumented", header(FIELDS))
    assert run_case(built, 0)[1].status is RunStatus.INFRASTRUCTURE


def test_cute_whose_instructions_are_off_is_refused() -> None:
    text = '# 1 "/x/include/cute/arch/mma_sm80.hpp" 1\nstruct A {};\n'
    assert "mma.sync" in cute_paths_missing(text)
    assert not cute_paths_missing(text + '"mma.sync.aligned.m16n8k16"')


@pytest.mark.parametrize("code", ["k<<<1, 2>>>(a);", 'asm("nop;");', "__emu_shared__ int x;"])
def test_leftovers_of_the_rewriting_are_seen(code: str) -> None:
    assert isinstance(leftovers('# 1 "kernel.cu"\n' + code), Unsupported)


# ---- builds that fail -------------------------------------------------------------------------------------------------

LAUNCH = 'extern "C" cudaError_t launch(const Args& a, cudaStream_t s) { %s }'


def test_compile_error_names_the_users_line(builder: Builder) -> None:
    built = builder("\n\n" + LAUNCH % "return a.nothing;", header(FIELDS))
    assert built.status is BuildStatus.COMPILE_ERROR
    assert "kernel.cu:3:" in built.log
    assert "nothing" in built.log


def test_missing_launch_is_a_compile_error(builder: Builder) -> None:
    built = builder("int x;", header(FIELDS))
    assert built.status is BuildStatus.COMPILE_ERROR
    assert "launch" in built.log


@pytest.mark.parametrize(
    ("code", "word", "line"),
    [
        ("#include <cub/cub.cuh>\n", "cub", 1),
        ("\n__global__ void k(float* y) { __hopeless_intrinsic(y); }\n", "__hopeless_intrinsic", 2),
        (
            "#include <mma.h>\nusing namespace nvcuda;\nusing F = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;",
            "wmma",
            3,
        ),
    ],
)
def test_construct_that_is_not_known_is_unsupported_not_wrong(
    builder: Builder, code: str, word: str, line: int
) -> None:
    built = builder(code + LAUNCH % "return cudaSuccess;", header(FIELDS))
    assert built.status is BuildStatus.UNSUPPORTED, built.log
    assert built.unsupported
    assert word in built.unsupported.construct
    assert built.unsupported.line == line


def test_unknown_runtime_call_is_unsupported(builder: Builder) -> None:
    built = builder(LAUNCH % "return cudaThreadExchangeStreamCaptureMode(nullptr);", header(FIELDS))
    assert built.status is BuildStatus.UNSUPPORTED, built.log
    assert built.unsupported
    assert "cudaThreadExchangeStreamCaptureMode" in built.unsupported.construct


def test_several_files_are_built_together(builder: Builder) -> None:
    files = {
        "kernel.cu": b'#include "inc/part.cuh"\nvoid go(const float*, float*);\n'
        + (LAUNCH % "go(a.x, a.y); return cudaSuccess;").encode(),
        "other.cu": b'#include "inc/part.cuh"\nvoid go(const float* x, float* y) { part::k<<<1, 64>>>(x, y); }\n',
        "inc/part.cuh": b"#pragma once\nnamespace part {\nstatic __global__ void k(const float* x, float* y) {\n  y[threadIdx.x + 1] = x[threadIdx.x];\n}\n}\n",
    }
    built = builder(files, header(FIELDS))
    _, result = run_case(built, 0)
    assert [(r.kind, r.file, r.line) for r in result.vetoes] == [("oob-global", "inc/part.cuh", 4)]
