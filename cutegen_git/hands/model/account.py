"""What one question has used so far: every request, and the money and tokens of those that were answered."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from cutegen_git.core.transcript import Call
from cutegen_git.words.attempt import Spend


@dataclass(frozen=True, slots=True)
class Account:
    """Grows by one `Call` a request; `spend` sums up the answered ones."""

    started_s: float  # monotonic
    calls: tuple[Call, ...] = ()
    spend: Spend | None = None  # None until a request has been answered

    def seconds(self) -> float:
        return time.monotonic() - self.started_s

    def answered(self) -> int:
        return sum(not call.trouble for call in self.calls)

    def failed(self, call: Call) -> Account:
        """With a request that gave no reply."""
        return replace(self, calls=(*self.calls, call))

    def paid(self, at_s: int, seconds: float, spend: Spend) -> Account:
        """With an answered request."""
        call = Call(at_s, seconds, 200, _sum(spend.tokens_in, spend.tokens_out), spend.cost_usd)
        total = spend if self.spend is None else _both(self.spend, spend)
        total = replace(total, seconds=self.seconds())
        return replace(self, calls=(*self.calls, call), spend=total)


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None and second is None else (first or 0) + (second or 0)


def _both(first: Spend, second: Spend) -> Spend:
    """The sum; a cost that is known for one only is not known."""
    cost = None if first.cost_usd is None or second.cost_usd is None else first.cost_usd + second.cost_usd
    return Spend(_sum(first.tokens_in, second.tokens_in), _sum(first.tokens_out, second.tokens_out), cost)
