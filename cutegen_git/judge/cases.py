"""Cases: one set of inputs at one workload, what must come out, and the memory that a candidate gets for it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import torch

from cutegen_git.core.shapes import shape_of, strides_of
from cutegen_git.judge.honest import Honesty, Inputs
from cutegen_git.judge.protocol import Buffer, Call, DeviceHandle
from cutegen_git.judge.reference import Reference
from cutegen_git.judge.standard import Standard, bits, is_poison
from cutegen_git.words.task import Axes, Role, Task, TensorSpec, Workload

ALIGNED = 32  # elements: whole vectors and warps, and most tiles' depths
ALIGNED_MOST = 1 << 25  # product of the axes: a second or two on the emulator


@dataclass(frozen=True, slots=True)
class Plan:
    """A case before its data exist."""

    workload: Workload
    kind: str  # of data: normal, uniform, large, tiny
    shift_bytes: int = 0  # pointers are this far from a 256-byte boundary


@dataclass(frozen=True, slots=True)
class Case:
    """Inputs in the judge's own memory with the standards of all outputs."""

    plan: Plan
    inputs: Inputs
    standards: tuple[Standard, ...]

    @property
    def axes(self) -> Axes:
        return self.plan.workload.axes

    def where(self) -> str:
        """For messages: "M129-N257-K65"."""
        shift = f", pointers {self.plan.shift_bytes} bytes off" if self.plan.shift_bytes else ""
        return self.plan.workload.label() + shift


def check_plans(task: Task, hidden: Sequence[Workload] = ()) -> Iterator[Plan]:
    """Smallest workloads first: a broken kernel is refused early. The second seed comes with shifted pointers."""
    shift = max([16, *(spec.align_bytes for spec in all_tensors(task))])
    for workload in sorted(task.of_role(Role.CHECK), key=lambda w: prod(w.axes.values())):
        yield Plan(workload, "normal")
        yield Plan(workload, "normal", shift)
        for kind in ("uniform", "large", "tiny"):
            yield Plan(workload, kind)
    for workload in hidden:
        yield Plan(workload, "normal")


def aligned_sizes(task: Task) -> Axes | None:
    """Sizes that the task does not list: every axis a multiple of 32, so that vector and tile paths run too.

    Odd check sizes alone leave such paths unseen where rank sizes are not run. None where they would be large, or
    where a rank size is no such multiple, so that the operation may not allow one.
    """
    checks, ranks = task.of_role(Role.CHECK), task.of_role(Role.RANK)
    if not checks or not ranks or not task.signature.axes:
        return None
    if any(rank.axes[axis] % ALIGNED for rank in ranks for axis in task.signature.axes):
        return None
    sizes = {
        axis: ranks[0].axes[axis]
        if axis in task.static
        else min(-(-max(check.axes[axis] for check in checks) // ALIGNED) * ALIGNED, ranks[0].axes[axis])
        for axis in task.signature.axes
    }
    return sizes if prod(sizes.values()) <= ALIGNED_MOST else None


def seed_of(secret: bytes, *parts: object) -> int:
    """63 bits that nobody without the secret can know."""
    text = "|".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.sha256(secret + b"|" + text).digest()[:8], "big") >> 1


def make_case(plan: Plan, reference: Reference, honesty: Honesty, device: str, seed: int) -> Case:
    axes = plan.workload.axes
    inputs = reference.inputs(axes, seed=seed, device=device, kind=plan.kind)
    is_large = plan.workload.role is Role.RANK
    return Case(plan, inputs, honesty.standards(inputs, axes, plan.kind, is_large=is_large))


def all_tensors(task: Task) -> tuple[TensorSpec, ...]:
    return (*task.signature.tensors(), *task.signature.outputs)


@dataclass(frozen=True, slots=True)
class Stage:
    """The buffers of one call. Making another stage takes their memory."""

    task: Task
    case: Case
    buffers: Mapping[str, Buffer]

    @staticmethod
    def set_up(task: Task, case: Case, device: DeviceHandle) -> Stage:
        """Inputs in place, outputs poisoned."""
        buffers: dict[str, Buffer] = {}
        for spec in all_tensors(task):
            alias = getattr(spec, "alias", None)
            if alias:
                buffers[spec.name] = buffers[alias]
                continue
            shape, strides = shape_of(spec, case.axes), strides_of(spec, case.axes)
            buffers[spec.name] = device.buffer(
                spec.name, shape, strides, spec.dtype, shift_bytes=case.plan.shift_bytes
            )
        stage = Stage(task, case, buffers)
        stage.load(case)
        return stage

    def load(self, case: Case) -> Stage:
        """The same memory with the inputs of another case of the same workload."""
        for spec in self.task.signature.tensors():
            value = case.inputs[spec.name]
            assert isinstance(value, torch.Tensor)
            self.buffers[spec.name].tensor.copy_(value)
        stage = Stage(self.task, case, self.buffers)
        stage.poison()
        return stage

    def poison(self) -> None:
        """Outputs hold no number; those that share memory with an input hold that input."""
        for spec in self.task.signature.outputs:
            if not spec.alias:
                self.buffers[spec.name].poison()
            else:
                value = self.case.inputs[spec.alias]
                assert isinstance(value, torch.Tensor)
                self.buffers[spec.name].tensor.copy_(value)

    def call(self) -> Call:
        scalars = {
            spec.name: value
            for spec in self.task.signature.scalars()
            if not isinstance(value := self.case.inputs[spec.name], torch.Tensor)
        }
        return Call(self.case.axes, scalars, self.buffers)

    def outputs(self) -> tuple[torch.Tensor, ...]:
        """The judge's view of the candidate's memory: it changes under the next call."""
        return tuple(self.buffers[spec.name].tensor for spec in self.task.signature.outputs)

    def copies(self) -> tuple[torch.Tensor, ...]:
        return tuple(output.clone() for output in self.outputs())

    def damage(self) -> str:
        """What was written around the tensors; "" if nothing."""
        for name, buffer in self.buffers.items():
            if said := buffer.damage():
                return f"{name}: {said}"
        return ""

    def changed_input(self) -> str:
        """Name of an input that no longer holds its data; "" if none."""
        shared = {spec.alias for spec in self.task.signature.outputs}
        for spec in self.task.signature.tensors():
            value = self.case.inputs[spec.name]
            assert isinstance(value, torch.Tensor)
            held = value.to(torch.uint8) if spec.dtype == "bool" else value
            if spec.name not in shared and not torch.equal(bits(self.buffers[spec.name].tensor), bits(held)):
                return spec.name
        return ""

    def written_early(self) -> str:
        """Said where an output already holds something; nothing can be said of 1-byte and shared outputs."""
        for spec in self.task.signature.outputs:
            output = self.buffers[spec.name].tensor
            if spec.alias or output.element_size() == 1 or not output.numel():
                continue
            written = int((~is_poison(output)).sum())
            if written:
                return (
                    f"{written} elements of {spec.name} were written while the stream was held: every kernel must be"
                    " launched on the stream that launch() is given, and nothing on another thread or stream"
                )
        return ""
