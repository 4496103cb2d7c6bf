"""What a KernelBench Model holds: its arguments, its weights, and names for them that may stand in C++."""

from __future__ import annotations

import inspect

import torch
from torch import nn

from cutegen_git.core.taskfile_signature import usable_name
from cutegen_git.judge.reference_source import FILE
from cutegen_git.words.errors import TaskError


def init_arguments(init: object) -> tuple[list[object], dict[str, object]]:
    """KernelBench gives a list; some files give [args, kwargs]."""
    if not isinstance(init, (list, tuple)):
        raise TaskError(f"{FILE}: get_init_inputs() must return a list, not {type(init).__name__}")
    if len(init) == 2 and isinstance(init[0], list) and isinstance(init[1], dict):
        return list(init[0]), dict(init[1])
    return list(init), {}


def arguments(model: nn.Module) -> list[str]:
    """Names of forward's positional parameters, as they may stand in C++."""
    names: list[str] = []
    for name, parameter in inspect.signature(model.forward).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{name}{nth}" for nth in range(16)]
        elif parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            names.append(name)
    return names


def weights(model: nn.Module) -> list[tuple[str, torch.Tensor]]:
    return [*model.named_parameters(), *model.named_buffers()]


def is_buffer(model: nn.Module, path: str) -> bool:
    owner, _, name = path.rpartition(".")
    return name in model.get_submodule(owner)._buffers


def may_vary(model: nn.Module, path: str) -> bool:
    """A buffer is what the file says (a mask, a table), but for the running figures of a norm."""
    return not is_buffer(model, path) or path.endswith(("running_mean", "running_var"))


def weight_names(model: nn.Module, taken: set[str]) -> dict[str, str]:
    """Path -> input name of every weight that the forward reads."""
    names: dict[str, str] = {}
    used = set(taken)
    for path, _ in weights(model):
        owner, _, leaf = path.rpartition(".")
        module = model.get_submodule(owner)
        counts = leaf == "num_batches_tracked"
        only_written = leaf in ("running_mean", "running_var") and module.training
        if counts or only_written:
            continue
        names[path] = unique(path.replace(".", "_"), used)
        used.add(names[path])
    return names


def unique(name: str, taken: set[str]) -> str:
    name = name.strip("_") or "x"
    while "__" in name:
        name = name.replace("__", "_")
    while name in taken or not usable_name(name):
        name = f"{name}_in" if usable_name(f"{name}_in") else f"x_{name}"
    return name


def register_plain_tensors(model: nn.Module) -> None:
    """Tensors kept as plain attributes become buffers: a kernel needs them as inputs, and they must move along."""
    for module in model.modules():
        for name, value in list(vars(module).items()):
            if isinstance(value, torch.Tensor):
                delattr(module, name)
                module.register_buffer(name, value)
