"""The decision on simulated noise: equal kernels are not "faster", a true gain is found, drift does no harm."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from cutegen_git.core import stats
from cutegen_git.words.verdict import Timing

BASE_NS = 2_700_000.0


@dataclass(frozen=True)
class Noise:
    """What a GPU does to a series of samples."""

    white: float = 0.004  # standard deviation of a sample, as a share
    slow: float = 0.003  # of a part that remembers: rho a sample
    rho: float = 0.9
    process: float = 0.003  # of a process as a whole
    drift: float = 0.01  # from the first to the last sample
    level: float = 0.03  # how much slower the second clock level is
    switch: float = 0.02  # chance a sample to change level
    clocks_known: bool = True


class World:
    """Time passes from sample to sample, whoever is measured."""

    def __init__(self, noise: Noise, seed: int, total: int) -> None:
        self.noise, self.dice, self.total = noise, random.Random(seed), total
        self.memory, self.is_slow, self.taken = 0.0, False, 0

    def sample(self, factor: float) -> int:
        noise, dice = self.noise, self.dice
        self.memory = noise.rho * self.memory + dice.gauss(0, noise.slow * (1 - noise.rho**2) ** 0.5)
        if dice.random() < noise.switch:
            self.is_slow = not self.is_slow
        drift = noise.drift * self.taken / self.total
        self.taken += 1
        extra = abs(dice.gauss(0, noise.white)) * (
            3 if dice.random() < 0.02 else 1
        )  # a long tail to one side
        return round(BASE_NS * factor * (1 + self.memory + drift + extra) * (1 + noise.level * self.is_slow))


def simulate(
    noise: Noise, seed: int, *, gain: float = 0.0, processes: int = 3, blocks: int = 8
) -> stats.Samples:
    """Samples of an attempt that is `gain` faster than the incumbent, and of a baseline as fast as the incumbent."""
    turn = 5
    world = World(noise, seed, processes * blocks * 6 * turn)
    samples: dict[str, list[int]] = {}
    for process in range(processes):
        own = {arm: 1 + world.dice.gauss(0, noise.process) for arm in ("attempt", "incumbent")}
        own["baseline:eager"] = 1.0  # always the judge's own process
        own["attempt"] /= 1 + gain
        for block in range(blocks):
            half = ["attempt", "baseline:eager", "incumbent"]
            for arm in (*half, *reversed(half)):
                key = f"{arm}/M4096/{process}/{block}"
                samples.setdefault(key, []).extend(world.sample(own[arm]) for _ in range(turn))
                if noise.clocks_known:
                    samples.setdefault(f"mhz:{key}", []).append(1900 if world.is_slow else 1980)
        samples[f"call/M4096/{process}/0"] = [world.sample(own["attempt"]) for _ in range(5)]
    return samples


NOISES = {
    "plain": Noise(rho=0.0, drift=0.0, switch=0.0),
    "autocorrelated": Noise(rho=0.97, slow=0.006, drift=0.0, switch=0.0),
    "drift": Noise(drift=0.05, switch=0.0),
    "two clocks": Noise(),
    "two clocks unseen": Noise(clocks_known=False),
}


def shares(noise: Noise, count: int) -> tuple[float, float]:
    """(identical kernels called faster, kernels 3 % faster found)."""
    false = sum(faster(simulate(noise, seed)) for seed in range(count))
    found = sum(faster(simulate(noise, seed + count, gain=0.03)) for seed in range(count))
    return false / count, found / count


def faster(samples: stats.Samples) -> bool:
    return stats.compare(samples, "incumbent", "attempt").is_faster


@pytest.mark.parametrize("name", NOISES)
def test_identical_kernels_are_not_faster_and_three_percent_is_found(name: str) -> None:
    false, found = shares(NOISES[name], 40)
    assert false <= 0.05
    assert found >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("name", NOISES)
def test_a_thousand_comparisons_keep_the_promise(name: str) -> None:
    false, found = shares(NOISES[name], 1000)
    assert false <= 0.02
    assert found >= 0.95


def test_the_interval_holds_the_truth() -> None:
    noise = NOISES["two clocks"]
    ratios = [stats.compare(simulate(noise, seed, gain=0.1), "incumbent", "attempt") for seed in range(40)]
    assert sum(ratio.low <= 1.1 <= ratio.high for ratio in ratios) >= 37


def test_the_decision_is_the_same_everywhere() -> None:
    samples = simulate(Noise(), 7)
    backwards = dict(reversed(list(samples.items())))
    assert stats.decide(backwards) == stats.decide(samples)


def exact(times: Mapping[str, tuple[int, int]]) -> stats.Samples:
    """Noiseless samples: workload -> (attempt, baseline) in nanoseconds."""
    samples: dict[str, list[int]] = {}
    for label, (attempt, baseline) in times.items():
        for process in range(3):
            samples[f"call/{label}/{process}/0"] = [attempt + 5000]
            for block in range(4):
                samples[f"attempt/{label}/{process}/{block}"] = [attempt] * 4
                samples[f"baseline:compile/{label}/{process}/{block}"] = [baseline] * 4
    return samples


def test_workloads_combine_by_weighted_geometric_mean() -> None:
    samples = exact({"M1": (1000, 4000), "M2": (1000, 1000)})
    timing = stats.decide(samples)
    assert timing == Timing(timing.speedup, timing.low, timing.high, 1.0, 6.0, "compile", timing.baseline_us)
    assert [timing.low, timing.high, timing.baseline_us] == pytest.approx([2.0, 2.0, 2.0])
    assert stats.decide(samples, weights={"M1": 3.0, "M2": 1.0}).speedup == pytest.approx(4**0.75)
    assert stats.workload_ratios(samples, "baseline:compile", "attempt")["M1"] == pytest.approx(4.0)


def test_blocks_whose_arms_differ_in_clock_are_dropped() -> None:
    samples = dict(exact({"M1": (1000, 2000)}))
    samples["attempt/M1/0/0"] = [500] * 4
    assert stats.decide(samples).speedup > 2.0
    samples["mhz:attempt/M1/0/0"], samples["mhz:baseline:compile/M1/0/0"] = [1980], [990]
    assert stats.decide(samples).speedup == pytest.approx(2.0)


def test_the_noise_floor_is_the_baseline_against_itself() -> None:
    samples = {"baseline:eager/M1/0/0": [1000, 1000, 1010, 1010]}
    assert stats.noise_floor(samples) == pytest.approx(0.00995, rel=1e-3)


@pytest.mark.parametrize("missing", ["attempt", "baseline:compile", "call"])
def test_a_missing_arm_is_no_timing(missing: str) -> None:
    samples = {k: v for k, v in exact({"M1": (1, 2)}).items() if not k.startswith(missing)}
    with pytest.raises(ValueError, match=r"no|one baseline"):
        stats.decide(samples)


def test_a_time_of_zero_is_refused() -> None:
    samples = dict(exact({"M1": (1000, 2000)}))
    samples["attempt/M1/0/0"] = [0, 1000, 1000]
    with pytest.raises(ValueError, match="zero"):
        stats.decide(samples)
