"""Sums of products: errors in units of the sum of absolute products, over all elements and at the worst."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import sqrt

import torch

from cutegen_git.core.precision import Budget, Errors, dot_budget, kind_of_failure
from cutegen_git.judge.places import mismatch_of
from cutegen_git.judge.standard import Finding, Inspection, Standard, chunks, ulp


def by_dot(got: torch.Tensor, standard: Standard) -> Inspection:
    """Against the budget, over all elements and at the worst."""
    budget = standard.budget
    assert budget is not None
    found = dot_errors(got, standard, slack_ulp=0.0 if budget.exact else standard.rule.floor_ulp)
    if budget.allows(found):
        return Inspection(None, _used(found, budget))
    return Inspection(_refused_dot(got, standard, found, budget), _used(found, budget))


def budget_of(standard: Standard, honest: Mapping[str, torch.Tensor], naive: Errors) -> Budget:
    """What the honest forms' errors allow; `standard` needs want and scale only."""
    errors = {name: dot_errors(result, standard, slack_ulp=0.0) for name, result in honest.items()}
    return dot_budget(standard.rule, errors, naive)


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
    for part, g, w in chunks(got, standard):
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
    return Finding(outcome, mismatch_of(got, wrong, standard, note))


def _relative_peak(got: torch.Tensor, standard: Standard) -> float:
    """Largest error in units of the results' root mean square."""
    square, peak, count = 0.0, 0.0, 0
    for _, g, w in chunks(got, standard):
        fine = torch.isfinite(w)
        square += float(torch.where(fine, w, torch.zeros_like(w)).square().sum())
        peak = max(peak, float(torch.where(fine, (g - w).abs(), torch.zeros_like(w)).max()))
        count += g.numel()
    rms = sqrt(square / max(1, count))
    return peak / rms if rms else float("inf")
