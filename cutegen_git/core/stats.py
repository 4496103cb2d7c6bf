"""The decision from raw samples: one pure function for the judge and for `verify --offline`. Standard library only.

Samples are integer nanoseconds under keys "arm/workload/process/block"; the arms are "attempt", "baseline:NAME",
"incumbent" and "call". A block holds the turns of all arms that were taken next to each other (A B B A), so ratios are
formed within blocks and drift cancels. Clocks ride along under "mhz:attempt/..." and so on.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from cutegen_git.words.verdict import Timing

METHOD = 1  # version of the decision
RESAMPLES = 1000
MIN_GAIN = 0.01  # a promotion needs this much over the incumbent
CLOCK_TOLERANCE = 0.01  # blocks whose arms ran at clocks further apart are dropped
_SEED = 20260701  # of the resampling: the same samples give the same interval everywhere
# Two-sided 95 % points of Student's t. The same kernel in two processes differs by 0.5 %, and three processes say
# little about that spread: plain percentiles of a bootstrap over three are far too narrow.
_T95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228}

Samples = Mapping[str, Sequence[int]]
_Blocks = dict[str, dict[str, list[float]]]  # workload -> process -> log ratio of each block


@dataclass(frozen=True, slots=True)
class Ratio:
    """How much faster one arm is than another, over all workloads."""

    value: float
    low: float  # 95 % interval
    high: float

    @property
    def is_faster(self) -> bool:
        """Surely faster, and by enough to matter."""
        return self.low > 1 and self.value >= 1 + MIN_GAIN


def decide(samples: Samples, *, weights: Mapping[str, float] | None = None) -> Timing:
    """The timing that these samples support. ValueError if an arm is missing.

    `weights` by workload label, equal where absent.
    """
    name = _baseline(samples)
    baseline = f"baseline:{name}"
    ratio = compare(samples, baseline, "attempt", weights=weights)
    return Timing(
        speedup=ratio.value,
        low=ratio.low,
        high=ratio.high,
        device_us=typical_us(samples, "attempt", weights=weights),
        call_us=typical_us(samples, "call", weights=weights),
        baseline=name,
        baseline_us=typical_us(samples, baseline, weights=weights),
    )


def compare(samples: Samples, slow: str, fast: str, *, weights: Mapping[str, float] | None = None) -> Ratio:
    """Time of `slow` by time of `fast`."""
    blocks = _log_ratios(samples, slow, fast)
    centre = _centre(blocks, weights)
    spread = _spread(blocks, weights)
    return Ratio(math.exp(centre), math.exp(centre - spread), math.exp(centre + spread))


def workload_ratios(samples: Samples, slow: str, fast: str) -> Mapping[str, float]:
    """The ratio of each workload alone."""
    return {
        label: math.exp(_level(processes)) for label, processes in _log_ratios(samples, slow, fast).items()
    }


def noise_floor(samples: Samples) -> float:
    """How far the baseline's two turns of a block differ, as a share: 0.002 is 0.2 %. 0 with no baseline.

    Root mean square over blocks of the difference of the turns' medians.
    """
    differences = []
    for key, ticks in samples.items():
        if key.startswith("baseline:") and len(ticks) >= 4:
            half = len(ticks) // 2
            differences.append(math.log(median(ticks[:half]) / median(ticks[half:])))
    return math.sqrt(fmean(d * d for d in differences)) if differences else 0.0


def typical_us(samples: Samples, arm: str, *, weights: Mapping[str, float] | None = None) -> float:
    """Microseconds: median over each workload's samples, weighted geometric mean over workloads."""
    by_workload: dict[str, list[int]] = {}
    for key in sorted(samples):
        found, label, _, _ = key.split("/")
        if found == arm:
            by_workload.setdefault(label, []).extend(samples[key])
    if not by_workload:
        raise ValueError(f"no samples of {arm}")
    logs = {label: math.log(median(ticks) / 1000) for label, ticks in by_workload.items()}
    return math.exp(_weighted(logs, weights))


def _baseline(samples: Samples) -> str:
    names = {key.split("/")[0].removeprefix("baseline:") for key in samples if key.startswith("baseline:")}
    if len(names) != 1:
        raise ValueError(f"one baseline is needed, not {sorted(names)}")
    return names.pop()


def _log_ratios(samples: Samples, slow: str, fast: str) -> _Blocks:
    blocks: _Blocks = {}
    for key in sorted(samples):  # whatever order they were stored in: the resampling must come out the same
        ticks = samples[key]
        arm, label, process, block = key.split("/")
        rival = samples.get(f"{slow}/{label}/{process}/{block}")
        if arm != fast or not rival or not ticks or not _same_clock(samples, slow, fast, key):
            continue
        if min(ticks) <= 0 or min(rival) <= 0:
            raise ValueError(f"a time of zero in {key}")
        blocks.setdefault(label, {}).setdefault(process, []).append(math.log(median(rival) / median(ticks)))
    if not blocks:
        raise ValueError(f"no blocks with both {slow} and {fast}")
    return blocks


def _same_clock(samples: Samples, slow: str, fast: str, key: str) -> bool:
    rest = key.split("/", 1)[1]
    clocks = [samples.get(f"mhz:{arm}/{rest}", ()) for arm in (slow, fast)]
    if not all(clocks) or not all(min(values) > 0 for values in clocks):
        return True
    means = [fmean(values) for values in clocks]
    return abs(means[0] - means[1]) <= CLOCK_TOLERANCE * max(means)


def _level(processes: Mapping[str, Sequence[float]]) -> float:
    return fmean(fmean(values) for values in processes.values())


def _centre(blocks: _Blocks, weights: Mapping[str, float] | None) -> float:
    return _weighted({label: _level(processes) for label, processes in blocks.items()}, weights)


def _weighted(values: Mapping[str, float], weights: Mapping[str, float] | None) -> float:
    shares = {label: (weights or {}).get(label, 1.0) for label in values}
    return sum(values[label] * share for label, share in shares.items()) / sum(shares.values())


def _spread(blocks: _Blocks, weights: Mapping[str, float] | None) -> float:
    """Half width of the 95 % interval of the log ratio: processes are drawn again, then blocks within each.

    Neighbouring blocks are alike (heat, clocks), so runs of blocks are drawn, not single ones.
    """
    dice = random.Random(_SEED)
    centres = [_centre(_redraw(blocks, dice), weights) for _ in range(RESAMPLES)]
    mean = fmean(centres)
    deviation = math.sqrt(fmean((centre - mean) ** 2 for centre in centres))
    count = min(len(processes) for processes in blocks.values())
    if count < 2:  # one process says nothing about the spread between processes
        return _T95[1] * deviation
    return _T95.get(count - 1, 2.1) * deviation * math.sqrt(count / (count - 1))


def _redraw(blocks: _Blocks, dice: random.Random) -> _Blocks:
    drawn: _Blocks = {}
    for label, processes in blocks.items():
        names = list(processes)
        drawn[label] = {
            str(position): _runs(processes[dice.choice(names)], dice) for position in range(len(names))
        }
    return drawn


def _runs(values: Sequence[float], dice: random.Random) -> list[float]:
    length = max(1, round(math.sqrt(len(values))))
    found: list[float] = []
    while len(found) < len(values):
        start = dice.randrange(len(values))
        found += [values[(start + step) % len(values)] for step in range(length)]
    return found[: len(values)]
