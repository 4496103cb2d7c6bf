"""Everything else: each error against the honest errors of results of its own size and sign."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from cutegen_git.core.precision import TORCH_OWN, kind_of_failure
from cutegen_git.judge.places import mismatch_of
from cutegen_git.judge.standard import Finding, Inspection, Standard, chunks, ulp
from cutegen_git.words.verdict import Outcome

_BINS = 2200  # binades of float64 with room, for one sign


def _bins(want: torch.Tensor) -> torch.Tensor:
    """Number of the binade of each value, negative ones apart."""
    exponent = torch.frexp(want)[1].to(torch.int64).clamp(-1090, 1090) + _BINS // 2
    return exponent + _BINS * (want < 0)


def profile_of(standard: Standard, honest: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """Largest honest error in each binade of the result, spread over two binades either way.

    All zeros where the rule wants exactness and torch's own results are exact.
    """
    profile = torch.zeros(2 * _BINS, dtype=torch.float64, device=standard.want.device)
    is_exact = standard.rule.exact_if_honest_is
    for name, result in honest.items():
        for _, g, w in chunks(result, standard):
            error = torch.nan_to_num((g - w).abs(), 0.0, 0.0)
            is_exact = is_exact and (name not in TORCH_OWN or not bool(error.any()))
            profile.scatter_reduce_(0, _bins(w), error, "amax")
    if is_exact:
        return torch.zeros_like(profile)
    wide = torch.nn.functional.max_pool1d(profile.view(2, 1, _BINS), kernel_size=5, stride=1, padding=2)
    return wide.reshape(-1)


def by_profile(got: torch.Tensor, standard: Standard) -> Inspection:
    """Each error against the honest errors of results of its own size and sign."""
    rule, profile = standard.rule, standard.profile
    assert profile is not None
    is_exact = rule.exact_if_honest_is and not bool(profile.any())
    floor_ulp = 0.0 if is_exact else rule.floor_ulp
    wrong = torch.empty(got.shape, dtype=torch.bool, device=got.device)
    used = 0.0
    for part, g, w in chunks(got, standard):
        error = torch.nan_to_num((g - w).abs(), 0.0, 0.0)
        allowed = rule.factor * profile[_bins(w)] + floor_ulp * ulp(w, standard.dtype)
        wrong.view(-1)[part] = error > allowed
        used = max(used, float(torch.nan_to_num(error / allowed, 0.0, 0.0).max()))
    if not bool(wrong.any()):
        return Inspection(None, used)
    outcome = _profile_outcome(got, wrong, standard)
    note = f"the worst error is {used:.3g} times what is allowed for a result of that size" if used else ""
    return Inspection(Finding(outcome, mismatch_of(got, wrong, standard, note)), used)


def _profile_outcome(got: torch.Tensor, wrong: torch.Tensor, standard: Standard) -> Outcome:
    """By the worst error relative to the element, or to a hundredth of the typical one where that is larger."""
    w = torch.nan_to_num(standard.want, 0.0, 0.0, 0.0)
    typical = float(w.square().mean().sqrt())
    error = torch.nan_to_num((got.to(torch.float64) - w).abs(), 0.0, 0.0)
    relative = torch.where(
        wrong, error / w.abs().clamp(min=0.01 * typical or 1e-300), torch.zeros_like(error)
    )
    return kind_of_failure(float(relative.max()))
