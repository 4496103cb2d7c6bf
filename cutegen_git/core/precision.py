"""How much rounding error a kernel may have: the rules, without any tensor (design judge.md, section 4).

A budget is a multiple of the error that honest forms of the same computation have on the same data: torch eager,
torch on the CPU, the float64 reference with inputs moved by one ulp, and a naive summation. The factors below were
chosen so that every honest variant in tests/judge passes and every mutant is refused; change them only with those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from cutegen_git.words.task import Family
from cutegen_git.words.verdict import Outcome


class Method(str, Enum):
    """What the error of an element is measured against."""

    DOT = "dot"  # the sum of the absolute products behind it: sums of products cancel
    PROFILE = "profile"  # the honest error of results of its own size and sign


@dataclass(frozen=True, slots=True)
class Rule:
    """The budget of a family."""

    method: Method
    factor: float  # on the honest error: root mean square for DOT, largest of the binade for PROFILE
    peak_factor: float = 12.0  # on the largest honest error, DOT only: its tail is heavier than a normal one
    floor_ulp: float = 2.0  # of the output's type, allowed where honest forms round to the same number
    exact_if_honest_is: bool = False  # copies, maxima, ReLU: torch makes no error, so nobody may


_DOT = Rule(
    Method.DOT, 6.0
)  # 16384 products summed in order have 4 times the naive error; TF32 has 300 times
RULES: Mapping[Family, Rule] = {
    Family.MATMUL: _DOT,
    Family.CONV: _DOT,
    Family.ELEMENTWISE: Rule(Method.PROFILE, 4.0, exact_if_honest_is=True),
    Family.REDUCTION: Rule(Method.DOT, 6.0, exact_if_honest_is=True),
    Family.SOFTMAX: Rule(
        Method.PROFILE, 8.0
    ),  # the exp2 form errs more than torch at scale 30, as moved inputs do
    Family.NORM: Rule(Method.PROFILE, 16.0),  # Welford row by row needs 9; E[x^2]-m^2 at mean 100 has 100
    Family.ATTENTION: Rule(Method.PROFILE, 16.0),
    Family.LOSS: Rule(Method.PROFILE, 8.0),
    Family.SCAN: Rule(Method.PROFILE, 8.0),
    Family.MOVEMENT: Rule(Method.PROFILE, 1.0, floor_ulp=0.0, exact_if_honest_is=True),
    Family.FUSED: Rule(Method.PROFILE, 8.0),
    Family.OTHER: Rule(Method.PROFILE, 8.0),
}

# Distance from 1 to the next number, and bits of the significand after the point.
MANTISSA_BITS: Mapping[str, int] = {
    "float64": 52, "float32": 23, "float16": 10, "bfloat16": 7, "float8_e4m3fn": 3, "float8_e5m2": 2, "tf32": 10,
}  # fmt: skip
# Exponent of the smallest normal number: below it the spacing stays the same.
MIN_EXPONENT: Mapping[str, int] = {
    "float64": -1022, "float32": -126, "float16": -14, "bfloat16": -126, "float8_e4m3fn": -6, "float8_e5m2": -14,
}  # fmt: skip

TORCH_OWN = ("eager", "cpu")  # the honest forms that are torch itself: only they show that a result is exact
NAIVE_BLOCK = 1024  # the naive form sums in order within this many products, pairwise above
WRONG_AT = 0.1  # an error this large, in units of the results' root mean square, is no rounding
CORRECT_SHARE = 0.9  # of torch's share of correctly rounded 16-bit results


def ulp_of_one(dtype: str) -> float:
    """2^-23 for float32."""
    return float(2.0 ** -MANTISSA_BITS[dtype])


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors of one output on one set of data, in units of its scale."""

    rms: float
    peak: float


@dataclass(frozen=True, slots=True)
class Budget:
    """What Errors may be. `exact`: nothing but equality will do."""

    rms: float
    peak: float
    exact: bool = False

    def allows(self, errors: Errors) -> bool:
        """False for NaN too."""
        if self.exact:
            return errors.peak == 0
        return errors.rms <= self.rms and errors.peak <= self.peak


def dot_budget(rule: Rule, honest: Mapping[str, Errors], naive: Errors) -> Budget:
    """From the errors of the honest forms by name; `naive` is the naive summation's."""
    known = [*honest.values(), naive]
    torch_own = [errors for name, errors in honest.items() if name in TORCH_OWN]
    exact = rule.exact_if_honest_is and all(errors.peak == 0 for errors in torch_own)
    return Budget(
        rule.factor * max(errors.rms for errors in known),
        rule.peak_factor * max(errors.peak for errors in known),
        exact,
    )


def kind_of_failure(relative_peak: float) -> Outcome:
    """Plain wrong before imprecise: `relative_peak` is the largest error by the results' root mean square."""
    return Outcome.PRECISION_DOWNGRADE if relative_peak < WRONG_AT else Outcome.WRONG_RESULT
