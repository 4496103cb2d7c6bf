"""What the loop does next (design loop.md). A move is a value; doing it is `app.refine`."""

from __future__ import annotations

from dataclasses import dataclass

from .attempt import Label


@dataclass(frozen=True, slots=True)
class Generate:
    """Ask for the simplest correct kernel."""

    path: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Ask for the repair of a broken attempt, or of a reply that gave no patch."""

    broken: Label
    path: str
    nth: int  # 1 for the first repair in a row


@dataclass(frozen=True, slots=True)
class Optimise:
    """Ask for one idea on top of the best."""

    base: Label
    path: str


@dataclass(frozen=True, slots=True)
class Measure:
    """Have the judge look at an attempt."""

    attempt: Label
    why: str


@dataclass(frozen=True, slots=True)
class Advance:
    """Move path/<slug> forward to an attempt that beat its best, tag it, and merge it into main."""

    attempt: Label
    path: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be done here now; exit 0 and say for what."""

    why: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The run is over."""

    reason: str


Move = Generate | Fix | Optimise | Measure | Advance | Wait | Stop
