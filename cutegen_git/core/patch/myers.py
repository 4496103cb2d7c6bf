"""Which lines changed between two files: a shortest edit script, with the choices among equals that git makes.

Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), linear-space form. Lines that the other file
lacks are set aside first, and the search gives up on minimality where it gets dear, as git does, so that the
result is what `git diff` shows.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

_DEAR = 256  # edit cost from which a good place to split is enough
_SNAKE = 20  # equal lines in a row that make a place good
_COMMON = 1024  # upper bound of "occurs very often"
_RUN = 4
_WINDOW = 100


def changed(old: Sequence[Hashable], new: Sequence[Hashable]) -> tuple[list[bool], list[bool]]:
    """For every line of either file: is it part of the edit script?"""
    head = 0
    short = min(len(old), len(new))
    while head < short and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < short - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    gone, born = [False] * len(old), [False] * len(new)
    xs = _worth_comparing(old, new, head, len(old) - tail, gone)
    ys = _worth_comparing(new, old, head, len(new) - tail, born)
    a = [old[n] for n in xs]
    b = [new[n] for n in ys]
    limit = max(256, _sqrt_bound(len(xs) + len(ys) + 3))
    _Search(a, b, xs, ys, gone, born, limit).run()
    return gone, born


def _sqrt_bound(n: int) -> int:
    """git's rough square root: a power of two."""
    root = 1
    while n > 0:
        n >>= 2
        root <<= 1
    return root


def _worth_comparing(
    mine: Sequence[Hashable], other: Sequence[Hashable], low: int, high: int, flags: list[bool]
) -> list[int]:
    """The lines of the middle part that take part in the search; the others are flagged as changed."""
    counts: dict[Hashable, int] = {}
    for line in other:
        counts[line] = counts.get(line, 0) + 1
    often = min(_sqrt_bound(len(mine)), _COMMON)
    rank = [0 if not (k := counts.get(mine[n], 0)) else 2 if k >= often else 1 for n in range(low, high)]
    kept: list[int] = []
    for n in range(low, high):
        state = rank[n - low]
        if state == 1 or (state == 2 and not _lost_in_changes(rank, n - low)):
            kept.append(n)
        else:
            flags[n] = True
    return kept


def _lost_in_changes(rank: Sequence[int], at: int) -> bool:
    """Does a frequent line stand among lines that the other file lacks? Then matching it would only mislead."""
    before = _around(rank, range(at - 1, max(-1, at - 1 - _WINDOW), -1))
    if before[0] == 0:
        return False
    after = _around(rank, range(at + 1, min(len(rank), at + 1 + _WINDOW)))
    if after[0] == 0:
        return False
    lacking = before[0] + after[0]
    frequent = before[1] + after[1] + 2
    return frequent * _RUN < frequent + lacking


def _around(rank: Sequence[int], lines: range) -> tuple[int, int]:
    lacking = frequent = 0
    for n in lines:
        if rank[n] == 0:
            lacking += 1
        elif rank[n] == 2:
            frequent += 1
        else:
            break
    return lacking, frequent


