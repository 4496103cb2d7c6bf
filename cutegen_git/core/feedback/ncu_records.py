"""What a run of Nsight Compute said: a profile of one kernel, or the trouble that left us without one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Problem(str, Enum):
    """Why there is no profile. The values are what `explain-profile` prints as `error_class`."""

    NO_PERMISSION = "no-permission"  # ERR_NVGPUCTRPERM: the driver keeps the counters for root
    PROFILER_BUSY = "profiler-busy"  # another profiler or monitor holds the counters
    PROFILER_FAILED = "profiler-failed"  # ncu is missing, cannot load, or does not know the device
    METRICS_UNAVAILABLE = "metrics-unavailable"  # a requested metric does not exist on this chip
    TARGET_NOT_FOUND = "target-not-found"  # the program to profile does not exist
    NO_KERNELS = "no-kernels-profiled"  # the program ran, but the wanted kernel was not among its launches
    KERNEL_CRASHED = "kernel-crashed"  # a launch failed under the profiler
    APPLICATION_FAILED = "application-failed"  # the program ended with an error of its own
    TRUNCATED = "truncated"  # the report ends in the middle, or ncu was killed
    NO_OUTPUT = "no-output"  # not one character


class Blame(str, Enum):
    """Who has to change something before a repetition can help."""

    ENVIRONMENT = "environment"
    KERNEL = "kernel"
    REQUEST = "request"


@dataclass(frozen=True, slots=True)
class Trouble:
    """No profile, and why. A value, not an exception: the loop goes on without a profile."""

    problem: Problem
    message: str  # one sentence for people, with the tool's own words where it had any
    blame: Blame
    remedy: str  # what to do, "" where nothing but a repetition is left
    unavailable_metrics: tuple[str, ...] = ()  # to be dropped from the next request
    available_kernels: tuple[str, ...] = ()  # what the program launched in place of the wanted kernel


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of a report, still as text."""

    launch: str  # tells launches of one report apart
    kernel: str  # as printed, mostly demangled with arguments
    shape: tuple[str, str, str]  # grid, block, compute capability; "" where the layout does not say
    invocations: int  # launches behind this number; 1 but for --print-summary
    metric: str  # metric name or, on the details page, display name
    unit: str  # as printed
    text: str  # as printed


@dataclass(frozen=True, slots=True)
class Report:
    """All numbers of one output, whatever its layout."""

    cells: tuple[Cell, ...] = ()
    is_cut: bool = False  # a table or a row stops before its end


@dataclass(frozen=True, slots=True)
class Reading:
    """One metric in base units."""

    value: float  # finite
    unit: str  # ns, byte, byte/block, %, hz, ... and "" for a plain count


@dataclass(frozen=True, slots=True)
class Profile:
    """The median over all launches of one kernel."""

    kernel: str  # as the report prints it
    launches: int
    grid: str  # "(256, 256, 1)", "" where not said
    block: str
    cc: str  # compute capability, "8.9"
    metrics: Mapping[str, Reading]  # by the report's own names; what is not here was not measured
    kernels: tuple[str, ...] = ()  # every kernel of the report, in order
    warnings: tuple[str, ...] = field(default=())  # what ncu warned of, without its standing notes
