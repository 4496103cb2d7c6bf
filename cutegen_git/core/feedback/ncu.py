"""What Nsight Compute printed, read into one kernel's profile or into the trouble that prevented it.

Reads every layout that ncu writes: CSV long table, summary, details page, wide raw page, and the text report; in
any locale, with base or scaled units, mixed with the program's own output. A metric that is not there, n/a, nan
or in a unit that makes no sense is absent from the profile and never 0. Running ncu is not done here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

from . import ncu_trouble
from .ncu_csv import read_csv
from .ncu_digest import digest
from .ncu_fields import HEADLINE, get
from .ncu_names import is_kernel
from .ncu_number import decimal_mark, parse, to_base
from .ncu_records import Blame, Cell, Problem, Profile, Reading, Report, Trouble
from .ncu_request import SECTIONS, metrics_for
from .ncu_text import read_text

__all__ = [
    "SECTIONS",
    "Blame",
    "Problem",
    "Profile",
    "Reading",
    "Trouble",
    "as_json",
    "digest",
    "explain",
    "metrics_for",
]

_Launch = dict[str, Reading]


def explain(text: str, *, exit_code: int | None, target: str | None = None) -> Profile | Trouble:
    """The profile of the target kernel (without a target: of the one that took longest), or why there is none.

    `text` is stdout and stderr together, or ncu's log file; an exit code of None means that ncu was stopped.
    """
    said = ncu_trouble.reported(text)
    if said:
        return said
    if not text.strip():
        return ncu_trouble.trouble(Problem.NO_OUTPUT, "ncu printed nothing")
    report = read_csv(text) or read_text(text) or Report()
    if report.is_cut or exit_code is None or ncu_trouble.is_killed(exit_code):
        why = "the report ends in the middle" if report.is_cut else "ncu was stopped before it had finished"
        return ncu_trouble.trouble(Problem.TRUNCATED, why)
    kernels = tuple(dict.fromkeys(cell.kernel for cell in report.cells))
    wanted = [name for name in kernels if not target or is_kernel(name, target)]
    if not wanted:
        return (None if kernels else ncu_trouble.unexplained(text)) or _not_profiled(text, target, kernels)
    if exit_code != 0:
        failed = ncu_trouble.trouble(Problem.APPLICATION_FAILED, f"ncu ended with exit code {exit_code}")
        return ncu_trouble.unexplained(text) or failed
    mark = decimal_mark((cell.text, cell.unit) for cell in report.cells)
    profiles = [_profile(name, report.cells, mark) for name in wanted]
    longest = max(profiles, key=lambda one: (get(one, "duration_ns") or 0.0) * one.launches)
    return replace(longest, kernels=kernels, warnings=ncu_trouble.warnings(text))


def as_json(result: Profile | Trouble) -> dict[str, object]:
    """The result as `explain-profile --json` prints it: numbers in base units, whole ones as integers."""
    if isinstance(result, Trouble):
        return {
            "outcome": "error",
            "error_class": result.problem.value,
            "blame": result.blame.value,
            "message": result.message,
            "remedy": result.remedy,
            "unavailable_metrics": list(result.unavailable_metrics),
            "available_kernels": list(result.available_kernels),
        }
    answers = {name: get(result, name) for name in HEADLINE}
    metrics: dict[str, object] = {"kernel_name": result.kernel}
    metrics.update({name: _whole(value) for name, value in answers.items() if value is not None})
    return {
        "outcome": "ok",
        "metrics": metrics,
        "missing": [name for name, value in answers.items() if value is None],
        "target_launches": result.launches,
        "grid": result.grid,
        "block": result.block,
        "compute_capability": result.cc,
        "kernels": list(result.kernels),
        "warnings": list(result.warnings),
        "readings": {name: _whole(one.value) for name, one in sorted(result.metrics.items())},
    }


def _whole(value: float) -> float | int:
    return int(value) if value.is_integer() else value


def _not_profiled(text: str, target: str | None, kernels: Sequence[str]) -> Trouble:
    listed = ncu_trouble.available_kernels(text) or tuple(kernels)
    name = f"{target} was not" if target else "no kernel was"
    among = f"; launched were {', '.join(listed)}" if listed else ""
    return ncu_trouble.trouble(
        Problem.NO_KERNELS, f"{name} among the profiled launches{among}", kernels=listed
    )


def _profile(name: str, cells: Iterable[Cell], mark: str) -> Profile:
    """The median of each metric over the launches of one kernel."""
    launches: dict[str, _Launch] = {}
    counts: dict[str, int] = {}
    shape = ("", "", "")
    for cell in cells:
        if cell.kernel == name:
            shape = cell.shape
            counts[cell.launch] = cell.invocations
            _add(launches.setdefault(cell.launch, {}), cell, mark)
    grid, block, cc = shape
    return Profile(name, sum(counts.values()), grid, block, cc, _medians(list(launches.values())))


def _add(launch: _Launch, cell: Cell, mark: str) -> None:
    number = parse(cell.text, mark)
    if number is None:
        return
    reading = Reading(*to_base(number, cell.unit))
    # "Memory Throughput" is a share in one section and bytes a second in another.
    if launch.setdefault(cell.metric, reading).unit != reading.unit:
        launch.setdefault(f"{cell.metric} [{reading.unit}]", reading)


def _medians(launches: Sequence[_Launch]) -> _Launch:
    names = dict.fromkeys(name for launch in launches for name in launch)
    medians = {}
    for name in names:
        found = [launch[name] for launch in launches if name in launch]
        medians[name] = Reading(median(one.value for one in found), found[0].unit)
    return medians