@dataclass(slots=True)
class _Search:
    """The divide-and-conquer search over the lines that take part."""

    a: Sequence[Hashable]
    b: Sequence[Hashable]
    xs: Sequence[int]  # where each line of `a` stands in its file
    ys: Sequence[int]
    gone: list[bool]
    born: list[bool]
    limit: int

    def run(self) -> None:
        todo = [(0, len(self.a), 0, len(self.b), False)]
        while todo:
            lo1, hi1, lo2, hi2, minimal = todo.pop()
            while lo1 < hi1 and lo2 < hi2 and self.a[lo1] == self.b[lo2]:
                lo1, lo2 = lo1 + 1, lo2 + 1
            while lo1 < hi1 and lo2 < hi2 and self.a[hi1 - 1] == self.b[hi2 - 1]:
                hi1, hi2 = hi1 - 1, hi2 - 1
            if lo1 == hi1:
                for n in range(lo2, hi2):
                    self.born[self.ys[n]] = True
            elif lo2 == hi2:
                for n in range(lo1, hi1):
                    self.gone[self.xs[n]] = True
            else:
                x, y, low, high = self.split(lo1, hi1, lo2, hi2, minimal=minimal)
                todo += [(lo1, x, lo2, y, low), (x, hi1, y, hi2, high)]

    def split(self, lo1: int, hi1: int, lo2: int, hi2: int, *, minimal: bool) -> tuple[int, int, bool, bool]:
        """A point on a shortest (or good) path through the box, and whether each half must stay minimal."""
        a, b = self.a, self.b
        least, most = lo1 - hi2, hi1 - lo2
        mid_f, mid_b = lo1 - lo2, hi1 - hi2
        odd = (mid_f - mid_b) & 1
        far: dict[int, int] = {mid_f: lo1}
        near: dict[int, int] = {mid_b: hi1}
        fmin = fmax = mid_f
        bmin = bmax = mid_b
        big = len(a) + len(b) + 10
        cost = 0
        while True:
            cost += 1
            snake = False
            if fmin > least:
                fmin -= 1
                far[fmin - 1] = -1
            else:
                fmin += 1
            if fmax < most:
                fmax += 1
                far[fmax + 1] = -1
            else:
                fmax -= 1
            for d in range(fmax, fmin - 1, -2):
                below, above = far.get(d - 1, -1), far.get(d + 1, -1)
                x = below + 1 if below >= above else above
                start, y = x, x - d
                while x < hi1 and y < hi2 and a[x] == b[y]:
                    x, y = x + 1, y + 1
                snake = snake or x - start > _SNAKE
                far[d] = x
                if odd and bmin <= d <= bmax and near.get(d, big) <= x:
                    return x, y, True, True
            if bmin > least:
                bmin -= 1
                near[bmin - 1] = big
            else:
                bmin += 1
            if bmax < most:
                bmax += 1
                near[bmax + 1] = big
            else:
                bmax -= 1
            for d in range(bmax, bmin - 1, -2):
                below, above = near.get(d - 1, big), near.get(d + 1, big)
                x = below if below < above else above - 1
                start, y = x, x - d
                while x > lo1 and y > lo2 and a[x - 1] == b[y - 1]:
                    x, y = x - 1, y - 1
                snake = snake or start - x > _SNAKE
                near[d] = x
                if not odd and fmin <= d <= fmax and x <= far.get(d, -1):
                    return x, y, True, True
            if minimal:
                continue
            if snake and cost > _DEAR:
                found = self._good_forward(far, range(fmax, fmin - 1, -2), lo1, lo2, hi1, hi2, mid_f, cost)
                if found:
                    return (*found, True, False)
                found = self._good_backward(near, range(bmax, bmin - 1, -2), lo1, lo2, hi1, hi2, mid_b, cost)
                if found:
                    return (*found, False, True)
            if cost >= self.limit:
                return self._furthest(far, near, (fmin, fmax), (bmin, bmax), (lo1, hi1, lo2, hi2))

    def _good_forward(
        self, far: dict[int, int], ds: range, lo1: int, lo2: int, hi1: int, hi2: int, mid: int, cost: int
    ) -> tuple[int, int] | None:
        """A far point that ends in a long run of equal lines, where the search has become dear."""
        best, found = 0, None
        for d in ds:
            x = far[d]
            y = x - d
            value = (x - lo1) + (y - lo2) - abs(d - mid)
            if value > 4 * cost and value > best and lo1 + _SNAKE <= x < hi1 and lo2 + _SNAKE <= y < hi2:
                if all(self.a[x - k] == self.b[y - k] for k in range(1, _SNAKE + 1)):
                    best, found = value, (x, y)
        return found

    def _good_backward(
        self, near: dict[int, int], ds: range, lo1: int, lo2: int, hi1: int, hi2: int, mid: int, cost: int
    ) -> tuple[int, int] | None:
        best, found = 0, None
        for d in ds:
            x = near[d]
            y = x - d
            value = (hi1 - x) + (hi2 - y) - abs(d - mid)
            if value > 4 * cost and value > best and lo1 < x <= hi1 - _SNAKE and lo2 < y <= hi2 - _SNAKE:
                if all(self.a[x + k] == self.b[y + k] for k in range(_SNAKE)):
                    best, found = value, (x, y)
        return found

    @staticmethod
    def _furthest(
        far: dict[int, int],
        near: dict[int, int],
        forward: tuple[int, int],
        backward: tuple[int, int],
        box: tuple[int, int, int, int],
    ) -> tuple[int, int, bool, bool]:
        """The furthest point of either search, once it has cost too much."""
        lo1, hi1, lo2, hi2 = box
        fbest, fx = -1, -1
        for d in range(forward[1], forward[0] - 1, -2):
            x = min(far[d], hi1)
            y = x - d
            if y > hi2:
                x, y = hi2 + d, hi2
            if x + y > fbest:
                fbest, fx = x + y, x
        bbest, bx = hi1 + hi2 + 10, -1
        for d in range(backward[1], backward[0] - 1, -2):
            x = max(near[d], lo1)
            y = x - d
            if y < lo2:
                x, y = lo2 + d, lo2
            if x + y < bbest:
                bbest, bx = x + y, x
        if (hi1 + hi2) - bbest < fbest - (lo1 + lo2):
            return fx, fbest - fx, True, False
        return bx, bbest - bx, False, True
