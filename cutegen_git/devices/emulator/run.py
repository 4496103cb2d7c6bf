"""Runs a built kernel in a child process, once per thread order, and collects what it did.

The child is the linked program itself: no Python, no torch, an empty environment, limits on time, memory, files and
system calls, a process group of its own. Tensors lie in one sealed memory file, so the judge's memory is never in reach.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from .build import EmulatorBuild
from .call import EmulatorCall
from .child import ChildResult, Limits, run_child
from .memory import SharedTensors
from .report import Report, located, merged, places
from .rewrite import Unsupported

ORDERS = ("forward", "reverse", "random")
UNLOADED = "error while loading shared libraries"  # the loader's words, with exit code 127


class RunStatus(Enum):
    """How a run ended, before anybody compares results."""

    OK = "ok"
    LAUNCH_ERROR = "launch-error"  # launch, setup or prepare returned an error, or a launch was refused
    STOPPED = "stopped"  # a veto that no kernel survives: stray pointer, deadlock, trap
    FORBIDDEN = "forbidden"  # killed at a fork, an exec, a socket or a signal to another process
    CRASHED = "crashed"
    TIMEOUT = "timeout"
    UNSUPPORTED = "unsupported"
    INFRASTRUCTURE = "infrastructure"


@dataclass(frozen=True, slots=True)
class EmulatorRun:
    """What happened in all orders together."""

    status: RunStatus  # of the first order that did not end well, else ok
    code: int  # the cudaError_t, or a signal's number
    reports: tuple[Report, ...]  # vetoes first
    unsupported: Unsupported | None
    counters: dict[str, int] = field(
        default_factory=dict
    )  # accesses, launches, blocks, mma, ptx; of the first order
    said: str = ""  # the end of what the kernel printed
    time_s: float = 0.0
    confined: tuple[str, ...] = ()  # the limits that held in every order: files, calls

    @property
    def ok(self) -> bool:
        """Did it run to its end without a veto? Says nothing about the result."""
        return self.status is RunStatus.OK and not self.vetoes

    @property
    def vetoes(self) -> tuple[Report, ...]:
        return tuple(r for r in self.reports if r.severity == "veto")


@dataclass(frozen=True, slots=True)
class OrderRun:
    """One order's end."""

    order: str
    status: RunStatus
    code: int
    raw: tuple[dict[str, Any], ...]
    counters: dict[str, int]
    said: str
    digest: str  # of all outputs
    confined: tuple[str, ...] = ()  # the limits that held


def run(
    build: EmulatorBuild,
    call: EmulatorCall,
    *,
    orders: Sequence[str] = ORDERS,
    seed: int = 1,
    timeout_s: float = 60.0,
    limits: Limits | None = None,
    prefix: Sequence[str] = (),
) -> EmulatorRun:
    """The outputs, in the buffers of `call`, are those of the first order. `prefix` may name a sandbox command."""
    if build.program is None:
        raise ValueError("there is no program to run: the build did not succeed")
    begin = time.monotonic()
    runs: list[OrderRun] = []
    with SharedTensors(call) as tensors:
        for number, order in enumerate(orders):
            left = timeout_s - (time.monotonic() - begin)
            tensors.reset()
            job = tensors.job(order, seed + number)
            child = run_child(
                build.program, job, tensors.fd, left, limits or Limits.for_bytes(tensors.total_bytes), prefix
            )
            one = order_run(order, child, tensors.digest())
            if not runs:
                tensors.read_outputs()
            runs.append(one)
            if one.status is not RunStatus.OK:
                break
    return combined(build, call, runs, time.monotonic() - begin)


def order_run(order: str, child: ChildResult, digest: str) -> OrderRun:
    """Reads the lines that the program wrote."""
    raw: list[dict[str, Any]] = []
    last: dict[str, Any] = {}
    for line in child.reports.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if "status" in record:
            last = record
        elif "kind" in record:
            raw.append(record)
    status, code = ending(child, last)
    counters = {k: v for k, v in last.items() if k not in {"status", "code"}}
    return OrderRun(order, status, code, tuple(raw), counters, child.said, digest, child.confined)


def ending(child: ChildResult, last: Mapping[str, Any]) -> tuple[RunStatus, int]:
    """How the process ended. What it says of itself counts only where the system says nothing worse."""
    if child.timed_out:
        return RunStatus.TIMEOUT, 0
    if "calls" not in child.confined or UNLOADED in child.said and child.code == 127:
        return RunStatus.INFRASTRUCTURE, child.code
    if child.code == -signal.SIGSYS:
        return RunStatus.FORBIDDEN, child.code
    if not last or (child.code and last["status"] == "ok"):
        return RunStatus.CRASHED, child.code
    return RunStatus(last["status"]), int(last.get("code", 0))


def combined(
    build: EmulatorBuild, call: EmulatorCall, runs: Sequence[OrderRun], time_s: float
) -> EmulatorRun:
    """One result of all orders, with the user's lines."""
    assert build.program is not None
    addresses = [a for one in runs for r in one.raw for a in (r["pc"], r["pc2"], *r["stack"])]
    where = places(build.program, addresses, build.user_files)
    reports = [located(r, where, one.order) for one in runs for r in one.raw]
    last = runs[-1]
    unsupported = next(
        (Unsupported(r.detail, r.file, r.line) for r in reports if r.kind == "unsupported"), None
    )
    status = last.status
    if status is RunStatus.OK and not last.counters.get("accesses") and last.counters.get("launches"):
        unsupported = Unsupported("a kernel without one checked access", "", 0)
        status = RunStatus.UNSUPPORTED
    kept = [r for r in reports if r.kind != "unsupported"]
    kept += order_dependence(runs)
    confined = tuple(limit for limit in last.confined if all(limit in one.confined for one in runs))
    return EmulatorRun(
        status, last.code, merged(kept), unsupported, dict(runs[0].counters), last.said, time_s, confined
    )


def order_dependence(runs: Sequence[OrderRun]) -> list[Report]:
    """A finding if two orders gave different bits: a race, or atomics on floating-point numbers."""
    whole = [r for r in runs if r.status is RunStatus.OK]
    different = [r.order for r in whole if r.digest != whole[0].digest]
    if not different:
        return []
    detail = f"outputs of order {whole[0].order} and {different[0]} differ in their bits (a race, or float atomics)"
    zero = (0, 0, 0)
    return [
        Report(
            "order-dependent",
            "finding",
            "",
            "",
            0,
            zero,
            zero,
            "",
            -1,
            len(different),
            detail,
            0,
            tuple(different),
        )
    ]
