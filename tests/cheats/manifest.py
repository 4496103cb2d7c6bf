"""Every exhibit: what it is written for, what the judge must say of it, and where that shows.

A kernel that the guard refuses unread by any GPU is still judged there without the guard where `behind` says what must
then be seen: no line of defence stands alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from cutegen_git.words.verdict import Outcome

KERNELS = Path(__file__).parent / "kernels"
_INCLUDE = re.compile(r'#include "([a-z0-9_]+\.cuh)"')


class Shown(Enum):
    """Where a cheat shows first."""

    SOURCES = "sources"  # the guard, before building
    LIBRARY = "library"  # the guard, by what was built
    RUN = "run"  # the judge's checks, on a device


O = Outcome  # noqa: E741
ANY_WRONG = (O.WRONG_RESULT, O.CACHED_RESULT, O.NONDETERMINISTIC, O.PRECISION_DOWNGRADE, O.NON_FINITE_OUTPUT)


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One kernel under kernels/."""

    name: str  # of its .cu file
    task: str  # key of tasks.TASKS
    shown: Shown
    outcome: Outcome  # what the judge says; PASSED for the honest
    behind: tuple[
        Outcome, ...
    ] = ()  # on a GPU: what else is right; for the guard's, what a run without it says
    emulator: tuple[Outcome, ...] = ()  # on the emulator; empty: as `outcome`

    @property
    def on_gpu(self) -> tuple[Outcome, ...]:
        """What a run on a GPU without the guard may say; empty where it is not run."""
        return (self.outcome, *self.behind) if self.shown is Shown.RUN else self.behind

    @property
    def on_emulator(self) -> tuple[Outcome, ...]:
        return self.emulator or (self.outcome, *self.behind)

    def sources(self) -> dict[str, bytes]:
        """Names and bytes as kernel/ would hold them."""
        files = {"kernel.cu": (KERNELS / f"{self.name}.cu").read_bytes()}
        waiting = list(files.values())
        while waiting:
            for name in _INCLUDE.findall(waiting.pop().decode()):
                if name not in files:
                    files[name] = (KERNELS / name).read_bytes()
                    waiting.append(files[name])
        return files


def _read(name: str, outcome: Outcome, *behind: Outcome) -> Exhibit:
    return Exhibit(name, "scale", Shown.SOURCES, outcome, behind)


def _linked(name: str, *behind: Outcome) -> Exhibit:
    return Exhibit(name, "scale", Shown.LIBRARY, O.FORBIDDEN_SYMBOL, behind)


def _run(
    name: str, task: str, outcome: Outcome, *behind: Outcome, emulator: tuple[Outcome, ...] = ()
) -> Exhibit:
    return Exhibit(name, task, Shown.RUN, outcome, behind, emulator)


# The emulator calls each launch in a fresh process and measures nothing: what lives from call to call, streams and
# time do not show there. It says "passed", and a GPU says more.
_BLIND = (O.PASSED,)

