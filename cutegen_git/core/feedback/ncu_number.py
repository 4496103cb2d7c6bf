"""Numbers and units as Nsight Compute prints them: any locale, any scaling, back to base units.

ncu groups digits by the locale of its user, so "151.938" is 152 or 151938 and only the rest of the report can
tell. A text that does not fit the format of its report is missing; it is never guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

_BLANK = " \u00a0\u2009\u202f'\u2019"  # group digits in some locales and are never a decimal mark
_PLAIN = re.compile(r"[-+]?([\d.,]+)(?:[eE][-+]?\d+)?")
_INSTANCES = re.compile(r"\s+\([^()]*\)$")  # "1,234 (600; 634)" of --print-metric-instances

_TIME_NS = {
    **dict.fromkeys(("ns", "nsecond"), Decimal(1)),
    **dict.fromkeys(("us", "usecond", "\u00b5s", "\u03bcs"), Decimal(10) ** 3),
    **dict.fromkeys(("ms", "msecond"), Decimal(10) ** 6),
    **dict.fromkeys(("s", "second", "sec"), Decimal(10) ** 9),
}
_NOUN = re.compile(
    r"(?:([kKMGTP])(i?))?(byte|hz|cycle|inst|sector|request|warp|thread|block|B)s?", re.IGNORECASE
)
_PREFIX = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}


def decimal_mark(numbers: Iterable[tuple[str, str]]) -> str:
    """The mark, "." or ",", that starts the fraction in a whole report of (text, unit) pairs."""
    sure = {".": 0, ",": 0}
    likely = {".": 0, ",": 0}
    for text, unit in numbers:
        digits = _PLAIN.fullmatch(_core(text).translate(dict.fromkeys(map(ord, _BLANK))))
        if digits:
            mark, is_sure = _vote(digits[1], unit)
            if mark:
                (sure if is_sure else likely)[mark] += 1
    votes = sure if sure["."] != sure[","] else likely
    return "," if votes[","] > votes["."] else "."


def _vote(digits: str, unit: str) -> tuple[str, bool]:
    """The decimal mark that one number speaks for ("" for none), and whether it leaves no doubt."""
    dots, commas = digits.count("."), digits.count(",")
    if not dots and not commas:
        return "", False
    if dots and commas:
        return max(".,", key=digits.rfind), True
    mark, other = (".", ",") if dots else (",", ".")
    if max(dots, commas) > 1:
        return other, True
    head, tail = digits.split(mark)
    if len(tail) != 3 or head in ("", "0") or len(head) > 3:
        return mark, True
    # ncu prints whole nanoseconds, bytes and counts without a fraction; 1000 % and more hardly occurs.
    return (mark if unit == "%" else other), False


def parse(text: str, mark: str) -> Decimal | None:
    """The number, or None for n/a, nan, inf, no data, words, and digits grouped as no locale does."""
    group = f"[{_BLANK}{',' if mark == '.' else '.'}]"
    whole = rf"\d{{1,3}}(?:{group}\d{{2,3}})*{group}\d{{3}}|\d+"
    found = re.fullmatch(
        rf"([-+]?)({whole}|(?={re.escape(mark)}\d))(?:{re.escape(mark)}(\d*))?([eE][-+]?\d+)?", _core(text)
    )
    if not found:
        return None
    sign, head, tail, exponent = found.groups()
    return Decimal(f"{sign}{re.sub(r'[^0-9]', '', head) or '0'}.{tail or '0'}{exponent or ''}")


def _core(text: str) -> str:
    return _INSTANCES.sub("", text.strip())


def to_base(number: Decimal, unit: str) -> tuple[float, str]:
    """The number in ns, byte, hz or plain counts, and the name of that unit; percent stays percent."""
    head, _, per = unit.strip().partition("/")
    factor, base = _scale(head)
    if per in _TIME_NS:
        factor, per = factor * _TIME_NS["s"] / _TIME_NS[per], "s"
    name = f"{base}/{per}" if per else base
    return float(number * factor), "hz" if name == "cycle/s" else name


def _scale(head: str) -> tuple[Decimal, str]:
    if head in _TIME_NS:
        return _TIME_NS[head], "ns"
    found = _NOUN.fullmatch(head)
    if not found:
        return Decimal(1), head
    prefix, binary, noun = (part or "" for part in found.groups())
    power = _PREFIX[prefix.upper()]
    return Decimal(1024 if binary else 1000) ** power, "byte" if noun in "bB" else noun.lower()
