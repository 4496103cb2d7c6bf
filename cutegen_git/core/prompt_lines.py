"""Records as lines of a prompt. What a template does not say in its own words is said here, once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from cutegen_git.core.abi import c_type
from cutegen_git.words.device import Device
from cutegen_git.words.errors import PatchProblem
from cutegen_git.words.task import Precision, Role, Task, TensorSpec, Workload
from cutegen_git.words.verdict import Outcome, Verdict

_NO_PATCH = {problem.value for problem in PatchProblem} | {"empty-reply", "refused", "repeated"}
_RESULT = {
    Outcome.WRONG_RESULT,
    Outcome.NON_FINITE_OUTPUT,
    Outcome.PRECISION_DOWNGRADE,
    Outcome.NONDETERMINISTIC,
    Outcome.INPUT_MODIFIED,
    Outcome.CACHED_RESULT,
    Outcome.WORK_OUTSIDE_STREAM,
}
_RUN = {
    Outcome.LAUNCH_FAILED,
    Outcome.OUT_OF_BOUNDS,
    Outcome.UNINITIALISED_READ,
    Outcome.RACE,
    Outcome.TIMEOUT,
    Outcome.CRASHED,
}
_SHORT_FLOATS = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")


@dataclass(frozen=True, slots=True)
class Tried:
    """One idea of the past."""

    label: str  # of the attempt
    intent: str  # its subject
    outcome: str  # what became of it: "passed", "build-error", "no-diff"
    speedup: float | None = None  # baseline / attempt; None where it was not timed
    change: float | None = None  # its parent's time / its own; None where one of both was not timed


def kind_of(outcome: str) -> str:
    """Which repair an outcome asks for: "patch", "build", "result", "run" or "rule"."""
    if outcome in _NO_PATCH:
        return "patch"
    try:
        found = Outcome(outcome)
    except ValueError:
        return "rule"
    if found is Outcome.BUILD_ERROR:
        return "build"
    return "result" if found in _RESULT else "run" if found in _RUN else "rule"


def tensor_lines(task: Task) -> list[str]:
    """One line a tensor or scalar: name, C++ type, shape, layout, alignment."""
    signature = task.signature
    lines = [_tensor(spec, "constant input" if spec.constant else "input") for spec in signature.tensors()]
    lines += [_tensor(spec, "output") for spec in signature.outputs]
    lines += [f"`{spec.name}`: scalar input, {spec.kind.value}, by value" for spec in signature.scalars()]
    lines += [f"`{axis}`: compile-time constant `Args::{axis}`" for axis in task.static]
    return lines


def _tensor(spec: TensorSpec, role: str) -> str:
    shape = f"({', '.join(spec.shape)}{',' if len(spec.shape) == 1 else ''})"
    if isinstance(spec.layout, str):
        layout = {"row": "row-major", "col": "last two axes swapped in memory (column-major)"}.get(
            spec.layout, spec.layout
        )
    else:
        layout = f"strides ({', '.join(spec.layout)}) in elements"
    if len(spec.shape) < 2 and spec.layout in ("row", "col"):
        layout = "contiguous"
    alias = f", shares its memory with `{spec.alias}`" if spec.alias else ""
    aligned = f"pointer aligned to {spec.align_bytes} bytes"
    return (
        f"`{spec.name}`: {role}, {spec.dtype} (`{c_type(spec)}`), shape {shape}, {layout}, {aligned}{alias}"
    )


def size_lines(task: Task) -> list[str]:
    """The timed sizes, then the checked ones."""
    ranked, checked = task.of_role(Role.RANK), task.of_role(Role.CHECK)
    total = sum(workload.weight for workload in ranked) or 1.0
    lines = []
    for workload in ranked:
        share = f", {workload.weight / total:.0%} of the score" if len(ranked) > 1 else ""
        lines.append(f"timed: {_axes(workload)}{share}")
    if checked:
        lines.append(f"checked: {'; '.join(_axes(workload) for workload in checked)}")
    return lines


def _axes(workload: Workload) -> str:
    return ", ".join(f"{name} = {size}" for name, size in workload.axes.items()) or "the one fixed size"


def precision_text(precision: Precision) -> str:
    """What arithmetic the task allows, and how that is checked."""
    sums = f"sums are kept in {precision.accumulate}"
    if precision.policy == "float32":
        text = (
            f"float32 arithmetic; {sums}. Results are compared with a float64 reference on signed data, and the"
            " error may be a small multiple of what an honest float32 kernel has. TF32, fp16 or bf16 products"
            " do not pass. Three TF32 products that together recover the float32 product (3xTF32) do, if the"
            " partial sums leave the tensor core's accumulator for float32 registers every few steps."
        )
    elif precision.policy in _SHORT_FLOATS:
        text = (
            f"{precision.policy} inputs and products; {sums}. Results are compared with a float64 reference;"
            " sums in a shorter type than that are found out and refused."
        )
    else:
        text = f"{precision.policy}; {sums}. Results are compared with a reference in higher precision."
    order = " Two runs must agree bit for bit." if precision.deterministic else ""
    return text + order


def standing_lines(verdict: Verdict | None, parent: Verdict | None, roof_us: float | None) -> list[str]:
    """The verdict on a kernel, and what changed against what it was made from."""
    if verdict is None:
        return []
    timing = verdict.timing
    if timing is None:
        why = f": {verdict.why}" if verdict.why else ""
        return [f"{verdict.outcome.value} on {verdict.device}, not timed{why}"]
    lines = [
        f"{timing.speedup:.2f}x of PyTorch ({timing.baseline}) on {verdict.device}: {_us(timing.device_us)}"
        f" against {_us(timing.baseline_us)} (95 % interval {timing.low:.2f}x to {timing.high:.2f}x)"
    ]
    if roof_us:
        lines.append(
            f"{roof_us / timing.device_us:.0%} of the roof: {_us(roof_us)} is what bandwidth and arithmetic allow"
        )
    if parent and parent.timing and parent.device == verdict.device:
        ratio = parent.timing.device_us / timing.device_us
        word = "faster" if ratio >= 1 else "slower"
        lines.append(f"{max(ratio, 1 / ratio):.2f}x {word} than what it was made from")
    if verdict.resources:
        used = verdict.resources
        lines.append(
            f"{used.registers} registers a thread, {used.smem_bytes} bytes of static shared memory,"
            f" {used.spill_bytes} bytes spilled"
        )
    return lines


def _us(time_us: float) -> str:
    return f"{time_us / 1000:.3g} ms" if time_us >= 1000 else f"{time_us:.3g} µs"


def tried_lines(history: Iterable[Tried]) -> list[str]:
    """One line an idea: label, intent, what became of it."""
    lines = []
    for idea in history:
        parts = [idea.outcome]
        if idea.speedup is not None:
            parts = [f"{idea.speedup:.2f}x of PyTorch"]
        if idea.change is not None:
            word = "faster" if idea.change >= 1 else "slower"
            parts.append(f"{max(idea.change, 1 / idea.change):.2f}x {word} than its parent")
        lines.append(f"{idea.label} {idea.intent}: {', '.join(parts)}")
    return lines


def device_text(device: Device) -> str:
    """The device that measures, in one line, with what its architecture can and cannot do."""
    if not device.can_time:
        return "an emulator on the CPU: it checks results and memory accesses, and times nothing"
    parts = [f"{device.name} (compute capability {device.sm // 10}.{device.sm % 10})"]
    if device.sm_count:
        parts.append(f"{device.sm_count} SMs")
    if device.memory_bytes:
        parts.append(f"{device.memory_bytes / 2**30:.0f} GiB of memory")
    if device.l2_bytes:
        parts.append(f"{device.l2_bytes / 2**20:.0f} MiB of L2")
    if limits := _BY_SM.get(device.sm):
        parts.append(limits)
    return "; ".join(parts)


# Compute capability -> limits, from the table "Technical Specifications" of the CUDA programming guide.
_BY_SM = {
    80: "65,536 registers and 2,048 threads an SM, up to 163 KB of shared memory a block",
    86: "65,536 registers and 1,536 threads an SM, up to 99 KB of shared memory a block",
    89: "65,536 registers and 1,536 threads an SM, up to 99 KB of shared memory a block",
    90: "65,536 registers and 2,048 threads an SM, up to 227 KB of shared memory a block",
}


def fenced(text: str, language: str = "") -> str:
    """The text in a fence that no fence inside it can close."""
    ticks = max((len(run) for run in re.findall(r"`{3,}", text)), default=2) + 1
    return f"{'`' * ticks}{language}\n{text.strip(chr(10))}\n{'`' * ticks}"


def middle_out(text: str, chars: int) -> str:
    """The text, its middle left out where it is longer; says how much."""
    if len(text) <= chars:
        return text
    half = chars // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