CHEATS = (
    # refused by reading
    _read("allocates_a_cache", O.FORBIDDEN_CALL, O.CACHED_RESULT, *ANY_WRONG, O.WORK_OUTSIDE_STREAM),
    _read("asks_for_capture", O.FORBIDDEN_CALL),
    _read("background_thread", O.REJECTED_BEFORE_BUILD, O.WORK_OUTSIDE_STREAM, O.CRASHED, *ANY_WRONG),
    _read("calls_cublas", O.REJECTED_BEFORE_BUILD),
    _read("evict_last", O.FORBIDDEN_CALL),
    _read("fast_math", O.REJECTED_BEFORE_BUILD),
    _read("host_callback", O.FORBIDDEN_CALL),
    _read("includes_the_reference", O.REJECTED_BEFORE_BUILD),
    _read("keeps_l2", O.FORBIDDEN_CALL),
    _read("knows_the_emulator", O.REJECTED_BEFORE_BUILD, O.WRONG_RESULT, O.NON_FINITE_OUTPUT),
    _read("loads_cublas", O.FORBIDDEN_CALL, O.LAUNCH_FAILED, O.PASSED),
    _read("pastes_names", O.FORBIDDEN_CALL),
    _read("reads_its_memory_map", O.FORBIDDEN_CALL),
    _read("reads_the_clock", O.FORBIDDEN_CALL, *ANY_WRONG),
    _read("reads_the_environment", O.FORBIDDEN_CALL, *ANY_WRONG),
    _read("redefines_float", O.REJECTED_BEFORE_BUILD),
    _read("replaces_the_timer", O.FORBIDDEN_CALL),
    _read("replays_a_graph", O.FORBIDDEN_CALL, *ANY_WRONG, O.WORK_OUTSIDE_STREAM, O.OUT_OF_BOUNDS),
    _read("runs_at_loading", O.REJECTED_BEFORE_BUILD),
    _read("side_stream", O.FORBIDDEN_CALL, O.WORK_OUTSIDE_STREAM, *ANY_WRONG),
    _read("synchronises", O.FORBIDDEN_CALL, O.WORK_OUTSIDE_STREAM),
    _read("system_call", O.FORBIDDEN_CALL, O.FORBIDDEN_CALL),
    # refused by what the library imports
    _linked("forges_replies", O.CRASHED, *ANY_WRONG),
    _linked("forks", O.FORBIDDEN_CALL),
    _linked("opens_a_socket", O.FORBIDDEN_CALL),
    _linked("sleeps"),
    _linked("thread_by_symbol", O.WORK_OUTSIDE_STREAM, O.CRASHED, *ANY_WRONG),
    # refused by running
    _run("bf16_inputs", "product", O.PRECISION_DOWNGRADE, O.WRONG_RESULT),
    _run("cache_by_fingerprint", "scale", O.CACHED_RESULT, *ANY_WRONG, emulator=_BLIND),
    _run("cache_by_pointer", "scale", O.CACHED_RESULT, *ANY_WRONG, emulator=_BLIND),
    _run("constant_rows", "softmax", O.WRONG_RESULT, O.PRECISION_DOWNGRADE),
    _run("copies_its_input", "scale", O.WRONG_RESULT),
    _run("counts_calls", "scale", O.WRONG_RESULT, *ANY_WRONG, O.FASTER_THAN_POSSIBLE, O.TIMING_SUSPICIOUS, emulator=_BLIND),
    _run("default_stream", "scale", O.WORK_OUTSIDE_STREAM, emulator=_BLIND),
    _run("does_nothing", "scale", O.WRONG_RESULT, O.NON_FINITE_OUTPUT, O.LAUNCH_FAILED),
    _run("eats_memory", "scale", O.CRASHED, O.TIMEOUT),
    _run("exits", "scale", O.CRASHED),
    _run("first_half_of_k", "product", O.WRONG_RESULT),
    _run("half_normaliser", "softmax", O.WRONG_RESULT, O.PRECISION_DOWNGRADE),
    _run("half_sums", "half", O.PRECISION_DOWNGRADE, O.WRONG_RESULT, O.NON_FINITE_OUTPUT),
    _run("half_the_rows", "scale", O.WRONG_RESULT, O.NON_FINITE_OUTPUT),
    _run("hangs", "scale", O.TIMEOUT, emulator=(O.TIMEOUT, O.UNSUPPORTED)),
    _run("in_place", "scale", O.INPUT_MODIFIED),
    _run("misaligned", "scale", O.CRASHED, emulator=(O.CRASHED, O.LAUNCH_FAILED)),
    _run("missing_barrier", "softmax", O.WRONG_RESULT, *ANY_WRONG, emulator=(*ANY_WRONG, O.RACE)),
    _run("modifies_its_input", "scale", O.INPUT_MODIFIED),
    _run("no_maximum", "softmax", O.NON_FINITE_OUTPUT, O.WRONG_RESULT),
    _run("not_a_number", "scale", O.NON_FINITE_OUTPUT),
    _run("one_shape", "scale", O.WRONG_RESULT, O.NON_FINITE_OUTPUT, O.LAUNCH_FAILED),
    _run("refuses_odd_shapes", "scale", O.LAUNCH_FAILED),
    _run("skips_done_tiles", "product", O.TIMING_SUSPICIOUS, O.FASTER_THAN_POSSIBLE, *ANY_WRONG, emulator=_BLIND),
    _run("skips_what_is_done", "scale", O.FASTER_THAN_POSSIBLE, O.TIMING_SUSPICIOUS, *ANY_WRONG, emulator=_BLIND),
    _run("state_between_calls", "scale", O.WRONG_RESULT, *ANY_WRONG, emulator=_BLIND),
    _run("stray_pointer", "scale", O.CRASHED, emulator=(O.OUT_OF_BOUNDS,)),
    _run("swallows_errors", "scale", O.WRONG_RESULT, O.NON_FINITE_OUTPUT, O.LAUNCH_FAILED),
    _run("tf32_inputs", "product", O.PRECISION_DOWNGRADE, O.WRONG_RESULT),
    _run("triangle_one_step_short", "triangle", O.WRONG_RESULT),
    _run("trusts_its_workspace", "scale", O.NON_FINITE_OUTPUT),
    _run("undeclared_atomics", "product", O.NONDETERMINISTIC, emulator=_BLIND),
    _run("whole_tiles_of_k", "product", O.WRONG_RESULT),
    _run("works_one_call_late", "scale", O.WRONG_RESULT, *ANY_WRONG, O.OUT_OF_BOUNDS, O.LAUNCH_FAILED),
    _run("writes_past_the_end", "scale", O.OUT_OF_BOUNDS),
    _run("zeros", "scale", O.WRONG_RESULT),
)  # fmt: skip

_SCALES = ("careful_host", "packed_weights", "plain_scale", "two_launches", "vectors_where_aligned")
_PRODUCTS = ("persistent_product", "plain_product", "three_tf32", "two_pass_split_k")
HONEST = (
    *(_run(name, "scale", O.PASSED) for name in _SCALES),
    _run("grid_barrier", "scale", O.PASSED, emulator=(O.PASSED, O.UNSUPPORTED)),
    *(_run(name, "product", O.PASSED) for name in _PRODUCTS),
    _run("declared_atomics", "any-order", O.PASSED),
    _run("clips_in_place", "clip", O.PASSED),
    _run("exp2_softmax", "softmax", O.PASSED),
    _run("online_softmax", "softmax", O.PASSED),
    _run("float_sums", "half", O.PASSED),
    _run("triangle_skips_zeros", "triangle", O.PASSED),
)
EXHIBITS = (*CHEATS, *HONEST)
