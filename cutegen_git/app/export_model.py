"""What an export must know of the torch reference: its form, what it returns, and where a model keeps its weights."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol, cast

from cutegen_git.words.errors import TaskError
from cutegen_git.words.task import Axes, Task

_SENTINELS = (
    10007,
    20011,
)  # sizes that no reference states by chance: one set each, counted up by primes' gaps
_PLAIN = (int, float, bool, str, type(None))


@dataclass(frozen=True, slots=True)
class Model:
    """A reference in KernelBench's form."""

    arguments: tuple[str, ...]  # names of forward's arguments, as inputs of the kernel
    weights: Mapping[str, str]  # input -> path in the module: "conv.weight"
    init: str  # the constructor's arguments as Python over the sizes `s`
    mode_matters: bool  # train() and eval() give different results


@dataclass(frozen=True, slots=True)
class ReferenceFacts:
    """What was learnt by running the reference once, at the smallest workload."""

    returns: str  # "tensor", "tuple", "list"
    model: Model | None  # None: inputs() and reference()


def reference_facts(source: bytes, task: Task) -> ReferenceFacts:
    """TaskError where torch is missing or the reference does not run."""
    try:
        import torch

        from cutegen_git.judge import reference
    except ImportError:
        raise TaskError("export runs the reference once: pip install 'cutegen-git[judge]'") from None
    loaded = reference.load(source, task)
    axes = min((workload.axes for workload in task.workloads), key=lambda sizes: prod(sizes.values()))
    call, values = loaded.torch_form(loaded.inputs(axes, seed=1), axes)
    is_model = loaded.form == "kernelbench"
    with torch.no_grad():
        result = call(*values.values()) if is_model else call(**values)
        returns = "list" if isinstance(result, list) else "tuple" if isinstance(result, tuple) else "tensor"
        if not is_model:
            return ReferenceFacts(returns, None)
        assert isinstance(call, torch.nn.Module)
        again = call.eval()(*values.values())
    same = all(map(torch.equal, *(_flat(item) for item in (result, again))))
    return ReferenceFacts(returns, _model(source, task, tuple(values), axes, mode_matters=not same))


def _flat(result: object) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


class _Built(Protocol):
    """What judge.reference_forms knows of a Model."""

    names: Mapping[str, str]  # path -> input
    arguments: Mapping[str, str]  # forward's own name -> input


def _model(source: bytes, task: Task, given: tuple[str, ...], axes: Axes, *, mode_matters: bool) -> Model:
    from cutegen_git.judge.reference_forms import form_of
    from cutegen_git.judge.reference_source import read

    built = cast(_Built, form_of(read(source)).build(axes))
    inputs = {item.name for item in task.signature.inputs}
    weights = {name: path for path, name in built.names.items() if name in inputs}
    arguments = tuple(built.arguments[name] for name in given)
    if set(arguments) | set(weights) != inputs:
        raise TaskError("the inputs of task.toml are not those of Model.forward and its weights")
    return Model(arguments, weights, _init(source, task), mode_matters)


def _init(source: bytes, task: Task) -> str:
    """The constructor's arguments: numbers, and axes where they follow an axis; else a table of what was verified."""
    sentinels = [
        {axis: start + 2 * nth for nth, axis in enumerate(task.signature.axes)} for start in _SENTINELS
    ]
    try:
        one, two = (_bound(source, axes) for axes in sentinels)
        found = _pattern(one, two, *sentinels)
    except TaskError:
        found = None
    if found is not None:
        return found
    rows = [
        f"{tuple(workload.axes.values())!r}: {_plain(_bound(source, workload.axes))!r}"
        for workload in task.workloads
    ]
    return f"{{{', '.join(rows)}}}.get(tuple(s.values()))"


def _bound(source: bytes, axes: Axes) -> dict[str, object]:
    """What get_init_inputs() gives at these sizes, by the name of Model's parameter, defaults included."""
    from cutegen_git.judge.reference_source import blamed, read

    module = read(source).module(axes)
    with blamed("get_init_inputs() fails"):
        made = list(module.get_init_inputs()) if hasattr(module, "get_init_inputs") else []
        named: dict[str, Any] = {}
        if len(made) == 2 and isinstance(made[0], list) and isinstance(made[1], dict):
            made, named = made
        bound = inspect.signature(module.Model).bind(*made, **named)
        bound.apply_defaults()
    return dict(bound.arguments)


def _pattern(one: object, two: object, first: Axes, second: Axes) -> str | None:
    """The text that gives `one` at the first sizes and `two` at the second."""
    if type(one) is not type(two):
        return None
    if isinstance(one, dict) and isinstance(two, dict) and one.keys() == two.keys():
        items = {key: _pattern(one[key], two[key], first, second) for key in one}
        texts = [f"{key!r}: {text}" for key, text in items.items()]
        return None if None in items.values() else f"{{{', '.join(texts)}}}"
    if isinstance(one, (list, tuple)) and isinstance(two, (list, tuple)) and len(one) == len(two):
        words = [_pattern(a, b, first, second) for a, b in zip(one, two, strict=True)]
        if None in words:
            return None
        inner = ", ".join(map(str, words))
        return f"[{inner}]" if isinstance(one, list) else f"({inner}{',' if len(words) == 1 else ''})"
    if isinstance(one, _PLAIN) and one == two:
        return repr(one)
    return _follows(one, two, first, second)


def _follows(one: object, two: object, first: Axes, second: Axes) -> str | None:
    if not isinstance(one, int) or not isinstance(two, int):
        return None
    for axis in first:
        if (one, two) == (first[axis], second[axis]):
            return f"s[{axis!r}]"
        if one % first[axis] == 0 and one // first[axis] * second[axis] == two:
            return f"{one // first[axis]} * s[{axis!r}]"
    return None


def _plain(value: object) -> object:
    """TaskError for what cannot be written into a file."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(item) for item in value)
    if not isinstance(value, _PLAIN):
        raise TaskError(f"Model is made with a {type(value).__name__}, which an exported file cannot repeat")
    return value
