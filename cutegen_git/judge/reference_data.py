"""The data that a reference makes, steered without touching its file.

A KernelBench file fills its inputs with `torch.rand`. On positive data a sum of products in low precision looks
exact (design judge.md, section 4), so the random factories are replaced while the inputs are made. What the file
does with the numbers afterwards (softmax, triu, scaling) still happens.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.overrides import TorchFunctionMode

KINDS = ("normal", "uniform", "large", "tiny")
LARGE, LARGE_16BIT, TINY = 30.0, 8.0, 1e-3  # factors on standard normal data
_Factory = Callable[..., torch.Tensor]
_LIKE: Mapping[_Factory, _Factory] = {torch.rand: torch.randn, torch.rand_like: torch.randn_like}
_BACK: Mapping[_Factory, _Factory] = {normal: uniform for uniform, normal in _LIKE.items()}


class Steered(TorchFunctionMode):
    """Inside, torch.rand and torch.randn give the kind of data asked for, on the device asked for."""

    def __init__(self, kind: str, device: str, *, signed: bool) -> None:
        super().__init__()
        self.kind, self.device, self.signed = kind, device, signed

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if kwargs.get("device") is not None and torch.device(kwargs["device"]).type == "cuda":
            kwargs["device"] = self.device  # a file that says device="cuda" runs on a CPU too
        if func not in _LIKE and func not in _BACK:
            return func(*args, **kwargs)
        return self._fill(func, args, kwargs)

    def _fill(
        self, func: Callable[..., torch.Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> torch.Tensor:
        if self.kind == "normal":
            return (_LIKE.get(func, func) if self.signed else func)(*args, **kwargs)
        if self.kind == "uniform":
            return _BACK.get(func, func)(*args, **kwargs)
        data: torch.Tensor = _LIKE.get(func, func)(*args, **kwargs)
        if self.kind == "tiny":
            return data * TINY
        return data * (LARGE if data.element_size() >= 4 else LARGE_16BIT)


@contextlib.contextmanager
def seeded(seed: int, device: str) -> Iterator[None]:
    """Inside, every global source of random numbers starts from `seed`; outside, nothing has changed."""
    place = torch.device(device)
    devices = [place.index or 0] if place.type == "cuda" else []
    state = random.getstate()
    try:
        with torch.random.fork_rng(devices=devices):
            torch.manual_seed(seed)
            random.seed(seed)
            yield
    finally:
        random.setstate(state)


def unsettle(name: str, value: torch.Tensor) -> torch.Tensor:
    """A parameter that is the same everywhere (a fresh norm's ones and zeros), so varied that ignoring it shows."""
    if not value.is_floating_point() or value.numel() == 0 or isinstance(value, FakeTensor):
        return value
    first = value.flatten()[0]
    if not bool((value == first).all()):
        return value
    if name.endswith("running_var") or float(first) != 0.0:
        base = float(first) or 1.0
        return base * (0.5 + torch.rand_like(value))
    return 0.5 * torch.randn_like(value)


class Doubled(TorchFunctionMode):
    """Inside, every floating dtype that the reference names is float64: casts down would hide its exact result."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in (torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16):
            return args[0].double()
        raised = {key: _double(value) for key, value in (kwargs or {}).items()}
        return func(*(_double(value) for value in args), **raised)


def _double(value: object) -> object:
    if isinstance(value, torch.dtype) and value.is_floating_point:
        return torch.float64
    return value


@contextlib.contextmanager
def exact_float32() -> Iterator[None]:
    """Inside, float32 products use no TF32; the process's settings come back afterwards."""
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = (matmul.allow_tf32, cudnn.allow_tf32)
    matmul.allow_tf32 = cudnn.allow_tf32 = False
    try:
        with torch.no_grad():
            yield
    finally:
        matmul.allow_tf32, cudnn.allow_tf32 = before
