"""What an output is held against, and the arithmetic on bits that every comparison uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from cutegen_git.core.feedback.check import Mismatch
from cutegen_git.core.precision import MANTISSA_BITS, MIN_EXPONENT, Budget, Rule
from cutegen_git.judge.protocol import POISON
from cutegen_git.words.verdict import Outcome

# Elements looked at together: an output of gigabytes needs only a little memory beside itself.
CHUNK = 1 << 25
_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True, slots=True)
class Standard:
    """What one output is held against. Honest results are gone by now: what they allow is kept."""

    name: str
    dtype: str  # of the output, by its torch name
    want: torch.Tensor  # float64 reference for floats, the exact values for integers and bool (as uint8)
    rule: Rule
    scale: torch.Tensor | None = None  # DOT: sum of the absolute products behind each element
    budget: Budget | None = None  # DOT
    profile: torch.Tensor | None = None  # PROFILE: largest honest error by binade of the result
    share: float = (
        0.0  # 16-bit outputs: of torch's results that are correctly rounded; 0 where that says nothing
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


def share_of(got: torch.Tensor, want: torch.Tensor) -> float:
    """Of the elements, those that are the correctly rounded float64 result."""
    return float((got == want.to(got.dtype)).double().mean())


def ulp(want: torch.Tensor, dtype: str) -> torch.Tensor:
    """Distance between neighbouring numbers of `dtype` at each float64 value."""
    exponent = torch.frexp(want)[1].to(torch.float64) - 1
    return torch.exp2(exponent.clamp(min=MIN_EXPONENT[dtype]) - MANTISSA_BITS[dtype])


def chunks(got: torch.Tensor, standard: Standard) -> Iterator[tuple[slice, torch.Tensor, torch.Tensor]]:
    """(place, result in float64, expected in float64), flat."""
    flat, want = got.reshape(-1), standard.want.reshape(-1)
    for start in range(0, flat.numel(), CHUNK):
        part = slice(start, start + CHUNK)
        yield part, flat[part].to(torch.float64), expected(want[part], standard.dtype)


def expected(want: torch.Tensor, dtype: str) -> torch.Tensor:
    """The float64 reference, but infinite where the output's type is."""
    cast = want.to(getattr(torch, dtype)).to(torch.float64)
    return torch.where(torch.isfinite(cast), want, cast)
