"""What the judge found for one attempt on one device (design judge.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

JUDGE_VERSION = 1  # raised whenever the same kernel could be judged differently


class Outcome(str, Enum):
    """How judging ended. Exactly one; `PASSED` is the only good one."""

    PASSED = "passed"
    REJECTED_BEFORE_BUILD = "rejected-before-build"
    BUILD_ERROR = "build-error"
    LAUNCH_FAILED = "launch-failed"
    WRONG_RESULT = "wrong-result"
    NON_FINITE_OUTPUT = "non-finite-output"
    PRECISION_DOWNGRADE = "precision-downgrade"
    OUT_OF_BOUNDS = "out-of-bounds"
    UNINITIALISED_READ = "uninitialised-read"
    RACE = "race"
    INPUT_MODIFIED = "input-modified"
    CACHED_RESULT = "cached-result"
    WORK_OUTSIDE_STREAM = "work-outside-stream"
    NONDETERMINISTIC = "nondeterministic"
    FORBIDDEN_SYMBOL = "forbidden-symbol"
    FORBIDDEN_CALL = "forbidden-call"
    TIMING_SUSPICIOUS = "timing-suspicious"
    FASTER_THAN_POSSIBLE = "faster-than-possible"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    UNSUPPORTED = "unsupported"  # this device cannot judge it: says nothing about the kernel
    INFRASTRUCTURE = "infrastructure"  # the judge or the machine failed: says nothing about the kernel

    @property
    def is_about_kernel(self) -> bool:
        """False where the verdict says nothing about the kernel, so that it must be judged again."""
        return self not in (Outcome.UNSUPPORTED, Outcome.INFRASTRUCTURE)


@dataclass(frozen=True, slots=True)
class Timing:
    """The result of a comparison on rank workloads: geometric means over them."""

    speedup: float  # baseline time / attempt time
    low: float  # 95 % interval of the speedup
    high: float
    device_us: float  # the attempt, stream held: the number that the tag uses
    call_us: float  # the attempt as a caller in Python sees it
    baseline: str  # its name: "eager", "compile"
    baseline_us: float

    def __post_init__(self) -> None:
        if not (0 < self.low <= self.speedup <= self.high and self.device_us > 0 and self.baseline_us > 0):
            raise ValueError(f"no timing: {self}")


@dataclass(frozen=True, slots=True)
class Resources:
    """What the compiler reports of the kernel that uses most registers."""

    registers: int
    smem_bytes: int  # static shared memory
    spill_bytes: int  # stores and loads


@dataclass(frozen=True, slots=True)
class Verdict:
    """One line in refs/notes/cutegen/verdict/<runner>."""

    outcome: Outcome
    device: str  # slug
    runner: str
    commit: str
    kernel_tree: str
    task: str  # task hash
    code: str  # what ran: "sm_89", "compute_89->sm_90", "none"
    at: int  # seconds since 1970, UTC
    why: str = ""  # one sentence for people; empty when passed
    timing: Timing | None = None  # only when passed on a device that can time
    resources: Resources | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)  # phase -> wall seconds: build, check, time
    judge: int = JUDGE_VERSION

    def __post_init__(self) -> None:
        if self.timing is not None and self.outcome is not Outcome.PASSED:
            raise ValueError(f"a verdict {self.outcome.value} cannot have a timing")
