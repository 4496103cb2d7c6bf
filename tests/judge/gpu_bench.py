"""What the GPU tests and benchmarks/judge_gemm.py share: a session on the real device with every variant built."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import judge_gemm

from cutegen_git.devices.gpu import open_gpu
from cutegen_git.devices.gpu.device import GpuDevice
from cutegen_git.hands import build as builder
from cutegen_git.hands import toolchain as tools
from cutegen_git.hands.build import Build
from cutegen_git.hands.cache import Cache
from cutegen_git.judge import reference
from cutegen_git.judge.session import Judgement, Session


def say(line: str) -> None:
    print(f"  {line}", flush=True)


@dataclass
class Bench:
    """Builds in parallel, judges one after the other."""

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
        task = judge_gemm.task()
        loaded = reference.load(judge_gemm.REFERENCE, task)
        return Session(task, loaded, self.device, cache_dir=self.cache.root / "judge", say=say)

    def build(self, sources: Mapping[str, bytes]) -> Mapping[str, Build]:
        """Every source compiled, side by side, into the cache."""

        def one(name: str) -> tuple[str, Build]:
            return name, builder.build(
                judge_gemm.task(), {"kernel.cu": sources[name]}, toolchain=self.chain, cache=self.cache,
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


def sources() -> dict[str, bytes]:
    """The correct kernel and all its variants by name."""
    good = judge_gemm.Variant("ok", judge_gemm.Outcome.PASSED).source()
    return {"ok": good, **{variant.name: variant.source() for variant in judge_gemm.VARIANTS}}


def timed(bench: Bench, name: str, *, incumbent: str | None = None) -> tuple[Judgement, float]:
    """The judgement and its wall seconds."""
    started = time.monotonic()
    found = bench.judge(name, incumbent=incumbent)
    return found, time.monotonic() - started
