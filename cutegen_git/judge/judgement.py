"""What the judge says of one kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cutegen_git.words.verdict import Outcome, Timing


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the judge found. `samples` decide `timing` again by `core.stats.decide`."""

    outcome: Outcome
    why: str = ""  # one sentence; "" when passed
    feedback: str = ""  # lines for the model
    timing: Timing | None = None
    samples: Mapping[str, Sequence[int]] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)  # phase -> wall seconds
    facts: Mapping[str, str] = field(default_factory=dict)  # for a claim's reader
