"""What the GPU tests and benchmarks/judge_gemm.py share: a session on the real device with every variant built."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import judge_affine
import judge_gemm
from judge_gemm import Variant

from cutegen_git.devices.gpu import open_gpu
from cutegen_git.devices.gpu.device import GpuDevice
from cutegen_git.hands import build as builder
from cutegen_git.hands import toolchain as tools
from cutegen_git.hands.build import Build
from cutegen_git.hands.cache import Cache
from cutegen_git.judge import reference
from cutegen_git.judge.session import Judgement, Session
from cutegen_git.words.task import Task
from cutegen_git.words.verdict import Outcome


def say(line: str) -> None:
    print(f"  {line}", flush=True)


@dataclass
class Bench:
    """Builds in parallel, judges one after the other."""

    task: Task
    reference: bytes
    cache: Cache = field(default_factory=Cache.default)
    chain: tools.Toolchain = field(default_factory=tools.find)
    device: GpuDevice = field(init=False)
    session: Session = field(init=False)
    builds: dict[str, Build] = field(default_factory=dict)

    def __post_init__(self) -> None:
        device, why = open_gpu(toolchain=self.chain, folder=self.cache.root / "judge")
        assert device is not None, why
        self.device = device
        self.session = self.new_session()

    def new_session(self) -> Session:
        loaded = reference.load(self.reference, self.task)
        return Session(self.task, loaded, self.device, cache_dir=self.cache.root / "judge", say=say)

    def build(self, sources: Mapping[str, bytes]) -> Mapping[str, Build]:
        """Every source compiled, side by side, into the cache."""

        def one(name: str) -> tuple[str, Build]:
            return name, builder.build(
                self.task, {"kernel.cu": sources[name]}, toolchain=self.chain, cache=self.cache,
                target_sm=self.device.facts.sm,
            )  # fmt: skip

        with ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2)) as pool:
            self.builds.update(pool.map(one, sources))
        return self.builds

    def judge(self, name: str, *, incumbent: str | None = None) -> Judgement:
        built = self.builds[name]
        assert built.ok, built.log
        return self.session.judge(
            built,
            commit=name,
            secret=secrets.token_bytes(16),
            incumbent=self.builds[incumbent] if incumbent else None,
        )


GEMM = (Variant("ok", Outcome.PASSED), *judge_gemm.VARIANTS)
AFFINE = (judge_affine.GOOD, *judge_affine.VARIANTS)


def gemm_bench() -> Bench:
    return _built(Bench(judge_gemm.task(), judge_gemm.REFERENCE), GEMM)


def affine_bench() -> Bench:
    return _built(Bench(judge_affine.task(), judge_affine.REFERENCE), AFFINE)


def _built(bench: Bench, variants: Sequence[Variant]) -> Bench:
    bench.build({variant.name: variant.source() for variant in variants})
    return bench


def timed(bench: Bench, name: str, *, incumbent: str | None = None) -> tuple[Judgement, float]:
    """The judgement and its wall seconds."""
    started = time.monotonic()
    found = bench.judge(name, incumbent=incumbent)
    return found, time.monotonic() - started
