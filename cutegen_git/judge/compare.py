"""Compares one output with the float64 reference under a budget, and says where and how it is wrong.

Works in chunks, so that an output of several gigabytes needs only a little memory beside itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import gcd, sqrt

import torch

from cutegen_git.core.feedback.check import Element, Extent, Mismatch
from cutegen_git.core.precision import (
    CORRECT_SHARE,
    MANTISSA_BITS,
    MIN_EXPONENT,
    Budget,
    Errors,
    Method,
    Rule,
    dot_budget,
    kind_of_failure,
)
from cutegen_git.judge.protocol import POISON
from cutegen_git.words.verdict import Outcome

CHUNK = 1 << 25  # elements
_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_BINS = 2200  # binades of float64 with room, for one sign
_SHOWN = 4  # worst elements


@dataclass(frozen=True, slots=True)
class Standard:
    """What one output is held against."""

    name: str
    dtype: str  # of the output, by its torch name
    want: torch.Tensor  # float64 reference for floats, the exact values for integers and bool (as uint8)
    honest: Mapping[
        str, torch.Tensor
    ]  # results of honest forms: "eager" and "cpu" always among them where run
    rule: Rule
    scale: torch.Tensor | None = None  # DOT: sum of the absolute products
    naive: Errors = Errors(0.0, 0.0)  # DOT: errors of the naive form
    is_signed: bool = (
        True  # data with zero mean: only then do small errors say something about the arithmetic
    )


@dataclass(frozen=True, slots=True)
class Finding:
    """A refused output."""

    outcome: Outcome
    mismatch: Mismatch


@dataclass(frozen=True, slots=True)
class Inspection:
    """An output seen: refused or not, and how much of its budget it used."""

    finding: Finding | None
    used: float = 0.0  # error by budget; 1.0 is the limit


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as integers: comparisons that NaN cannot escape."""
    return tensor.contiguous().view(_INTEGERS[tensor.element_size()])


def same_bits(one: torch.Tensor, two: torch.Tensor) -> bool:
    return torch.equal(bits(one), bits(two))


