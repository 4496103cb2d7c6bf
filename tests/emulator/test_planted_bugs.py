"""Every planted bug is found in three thread orders, by kind and line; its corrected twin stays silent."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from cutegen_git.devices.emulator.build import EmulatorBuild
from cutegen_git.devices.emulator.call import Pointer, Role, Scalar
from cutegen_git.devices.emulator.report import Report, feedback
from cutegen_git.devices.emulator.run import EmulatorRun

from .conftest import Builder, call_kernel, header, tensor

SOURCE = (Path(__file__).parent / "bugs.cu").read_text()
FIELDS = "const float* x; float* y; int64_t n; int32_t which, bad; void* workspace;"
N = 1000


def wanted() -> dict[int, list[tuple[int, set[str]]]]:
    """Case -> (line, kinds) pairs, read from the comments of the source."""
    table: dict[int, list[tuple[int, set[str]]]] = {}
    for number, line in enumerate(SOURCE.splitlines(), 1):
        for case, kinds in re.findall(r"// want: (\d+) ([\w.|-]+)", line):
            table.setdefault(int(case), []).append((number, set(kinds.split("|"))))
    return table


CASES = wanted()


@pytest.fixture(scope="module")
def bugs(builder: Builder) -> EmulatorBuild:
    return builder(SOURCE, header(FIELDS))


def run_case(
    built: EmulatorBuild, case: int, bad: int, orders: tuple[str, ...] = ("forward", "reverse", "random")
) -> EmulatorRun:
    x, y = np.arange(N, dtype=np.float32), np.zeros(N, np.float32)
    y_dtype = "int8" if case == 46 else "float32"
    fields = [
        tensor("x", x, Role.INPUT), tensor("y", y, Role.OUTPUT, y_dtype), Scalar("n", "int64", N), Scalar("which", "int32", case),
        Scalar("bad", "int32", bad), Pointer("workspace", Role.WORKSPACE, "float32", None, 1024),
    ]  # fmt: skip
    return call_kernel(built, fields, orders)


def matches(report: Report, case: int) -> bool:
    return any(line in (report.line, *report.callers) and report.kind in kinds for line, kinds in CASES[case])


@pytest.mark.parametrize("case", sorted(CASES))
@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
def test_planted_bug_is_found_with_kind_and_line(bugs: EmulatorBuild, case: int, order: str) -> None:
    result = run_case(bugs, case, 1, (order,))
    found = [(r.kind, r.line) for r in result.reports]
    assert any(matches(r, case) and r.file == "kernel.cu" for r in result.reports), (
        result.status,
        found,
        result.unsupported,
    )
    assert feedback(result.reports)


@pytest.mark.parametrize("case", sorted(CASES))
def test_corrected_twin_is_silent(bugs: EmulatorBuild, case: int) -> None:
    result = run_case(bugs, case, 0)
    assert result.ok, (result.status, result.code, result.reports, result.unsupported)
    assert not result.reports
