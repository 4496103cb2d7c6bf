"""Where the wrong elements of an output lie, for the model."""

from __future__ import annotations

from math import gcd

import torch

from cutegen_git.core.feedback.check import Element, Extent, Mismatch
from cutegen_git.judge.standard import Standard, is_poison

_SHOWN = 4  # worst elements


def mismatch_of(got: torch.Tensor, wrong: torch.Tensor, standard: Standard, note: str = "") -> Mismatch:
    unwritten = is_poison(got).view(got.shape) & wrong
    is_float = got.is_floating_point()
    nan = int((wrong & ~torch.isfinite(got)).sum()) if is_float else 0
    return Mismatch(
        output=standard.name,
        wrong=int(wrong.sum()),
        total=got.numel(),
        nan=nan,
        unwritten=int(unwritten.sum()),
        worst=_worst(got, wrong, standard),
        extents=tuple(_extent(wrong, dimension) for dimension in range(wrong.ndim)),
        note=note,
    )


def _worst(got: torch.Tensor, wrong: torch.Tensor, standard: Standard) -> tuple[Element, ...]:
    """The largest errors first; NaN counts as the largest."""
    g, w = got.reshape(-1), standard.want.reshape(-1)
    places = torch.nonzero(wrong.reshape(-1)).flatten()[: 1 << 22]
    error = torch.nan_to_num((g[places].to(torch.float64) - w[places].to(torch.float64)).abs(), float("inf"))
    order = torch.topk(error, min(_SHOWN, len(places))).indices
    chosen = sorted(int(places[i]) for i in order)
    return tuple(Element(_index(place, got.shape), float(g[place]), float(w[place])) for place in chosen)


def _index(place: int, shape: torch.Size) -> tuple[int, ...]:
    index = []
    for size in reversed(shape):
        place, position = divmod(place, size)
        index.append(position)
    return tuple(reversed(index))


def _extent(wrong: torch.Tensor, dimension: int) -> Extent:
    others = [d for d in range(wrong.ndim) if d != dimension]
    line = wrong.any(dim=others) if others else wrong
    places = [int(p) for p in torch.nonzero(line).flatten().tolist()]
    step = 0
    for one, two in zip(places, places[1:], strict=False):
        step = gcd(step, two - one)
    return Extent(wrong.shape[dimension], places[0], places[-1], len(places), step or 1)
