"""The torch reference of a task: its inputs, its results in float32 and float64, its signature.

The file is the user's own and trusted, so it runs in this process. It is never a candidate's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod

import torch

from cutegen_git.core.taskfile_signature import format_item, usable_name
from cutegen_git.judge.reference_data import KINDS, Doubled, exact_float32
from cutegen_git.judge.reference_describe import (
    at_sizes,
    equal,
    fits,
    raised,
    refuse_random,
    scalar_of,
    spec_of,
)
from cutegen_git.judge.reference_forms import Built, Form, Value, Values, form_of
from cutegen_git.judge.reference_source import FILE, blamed, read
from cutegen_git.judge.reference_trace import Trace, Watch, fakes
from cutegen_git.words.errors import TaskError
from cutegen_git.words.task import Axes, Signature, Task

__all__ = ["Reference", "Trace", "Value", "load"]

_CACHED = 4  # sets of sizes whose module is kept


def load(source: bytes, task: Task | None = None) -> Reference:
    """The reference, imported. TaskError, one line with file and line, where it cannot be."""
    text = read(source)
    form = form_of(text)
    return Reference(form, task)


class Reference:
    """A loaded reference. Sizes are given as a mapping from axis to elements ({} for a fixed shape)."""

    def __init__(self, form: Form, task: Task | None) -> None:
        self._form, self._task = form, task
        self._built: dict[tuple[tuple[str, int], ...], Built] = {}
        self._traces: dict[tuple[tuple[str, int], ...], Trace] = {}
        self._usable: dict[str, bool] = {}

    @property
    def form(self) -> str:
        """native or kernelbench."""
        return self._form.name

    @property
    def axes(self) -> Mapping[str, int]:
        """What the file states: AXES of a native one, the module-level integers of a KernelBench file."""
        return self._form.axes

    def _build(self, axes: Axes) -> Built:
        key = tuple(sorted(axes.items()))
        if key not in self._built:
            while len(self._built) >= _CACHED:
                self._built.pop(next(iter(self._built)))
            self._built[key] = self._form.build(axes)
        return self._built[key]

    def inputs(self, axes: Axes, *, seed: int, device: str = "cpu", kind: str = "normal") -> dict[str, Value]:
        """Inputs that depend on nothing but the arguments.

        Kinds: normal (a native file's own data; for KernelBench zero-mean instead of torch.rand), uniform, large,
        tiny. Integers and bools are always as published, and so is everything where the reference is not finite on
        signed data (a logarithm, a probability).
        """
        if kind not in KINDS:
            raise ValueError(f"no kind of data: {kind}")
        if not self._is_usable(kind, axes, device):
            kind = "uniform" if self.form == "kernelbench" else "normal"
        return self._inputs(axes, seed, device, kind)

    def _inputs(self, axes: Axes, seed: int, device: str, kind: str) -> dict[str, Value]:
        return self._build(axes).inputs(kind, seed, device, signed=self.form == "kernelbench")

    def _is_usable(self, kind: str, axes: Axes, device: str) -> bool:
        """Whether the reference is finite on such data, tried once at the smallest sizes known."""
        if kind == "uniform" and self.form == "kernelbench":
            return True
        if kind not in self._usable:
            small = min(
                (workload.axes for workload in (self._task.workloads if self._task else ())),
                key=lambda sizes: prod(sizes.values()),
                default=axes,
            )
            self._usable[kind] = self._is_finite(small, device, kind)
        return self._usable[kind]

    def _is_finite(self, axes: Axes, device: str, kind: str) -> bool:
        values = self._inputs(axes, 1, device, kind)
        try:
            results = self.run(values, axes)
        except TaskError:
            return False
        return all(bool(torch.isfinite(result).all()) for result in results if result.is_floating_point())

    def run(self, inputs: Values, axes: Axes | None = None) -> tuple[torch.Tensor, ...]:
        """Torch's own results, TF32 off, contiguous; `inputs` are not changed. `axes` only if others were used since."""
        built = self._build(axes) if axes is not None else self._built_for(inputs)
        held = {
            name: value.clone() if isinstance(value, torch.Tensor) else value
            for name, value in inputs.items()
        }
        with exact_float32():
            return self._outputs(built.call(held))

    def run64(self, inputs: Values, axes: Axes | None = None) -> tuple[torch.Tensor, ...]:
        """The results with every float in float64, whatever types the reference names."""
        built = self._build(axes) if axes is not None else self._built_for(inputs)
        held = {name: raised(value) for name, value in inputs.items()}
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            with exact_float32(), Doubled():
                return self._outputs(built.call(held))
        finally:
            torch.set_default_dtype(before)

    def torch_form(
        self, inputs: Values, axes: Axes | None = None
    ) -> tuple[Callable[..., object], dict[str, Value]]:
        """What a user of torch would call, and its keyword arguments: for timing and for torch.compile."""
        built = self._build(axes) if axes is not None else self._built_for(inputs)
        return built.torch_form(inputs)

    def _built_for(self, inputs: Values) -> Built:
        """The module for the sizes that these inputs have."""
        known = [dict(key) for key in reversed(self._built)]
        known += [dict(workload.axes) for workload in (self._task.workloads if self._task else ())]
        for axes in known:
            if fits(self.trace(axes).signature, inputs):
                return self._build(axes)
        raise TaskError(f"{FILE}: the inputs have sizes of no known workload; pass the axes")

    def signature(self, axes: Axes) -> Signature:
        """The signature at these sizes, every dimension a number; learnt without data."""
        return self.trace(axes).signature

    def trace(self, axes: Axes) -> Trace:
        """What it does at these sizes. TaskError for random numbers, dropout, and where no tensor comes out."""
        key = tuple(sorted(axes.items()))
        if key not in self._traces:
            with fakes():
                built = self._form.build(axes)
                values = built.inputs("normal", 0, "cpu", signed=False)
                watch = Watch(values)
                with watch:
                    result = built.call(values)
                outputs = self._outputs(result, keep=True)
            refuse_random(watch.random)
            signature = self._describe(built, values, outputs, tuple(axes))
            size = sum(output.numel() * output.element_size() for output in outputs)
            self._traces[key] = Trace(signature, tuple(watch.ops), watch.peak_bytes, size)
        return self._traces[key]

    def _describe(
        self, built: Built, values: Values, outputs: tuple[torch.Tensor, ...], axes: tuple[str, ...]
    ) -> Signature:
        inputs = tuple(
            spec_of(name, value, name in built.constants)
            if isinstance(value, torch.Tensor)
            else scalar_of(name, value)
            for name, value in values.items()
        )
        names = self._output_names(len(outputs), {*values, *axes})
        described = tuple(
            replace(spec_of(n, o, False), layout="row") for n, o in zip(names, outputs, strict=True)
        )
        for item in (*inputs, *described):
            if not usable_name(item.name):
                raise TaskError(f"{FILE}: {item.name!r} cannot be a name in C++; rename it")
        return Signature(inputs, described, axes)

    def _output_names(self, count: int, taken: set[str]) -> list[str]:
        stated = list(self._form.outputs)
        if stated:
            if len(stated) != count:
                raise TaskError(f"{FILE}: OUTPUTS names {len(stated)} tensors, but {count} come out")
            return stated
        for stem in ("out", "result", "kernel_out"):
            names = [stem] if count == 1 else [f"{stem}{nth}" for nth in range(count)]
            if not taken.intersection(names):
                break
        return names

    def _outputs(self, result: object, *, keep: bool = False) -> tuple[torch.Tensor, ...]:
        items = result if isinstance(result, (tuple, list)) else (result,)
        if not items or not all(isinstance(item, torch.Tensor) for item in items):
            kinds = ", ".join(type(item).__name__ for item in items) or "nothing"
            raise TaskError(
                f"{FILE}: no tensor comes out (got {kinds}); return a tensor or a tuple of tensors"
            )
        with blamed("its result cannot be read"):
            return tuple(item.detach() if keep else item.detach().contiguous() for item in items)

    def check_signature(self, signature: Signature, axes: Axes) -> None:
        """TaskError where a signature stated for the task is not what the reference does at these sizes."""
        found = self.signature(axes)
        stated = [format_item(at_sizes(item, axes)) for item in (*signature.inputs, *signature.outputs)]
        actual = [format_item(item) for item in (*found.inputs, *found.outputs)]
        for said, seen in zip(stated, actual, strict=False):
            if said != seen:
                raise TaskError(f"task.toml [signature] does not hold: it says {said}, {FILE} gives {seen}")
        if len(stated) != len(actual):
            raise TaskError(f"task.toml [signature] names {len(stated)} tensors, {FILE} has {len(actual)}")

    def check_repeats(self, axes: Axes, *, device: str = "cpu") -> None:
        """TaskError where two runs with equal inputs differ, or one seed gives two sets of inputs."""
        first, again = (self.inputs(axes, seed=3, device=device) for _ in range(2))
        for name, value in first.items():
            if not equal(value, again[name]):
                raise TaskError(
                    f"{FILE} is nondeterministic: input {name} differs between two calls with one seed"
                )
        names = [spec.name for spec in self.signature(axes).outputs]
        for name, one, two in zip(names, self.run(first, axes), self.run(first, axes), strict=True):
            if not equal(one, two):
                raise TaskError(
                    f"{FILE} is nondeterministic: {name} differs between two runs with equal inputs"
                )
