"""An honest form that nobody would call clever: torch's own computation with every sum taken in order.

Sums and products run in float32, one term after the other within NAIVE_BLOCK terms and pairwise above, as a plain
kernel does it. Operations that torch fuses (softmax, norms) are taken apart first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import torch
from torch._decomp import get_decompositions
from torch.utils._python_dispatch import TorchDispatchMode

from cutegen_git.core.precision import NAIVE_BLOCK

LIMIT = 1 << 26  # partial sums at a time: beyond, torch's own operation is used
_aten = torch.ops.aten
_Operation = Callable[..., Any]
_FUSED = (
    _aten._softmax, _aten._log_softmax, _aten.logsumexp, _aten.native_layer_norm, _aten.native_group_norm,
    _aten.native_batch_norm, _aten.var, _aten.var_mean, _aten.std, _aten.mse_loss, _aten.linalg_vector_norm,
    _aten.binary_cross_entropy, _aten.huber_loss, _aten.smooth_l1_loss, _aten.addmm, _aten.baddbmm, _aten.addmv,
    _aten.dot, _aten.mv,
)  # fmt: skip
_APART: Mapping[Any, _Operation] = get_decompositions(_FUSED)


class Naive(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Inside, sums are taken in order."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        own = _OWN.get(func)
        if own is not None and args[0].is_floating_point():
            found = own(*args, **kwargs)
            return func(*args, **kwargs) if found is None else found
        if func in _APART:
            with self:
                return _APART[func](*args, **kwargs)
        return func(*args, **kwargs)


def in_order(terms: torch.Tensor) -> torch.Tensor:
    """Sums over the last dimension of (rows, terms), in float32: (rows,)."""
    rows, count = terms.shape
    blocks = -(-count // NAIVE_BLOCK)
    if not count:
        return torch.zeros(rows, device=terms.device)
    width = min(count, NAIVE_BLOCK)
    padded = torch.nn.functional.pad(terms.float(), (0, blocks * width - count))
    columns = padded.reshape(rows * blocks, width).t().contiguous()
    total = torch.zeros(rows * blocks, device=terms.device)
    for column in columns:
        total = total + column
    return _pairwise(total.reshape(rows, blocks))


def _pairwise(parts: torch.Tensor) -> torch.Tensor:
    while parts.shape[1] > 1:
        if parts.shape[1] % 2:
            parts = torch.nn.functional.pad(parts, (0, 1))
        parts = parts[:, ::2] + parts[:, 1::2]
    return parts[:, 0]


def _sum_all(x: torch.Tensor, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    return in_order(x.reshape(1, -1))[0].to(dtype or x.dtype)


def _sum(
    x: torch.Tensor,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    dims = sorted(d % x.ndim for d in (dim or range(x.ndim))) if x.ndim else []
    kept = [d for d in range(x.ndim) if d not in dims]
    rows = x.permute(*kept, *dims).reshape(prod(x.shape[d] for d in kept), -1)
    shape = [1 if d in dims else x.shape[d] for d in range(x.ndim)] if keepdim else [x.shape[d] for d in kept]
    return in_order(rows).reshape(shape).to(dtype or x.dtype)


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor | None:
    """(…, M, K) times (…, K, N); None where it would take too much memory."""
    count = a.shape[-1]
    blocks = max(1, -(-count // NAIVE_BLOCK))
    size = prod(a.shape[:-1]) * b.shape[-1]
    if size * blocks > LIMIT or not count:
        return None
    parts = []
    for left, right in zip(_blocks(a, -1), _blocks(b, -2), strict=True):
        total = torch.zeros(*a.shape[:-1], b.shape[-1], device=a.device)
        for k in range(left.shape[-1]):
            total = torch.addcmul(total, left[..., k : k + 1], right[..., k : k + 1, :])
        parts.append(total.reshape(-1))
    return _pairwise(torch.stack(parts, 1)).reshape(*a.shape[:-1], b.shape[-1]).to(a.dtype)


def _blocks(x: torch.Tensor, dim: int) -> tuple[torch.Tensor, ...]:
    return torch.split(x.float(), NAIVE_BLOCK, dim)


def _mean_all(x: torch.Tensor, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    return (in_order(x.reshape(1, -1))[0] / x.numel()).to(dtype or x.dtype)


def _mean(
    x: torch.Tensor,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    total = _sum(x, dim, keepdim, dtype=torch.float32)
    return (total / (x.numel() / max(1, total.numel()))).to(dtype or x.dtype)


_OWN: Mapping[Any, _Operation] = {
    _aten.sum.default: _sum_all,
    _aten.sum.dim_IntList: _sum,
    _aten.mean.default: _mean_all,
    _aten.mean.dim: _mean,
    _aten.mm.default: _product,
    _aten.bmm.default: _product,
}
