"""What became of a claim <-> its line in refs/notes/cutegen/claim/<runner>, on the commit that the tag names.

    reproduced tag=h200/0007-0.96x claimed=0.9612 measured=0.9581 ci=0.955..0.961 ... runner=h200-lab at=… id=<hash>

The tag itself never moves; the newest line of a runner that counts says how the claim stands.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from enum import Enum

LINE_BYTES = 600
_PAIR = re.compile(r'([a-z_]+)=("(?:[^"\\]|\\.)*"|\S*)')
_BARE = re.compile(r"[^\s\"=][^\s\"]*")


class Fate(str, Enum):
    """What measuring again, or its owner, says of a claim."""

    REPRODUCED = "reproduced"
    REFUTED = "refuted"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class ClaimLine:
    """One line. Only a claim that was timed again has numbers."""

    fate: Fate
    tag: str  # short name
    of: str  # id of the verdict that the claim rests on
    verdict: str  # id of the new verdict; "" for a withdrawal
    judge: int
    at: int  # seconds since 1970, UTC
    runner: str
    claimed: float  # speedup
    measured: tuple[float, float, float] | None = None  # speedup with its interval
    why: str = ""  # one sentence for people


def render_line(line: ClaimLine) -> str:
    """The line, without a newline, at most 600 bytes: `why` is cut until it fits."""
    why = " ".join(line.why.split())
    while True:
        body = _body(line, why)
        text = f"{body} id={_hash(body)}"
        excess = len(text.encode()) - LINE_BYTES
        if excess <= 0 or not why:
            return text
        why = why[: max(0, len(why) - max(1, excess // 4) - 1)].rstrip()


def line_id(text: str) -> str:
    """The id that a line carries; "" if it carries none."""
    found = re.search(r" id=([0-9a-f]{12})$", text)
    return found[1] if found else ""


def parse_line(text: str) -> ClaimLine | None:
    """The record; None for a line that is damaged, of a later format, or altered after it was written."""
    body, _, claimed = text.strip().rpartition(" id=")
    if not body or _hash(body) != claimed:
        return None
    try:
        pairs = {
            key: json.loads(value) if value.startswith('"') else value for key, value in _PAIR.findall(body)
        }
        return ClaimLine(
            fate=Fate(body.split(" ", 1)[0]),
            tag=pairs["tag"],
            of=pairs["of"],
            verdict=pairs.get("verdict", ""),
            judge=int(pairs["judge"]),
            at=int(pairs["at"]),
            runner=pairs["runner"],
            claimed=float(pairs["claimed"]),
            measured=_measured(pairs) if "measured" in pairs else None,
            why=pairs.get("why", ""),
        )
    except (KeyError, ValueError):
        return None


def _body(line: ClaimLine, why: str) -> str:
    pairs = [("tag", line.tag), ("claimed", repr(line.claimed))]
    if line.measured:
        speedup, low, high = line.measured
        pairs += [("measured", repr(speedup)), ("ci", f"{low!r}..{high!r}")]
    pairs += [("why", why)] if why else []
    pairs += [("of", line.of)]
    pairs += [("verdict", line.verdict)] if line.verdict else []
    pairs += [("judge", str(line.judge)), ("at", str(line.at)), ("runner", line.runner)]
    return " ".join([line.fate.value, *(f"{key}={_quote(value)}" for key, value in pairs)])


def _measured(pairs: dict[str, str]) -> tuple[float, float, float]:
    low, _, high = pairs["ci"].partition("..")
    return float(pairs["measured"]), float(low), float(high)


def _quote(value: str) -> str:
    return value if _BARE.fullmatch(value) else json.dumps(value, ensure_ascii=False)


def _hash(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:12]
