"""Compares one output with its standard: written at all, finite, exact or within the budget."""

from __future__ import annotations

import torch

from cutegen_git.core.precision import CORRECT_SHARE, MANTISSA_BITS, Method
from cutegen_git.judge.dots import by_dot
from cutegen_git.judge.places import mismatch_of
from cutegen_git.judge.profiles import by_profile
from cutegen_git.judge.standard import Finding, Inspection, Standard, chunks, share_of
from cutegen_git.words.verdict import Outcome

__all__ = ["Inspection", "Standard", "inspect"]


def inspect(got: torch.Tensor, standard: Standard) -> Inspection:
    """Whether an output may pass."""
    got = got.contiguous()
    if standard.dtype not in MANTISSA_BITS:
        return _inspect_exact(got, standard)
    strange = _strange(got, standard)
    if bool(strange.any()):
        return Inspection(_not_finite(got, strange, standard))
    found = by_dot(got, standard) if standard.rule.method is Method.DOT else by_profile(got, standard)
    if found.finding is None and got.element_size() == 2:
        return _by_share(got, standard, found)
    return found


def _inspect_exact(got: torch.Tensor, standard: Standard) -> Inspection:
    wrong = got != standard.want
    if not bool(wrong.any()):
        return Inspection(None)
    return Inspection(Finding(Outcome.WRONG_RESULT, mismatch_of(got, wrong, standard)))


def _strange(got: torch.Tensor, standard: Standard) -> torch.Tensor:
    """Elements whose NaN or infinity the reference does not have, or the other way round."""
    mask = torch.empty(got.shape, dtype=torch.bool, device=got.device)
    for part, g, w in chunks(got, standard):
        same = (g == w) | (torch.isnan(g) & torch.isnan(w)) | (torch.isfinite(g) & torch.isfinite(w))
        mask.view(-1)[part] = ~same
    return mask


def _not_finite(got: torch.Tensor, strange: torch.Tensor, standard: Standard) -> Finding:
    mismatch = mismatch_of(got, strange, standard)
    outcome = Outcome.WRONG_RESULT if mismatch.unwritten else Outcome.NON_FINITE_OUTPUT
    return Finding(outcome, mismatch)


def _by_share(got: torch.Tensor, standard: Standard, before: Inspection) -> Inspection:
    """16-bit outputs hide the arithmetic: the share that is correctly rounded shows it."""
    if not standard.share:
        return before
    right = share_of(got, standard.want)
    if right >= CORRECT_SHARE * standard.share:
        return before
    note = (
        f"{right:.3f} of the results are correctly rounded, {standard.share:.3f} of torch's: sums need more"
        " precision"
    )
    wrong = got != standard.want.to(got.dtype)
    return Inspection(
        Finding(Outcome.PRECISION_DOWNGRADE, mismatch_of(got, wrong, standard, note)), before.used
    )
