"""GPU against emulator against float64, on the kernels of tests/emulator. Needs a GPU, torch and the tool chain.

    python benchmarks/emulator_gpu.py > benchmarks/emulator_gpu.md

Both sides get the same files, the same header and the same bytes. The last column is the largest difference between GPU
and emulator over the largest value of the reference.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from cutegen_git.devices.emulator.build import EmulatorBuild, build
from cutegen_git.devices.emulator.call import SIZES, EmulatorCall, Pointer, Role, Scalar
from cutegen_git.devices.emulator.run import run
from cutegen_git.hands import toolchain
from tests.emulator.conftest import header
from tests.emulator.kernel_cases import CASES, Array, Case


def compile_for_gpu(case: Case, tools: toolchain.Toolchain, folder: Path) -> ctypes.CDLL:
    """The kernel as a library with code for sm_89 and PTX for later GPUs."""
    for name, data in case.sources().items():
        (folder / name).write_bytes(data)
    (folder / "abi.h").write_text(header(case.fields))
    includes = [a for d in tools.include_dirs for a in ("-I", str(d))]
    libraries = [a for d in tools.lib_dirs for a in ("-L", str(d))]
    command = [
        str(tools.nvcc),
        "-std=c++17",
        "-O3",
        "--expt-relaxed-constexpr",
        "-shared",
        "-Xcompiler",
        "-fPIC",
        *includes,
        *libraries,
    ]
    command += [
        "-gencode",
        "arch=compute_89,code=[sm_89,compute_89]",
        "-include",
        "abi.h",
        "kernel.cu",
        "-o",
        "kernel.so",
    ]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "kernel.so"))


def on_gpu(
    library: ctypes.CDLL, case: Case, inputs: dict[str, Array], out: Array, shape: tuple[int, ...]
) -> int:
    """Runs `launch`, fills `out`, gives the error code."""
    held = [torch.from_numpy(v.reshape(-1).view(np.uint8).copy()).cuda() for v in inputs.values()]
    result = torch.full((max(out.nbytes, 1),), 0xFF, dtype=torch.uint8, device="cuda")
    words = [*(t.data_ptr() for t in held), result.data_ptr(), *case.axes(shape).values()]
    args = (ctypes.c_int64 * len(words))(*words)
    code = int(library.launch(ctypes.byref(args), ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)))
    torch.cuda.synchronize()
    out.reshape(-1).view(np.uint8)[:] = result.cpu().numpy()[: out.nbytes]
    return code


def on_cpu(
    built: EmulatorBuild, case: Case, inputs: dict[str, Array], out: Array, shape: tuple[int, ...]
) -> str:
    """Runs the emulator, fills `out`, gives the vetoes or nothing."""
    fields: list[Pointer | Scalar] = [
        Pointer(k, Role.INPUT, case.dtype, memoryview(v.reshape(-1).view(np.uint8)))
        for k, v in inputs.items()
    ]
    fields.append(Pointer(case.out, Role.OUTPUT, case.out_dtype, memoryview(out.reshape(-1).view(np.uint8))))
    fields += [Scalar(k, "int64", v) for k, v in case.axes(shape).items()]
    result = run(built, EmulatorCall(tuple(fields)), timeout_s=300)
    return "" if result.ok else ", ".join(sorted({r.kind for r in result.vetoes})) or result.status.value


def error(a: Array, b: Array, scale: float) -> float:
    return float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max() / scale)


def prepare(case: Case, tools: toolchain.Toolchain, folder: Path) -> tuple[ctypes.CDLL, EmulatorBuild]:
    """Both builds of one kernel."""
    folder.mkdir()
    library = compile_for_gpu(case, tools, folder)
    return library, build(case.sources(), header(case.fields), tools.include_dirs, folder / "emulator")


def main() -> None:
    tools = toolchain.find()
    assert set(SIZES) >= {c.dtype for c in CASES}
    agree = {(v, w): 0 for v in (False, True) for w in (False, True)}
    print(f"GPU: {torch.cuda.get_device_name()}, nvcc {tools.version}, CUTLASS {tools.cutlass_version}\n")
    print(
        "| kernel | shape | GPU against float64 | emulator against float64 | GPU against emulator | emulator says |"
    )
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(lambda case: prepare(case, tools, Path(name) / case.name), CASES))
        for case, (library, built) in zip(CASES, made, strict=True):
            for number, shape in enumerate(case.shapes):
                inputs = case.make_inputs(shape, number)
                expected = case.expected(inputs)
                gpu, cpu = case.empty(expected), case.empty(expected)
                code = on_gpu(library, case, inputs, gpu, shape)
                said = on_cpu(built, case, inputs, cpu, shape)
                scale = max(float(np.abs(expected).max()), 1e-30)
                errors = [error(gpu, expected, scale), error(cpu, expected, scale), error(gpu, cpu, scale)]
                right = code == 0 and errors[0] <= max(case.tolerance, 1e-30)
                agree[bool(said), not right] += 1
                size = " x ".join(map(str, shape))
                print(
                    f"| {case.name} | {size} | {' | '.join(f'{e:.1e}' for e in errors)} | {said or 'ok'} |",
                    flush=True,
                )
    print("\n| | right on the GPU | wrong on the GPU |\n|---|---|---|")
    print(f"| emulator: ok | {agree[False, False]} | {agree[False, True]} |")
    print(f"| emulator: veto | {agree[True, False]} | {agree[True, True]} |")


if __name__ == "__main__":
    main()
