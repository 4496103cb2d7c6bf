"""The two forms of a reference: our own, and a KernelBench file unchanged. Both give a `Built` for given sizes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Protocol

import torch
from torch import nn
from torch._subclasses.fake_tensor import unset_fake_temporarily

from cutegen_git.judge.reference_data import Steered, seeded, unsettle
from cutegen_git.judge.reference_models import (
    arguments,
    init_arguments,
    is_buffer,
    may_vary,
    register_plain_tensors,
    unique,
    weight_names,
    weights,
)
from cutegen_git.judge.reference_source import FILE, Source, blamed
from cutegen_git.words.errors import TaskError
from cutegen_git.words.task import Axes

Value = torch.Tensor | float | int | bool
Values = Mapping[str, Value]


class Built(Protocol):
    """A reference for one set of sizes."""

    constants: frozenset[str]  # inputs that are weights

    def inputs(self, kind: str, seed: int, device: str, *, signed: bool) -> dict[str, Value]: ...
    def call(self, values: Values) -> object: ...
    def torch_form(self, values: Values) -> tuple[Callable[..., object], dict[str, Value]]: ...


class Form(Protocol):
    name: str
    axes: Mapping[str, int]  # rank sizes that the file states, or the constants that may become axes
    outputs: Sequence[str]  # names, () where the file gives none

    def build(self, axes: Axes) -> Built: ...


class Native:
    """`inputs(axes, *, generator, device)` and `reference(**inputs)`; AXES and OUTPUTS if it likes."""

    name = "native"

    def __init__(self, source: Source) -> None:
        self.module = source.module({})
        self.axes: Mapping[str, int] = _axes_of(self.module)
        outputs = getattr(self.module, "OUTPUTS", ())
        if not isinstance(outputs, (tuple, list)) or not all(isinstance(name, str) for name in outputs):
            raise TaskError(f'{FILE}: OUTPUTS must be a tuple of names such as ("C",)')
        self.outputs: Sequence[str] = tuple(outputs)

    def build(self, axes: Axes) -> Built:
        return _NativeBuilt(self.module, dict(axes))


class _NativeBuilt:
    constants: frozenset[str] = frozenset()

    def __init__(self, module: ModuleType, axes: Axes) -> None:
        self.module, self.axes = module, axes

    def inputs(self, kind: str, seed: int, device: str, *, signed: bool) -> dict[str, Value]:
        generator = torch.Generator(device=device).manual_seed(seed)
        # Native data is as the user wrote it: only other kinds than "normal" replace it.
        with seeded(seed, device), Steered(kind, device, signed=False), blamed("inputs() fails"):
            made = self.module.inputs(dict(self.axes), generator=generator, device=device)
        if not isinstance(made, dict):
            raise TaskError(
                f"{FILE}: inputs() must return a dict of names and tensors, not {type(made).__name__}"
            )
        return {str(name): as_value(str(name), value, device) for name, value in made.items()}

    def call(self, values: Values) -> object:
        with blamed("reference() fails"):
            return self.module.reference(**values)

    def torch_form(self, values: Values) -> tuple[Callable[..., object], dict[str, Value]]:
        return self.module.reference, dict(values)


def _axes_of(module: ModuleType) -> dict[str, int]:
    axes = getattr(module, "AXES", {})
    ok = isinstance(axes, dict) and all(
        isinstance(name, str) and isinstance(size, int) and not isinstance(size, bool) and size > 0
        for name, size in axes.items()
    )
    if not ok:
        raise TaskError(f'{FILE}: AXES must map names to sizes, such as {{"M": 4096}}')
    return dict(axes)


class KernelBench:
    """`Model`, `get_inputs`, `get_init_inputs`, as published. Parameters and buffers become inputs."""

    name = "kernelbench"
    outputs: Sequence[str] = ()

    def __init__(self, source: Source) -> None:
        self.source = source
        self.axes: Mapping[str, int] = source.constants

    def build(self, axes: Axes) -> Built:
        return _ModelBuilt(self.source.module(axes), tuple(axes))


class _ModelBuilt:
    def __init__(self, module: ModuleType, axes: Iterable[str]) -> None:
        self.module = module
        self.model = self._new_model(0, "cpu")
        self.arguments: dict[str, str] = {}  # forward's own name -> input name
        for name in arguments(self.model):
            self.arguments[name] = unique(name, {*axes, *self.arguments.values()})
        self.names = weight_names(self.model, {*self.arguments.values(), *axes})
        self.constants = frozenset(self.names.values())

    def _new_model(self, seed: int, device: str) -> nn.Module:
        try:
            return self._made(seed, device)
        except TaskError as error:
            if "DataDependent" not in str(error):
                raise
            with unset_fake_temporarily():  # its constructor looks at numbers, which fakes do not have
                return self._made(seed, device)

    def _made(self, seed: int, device: str) -> nn.Module:
        with seeded(seed, device), torch.device(device), blamed("Model cannot be made"):
            init = self.module.get_init_inputs() if hasattr(self.module, "get_init_inputs") else []
            positional, named = init_arguments(init)
            model = self.module.Model(*positional, **named)
        if not isinstance(model, nn.Module):
            raise TaskError(f"{FILE}: Model is not a torch.nn.Module")
        register_plain_tensors(model)
        return model

    def inputs(self, kind: str, seed: int, device: str, *, signed: bool) -> dict[str, Value]:
        with seeded(seed, device), torch.device(device), blamed("get_inputs() fails"):
            with Steered(kind, device, signed=signed):
                made = self.module.get_inputs()
        if not isinstance(made, (list, tuple)):
            raise TaskError(f"{FILE}: get_inputs() must return a list, not {type(made).__name__}")
        values = {
            name: as_value(name, value, device)
            for name, value in zip(self._argument_names(len(made)), made, strict=True)
        }
        model = self._new_model(seed, device)
        with seeded(seed + 1, device):
            for path, tensor in weights(model):
                if path in self.names:
                    plain = tensor.detach().to(device)
                    values[self.names[path]] = unsettle(path, plain) if may_vary(model, path) else plain
        return values

    def _argument_names(self, count: int) -> list[str]:
        names = list(self.arguments.values())
        if count > len(names):
            raise TaskError(
                f"{FILE}: get_inputs() gives {count} values, but Model.forward takes {len(names)} arguments"
            )
        return names[:count]

    def call(self, values: Values) -> object:
        held = self._weights_from(values)
        given = [values[name] for name in self.arguments.values() if name in values]
        with blamed("Model.forward fails"):
            return torch.func.functional_call(self.model, held, tuple(given))

    def _weights_from(self, values: Values) -> dict[str, torch.Tensor]:
        """Every parameter and buffer: from `values`, else a copy of the model's own, so that none is changed."""
        tensors = [value for value in values.values() if isinstance(value, torch.Tensor)]
        floats = [value.dtype for value in tensors if value.is_floating_point()]
        double = bool(floats) and all(dtype is torch.float64 for dtype in floats)
        held: dict[str, torch.Tensor] = {}
        for path, own in weights(self.model):
            given = values.get(self.names.get(path, ""))
            tensor = given if isinstance(given, torch.Tensor) else own.detach()
            if given is None and tensors:
                tensor = tensor.to(tensors[0].device)
            if double and tensor.is_floating_point():
                tensor = tensor.double()
            held[path] = tensor.clone() if is_buffer(self.model, path) else tensor
        return held

    def torch_form(self, values: Values) -> tuple[Callable[..., object], dict[str, Value]]:
        model = copy.deepcopy(self.model)
        held = self._weights_from(values)
        model.to(
            next((v.device for v in values.values() if isinstance(v, torch.Tensor)), torch.device("cpu"))
        )
        model.load_state_dict(held, strict=False, assign=True)
        return model, {own: values[name] for own, name in self.arguments.items() if name in values}


def as_value(name: str, value: object, device: str) -> Value:
    """The value as an input of a kernel. TaskError for what none can take."""
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided or value.is_complex():
            raise TaskError(
                f"{FILE}: input {name} is a {value.layout} tensor of {value.dtype}; only dense real ones fit"
            )
        return value.detach().to(device)
    if isinstance(value, (bool, int, float)):
        return value
    raise TaskError(
        f"{FILE}: input {name} is a {type(value).__name__}; a kernel takes tensors, float, int and bool"
    )


def form_of(source: Source) -> Form:
    """The form that the names in the file tell. TaskError where neither is whole."""
    names = {getattr(node, "name", None) for node in source.tree.body}
    if {"reference", "inputs"} <= names:
        return Native(source)
    if {"Model", "get_inputs"} <= names:
        return KernelBench(source)
    missing = "inputs()" if "reference" in names else "get_inputs()" if "Model" in names else ""
    if missing:
        raise TaskError(f"{FILE} defines no {missing}")
    raise TaskError(
        f"{FILE} is no reference: define inputs() and reference(), or Model, get_inputs() and get_init_inputs()"
    )