def is_poison(tensor: torch.Tensor) -> torch.Tensor:
    """Elements that still hold the judge's fill."""
    size = tensor.element_size()
    if size == 1:  # one byte of the pattern proves nothing: elements count only where both neighbours agree
        return torch.zeros_like(tensor, dtype=torch.bool)
    value = int.from_bytes(POISON.to_bytes(2, "little") * (size // 2), "little", signed=True)
    return bits(tensor) == value


def ulp(want: torch.Tensor, dtype: str) -> torch.Tensor:
    """Distance between neighbouring numbers of `dtype` at each float64 value."""
    exponent = torch.frexp(want)[1].to(torch.float64) - 1
    return torch.exp2(exponent.clamp(min=MIN_EXPONENT[dtype]) - MANTISSA_BITS[dtype])


def inspect(got: torch.Tensor, standard: Standard) -> Inspection:
    """Whether an output may pass."""
    got = got.contiguous()
    if standard.dtype not in MANTISSA_BITS:
        return _inspect_exact(got, standard)
    strange = _strange(got, standard)
    if bool(strange.any()):
        return Inspection(_not_finite(got, strange, standard))
    found = _by_dot(got, standard) if standard.rule.method is Method.DOT else _by_profile(got, standard)
    if found.finding is None and got.element_size() == 2:
        return _by_share(got, standard, found)
    return found


def _inspect_exact(got: torch.Tensor, standard: Standard) -> Inspection:
    wrong = got != standard.want
    if not bool(wrong.any()):
        return Inspection(None)
    return Inspection(Finding(Outcome.WRONG_RESULT, _mismatch(got, wrong, standard)))


def _expected(want: torch.Tensor, dtype: str) -> torch.Tensor:
    """The float64 reference, but infinite where the output's type is."""
    cast = want.to(getattr(torch, dtype)).to(torch.float64)
    return torch.where(torch.isfinite(cast), want, cast)


def _strange(got: torch.Tensor, standard: Standard) -> torch.Tensor:
    """Elements whose NaN or infinity the reference does not have, or the other way round."""
    mask = torch.empty(got.shape, dtype=torch.bool, device=got.device)
    for part, g, w in _chunks(got, standard):
        same = (g == w) | (torch.isnan(g) & torch.isnan(w)) | (torch.isfinite(g) & torch.isfinite(w))
        mask.view(-1)[part] = ~same
    return mask


def _not_finite(got: torch.Tensor, strange: torch.Tensor, standard: Standard) -> Finding:
    mismatch = _mismatch(got, strange, standard)
    outcome = Outcome.WRONG_RESULT if mismatch.unwritten else Outcome.NON_FINITE_OUTPUT
    return Finding(outcome, mismatch)


def _by_dot(got: torch.Tensor, standard: Standard) -> Inspection:
    """Errors in units of the sum of absolute products, over all elements and at the worst."""
    honest = {name: dot_errors(result, standard, slack_ulp=0.0) for name, result in standard.honest.items()}
    budget = dot_budget(standard.rule, honest, standard.naive)
    found = dot_errors(got, standard, slack_ulp=0.0 if budget.exact else standard.rule.floor_ulp)
    if budget.allows(found):
        return Inspection(None, _used(found, budget))
    return Inspection(_refused_dot(got, standard, found, budget), _used(found, budget))


def _used(found: Errors, budget: Budget) -> float:
    return max(
        found.rms / budget.rms if budget.rms else 0.0, found.peak / budget.peak if budget.peak else 0.0
    )


def dot_errors(got: torch.Tensor, standard: Standard, *, slack_ulp: float) -> Errors:
    """`slack_ulp` of the output's own rounding are taken off first."""
    square = peak = 0.0
    for _, error in _scaled(got, standard, slack_ulp):
        square += float(error.square().sum())
        peak = max(peak, float(error.max()))
    return Errors(sqrt(square / max(1, got.numel())), peak)


def _scaled(got: torch.Tensor, standard: Standard, slack_ulp: float) -> Iterator[tuple[slice, torch.Tensor]]:
    assert standard.scale is not None
    for part, g, w in _chunks(got, standard):
        error = (g - w).abs()
        error = torch.where(torch.isfinite(error), error, torch.zeros_like(error))  # equal infinities
        error = (error - slack_ulp * ulp(w, standard.dtype)).clamp(min=0.0) if slack_ulp else error
        yield part, torch.where(error > 0, error / standard.scale.view(-1)[part], error)


def _refused_dot(got: torch.Tensor, standard: Standard, found: Errors, budget: Budget) -> Finding:
    # Where only the root mean square is over, the elements above it are shown.
    limit = budget.peak if found.peak > budget.peak else budget.rms
    wrong = torch.empty(got.shape, dtype=torch.bool, device=got.device)
    for part, error in _scaled(got, standard, standard.rule.floor_ulp):
        wrong.view(-1)[part] = ~(error <= limit)
    outcome = kind_of_failure(_relative_peak(got, standard))
    note = (
        f"error {found.rms:.2g} (worst {found.peak:.2g}) of the sum of absolute products; allowed"
        f" {budget.rms:.2g} (worst {budget.peak:.2g})"
    )
    return Finding(outcome, _mismatch(got, wrong, standard, note))


def _relative_peak(got: torch.Tensor, standard: Standard) -> float:
    """Largest error in units of the results' root mean square."""
    square, peak, count = 0.0, 0.0, 0
    for _, g, w in _chunks(got, standard):
        fine = torch.isfinite(w)
        square += float(torch.where(fine, w, torch.zeros_like(w)).square().sum())
        peak = max(peak, float(torch.where(fine, (g - w).abs(), torch.zeros_like(w)).max()))
        count += g.numel()
    rms = sqrt(square / max(1, count))
    return peak / rms if rms else float("inf")


def _bins(want: torch.Tensor) -> torch.Tensor:
    """Number of the binade of each value, negative ones apart."""
    exponent = torch.frexp(want)[1].to(torch.int64).clamp(-1090, 1090) + _BINS // 2
    return exponent + _BINS * (want < 0)


def _profile(standard: Standard) -> torch.Tensor:
    """Largest honest error in each binade of the result, spread over two binades either way."""
    profile = torch.zeros(2 * _BINS, dtype=torch.float64, device=standard.want.device)
    for result in standard.honest.values():
        for _, g, w in _chunks(result, standard):
            error = torch.nan_to_num((g - w).abs(), 0.0, 0.0)
            profile.scatter_reduce_(0, _bins(w), error, "amax")
    wide = torch.nn.functional.max_pool1d(profile.view(2, 1, _BINS), kernel_size=5, stride=1, padding=2)
    return wide.reshape(-1)


def _by_profile(got: torch.Tensor, standard: Standard) -> Inspection:
    """Each error against the honest errors of results of its own size and sign."""
    rule, profile = standard.rule, _profile(standard)
    torch_own = {name: result for name, result in standard.honest.items() if name in ("eager", "cpu")}
    if rule.exact_if_honest_is and bool((_profile(replace(standard, honest=torch_own)) == 0).all()):
        rule, profile = replace(rule, floor_ulp=0.0), torch.zeros_like(profile)
    wrong = torch.empty(got.shape, dtype=torch.bool, device=got.device)
    used = 0.0
    for part, g, w in _chunks(got, standard):
        error = torch.nan_to_num((g - w).abs(), 0.0, 0.0)
        allowed = rule.factor * profile[_bins(w)] + rule.floor_ulp * ulp(w, standard.dtype)
        wrong.view(-1)[part] = error > allowed
        used = max(used, float(torch.nan_to_num(error / allowed, 0.0, 0.0).max()))
    if not bool(wrong.any()):
        return Inspection(None, used)
    outcome = _profile_outcome(got, wrong, standard)
    note = f"the worst error is {used:.3g} times what is allowed for a result of that size" if used else ""
    return Inspection(Finding(outcome, _mismatch(got, wrong, standard, note)), used)


def _profile_outcome(got: torch.Tensor, wrong: torch.Tensor, standard: Standard) -> Outcome:
    """By the worst error relative to the element, or to a hundredth of the typical one where that is larger."""
    w = torch.nan_to_num(standard.want, 0.0, 0.0, 0.0)
    typical = float(w.square().mean().sqrt())
    error = torch.nan_to_num((got.to(torch.float64) - w).abs(), 0.0, 0.0)
    relative = torch.where(
        wrong, error / w.abs().clamp(min=0.01 * typical or 1e-300), torch.zeros_like(error)
    )
    return kind_of_failure(float(relative.max()))


def _by_share(got: torch.Tensor, standard: Standard, before: Inspection) -> Inspection:
    """16-bit outputs hide the arithmetic: the share that is correctly rounded shows it."""
    if not standard.is_signed:
        return before
    rounded = standard.want.to(got.dtype)
    right = float((got == rounded).double().mean())
    best = max((float((h == rounded).double().mean()) for h in standard.honest.values()), default=0.0)
    if right >= CORRECT_SHARE * best:
        return before
    note = (
        f"{right:.3f} of the results are correctly rounded, {best:.3f} of torch's: sums need more precision"
    )
    return Inspection(
        Finding(Outcome.PRECISION_DOWNGRADE, _mismatch(got, got != rounded, standard, note)), before.used
    )


def _chunks(got: torch.Tensor, standard: Standard) -> Iterator[tuple[slice, torch.Tensor, torch.Tensor]]:
    """(place, result in float64, expected in float64), flat."""
    flat, want = got.reshape(-1), standard.want.reshape(-1)
    for start in range(0, flat.numel(), CHUNK):
        part = slice(start, start + CHUNK)
        yield part, flat[part].to(torch.float64), _expected(want[part], standard.dtype)


def _mismatch(got: torch.Tensor, wrong: torch.Tensor, standard: Standard, note: str = "") -> Mismatch:
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
