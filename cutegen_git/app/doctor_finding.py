"""One line of the doctor's table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class State(str, Enum):
    OK = "ok"
    NOTE = "note"  # works, with something to know
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one thing. Anything but OK says why it matters and what to do."""

    name: str
    state: State
    found: str  # version, place, or what is wrong
    matters: str = ""
    fix: str = ""  # the exact command or setting
