"""Times of the emulator: build, and one checked run in forward order. Prints a markdown table.

    python benchmarks/emulator.py CUTLASS_INCLUDE CUDA_INCLUDE

Processor seconds are those of the child processes, so a busy machine changes them little; wall time is beside them.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from cutegen_git.devices.emulator.build import EmulatorBuild, build
from cutegen_git.devices.emulator.call import EmulatorCall, Pointer, Role, Scalar
from cutegen_git.devices.emulator.run import ORDERS, run
from tests.emulator.conftest import header
from tests.emulator.kernel_cases import CASES, Case

JOBS = (
    ("gelu", (4096, 4096), ("forward",)),
    ("sgemm", (256, 256, 256), ("forward",)),
    ("sgemm", (512, 512, 512), ("forward",)),
    ("hgemm", (512, 512, 512), ("forward",)),
    ("hgemm", (1024, 1024, 1024), ("forward",)),
    ("softmax", (512, 4096), ("forward",)),
    ("hgemm", (129, 127, 136), ORDERS),
    ("hgemm", (257, 255, 264), ORDERS),
)


def child_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def call_of(case: Case, shape: tuple[int, ...]) -> EmulatorCall:
    inputs = case.make_inputs(shape, 0)
    rows = shape[0]
    out = np.zeros(rows if case.name == "row_sum" else (rows, shape[1]), case.out_dtype)
    fields = [
        Pointer(k, Role.INPUT, case.dtype, memoryview(v.reshape(-1).view(np.uint8)))
        for k, v in inputs.items()
    ]
    fields.append(Pointer(case.out, Role.OUTPUT, case.out_dtype, memoryview(out.reshape(-1).view(np.uint8))))
    return EmulatorCall((*fields, *(Scalar(k, "int64", v) for k, v in case.axes(shape).items())))


def main() -> None:
    includes = [Path(p) for p in sys.argv[1:3]]
    cases = {c.name: c for c in CASES}
    built: dict[str, tuple[EmulatorBuild, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        build(cases["row_sum"].sources(), header(cases["row_sum"].fields), includes, Path(folder) / "warm")
        print(
            "| job | orders | build s (processor) | run s (processor) | run s (wall) | accesses checked | mma |"
        )
        print("|---|---|---|---|---|---|---|")
        for name, shape, orders in JOBS:
            if name not in built:
                before = child_seconds()
                result = build(
                    cases[name].sources(), header(cases[name].fields), includes, Path(folder) / name
                )
                built[name] = result, child_seconds() - before
            call = call_of(cases[name], shape)
            before, start = child_seconds(), time.perf_counter()
            result_run = run(built[name][0], call, orders=orders, timeout_s=300)
            wall = time.perf_counter() - start
            assert result_run.ok, result_run
            used = child_seconds() - before
            counts = result_run.counters
            size = " x ".join(map(str, shape))
            print(
                f"| {name} {size} | {len(orders)} | {built[name][1]:.1f} | {used:.2f} | {wall:.2f} | {counts['accesses']:,} | {counts['mma']:,} |"
            )


if __name__ == "__main__":
    main()
