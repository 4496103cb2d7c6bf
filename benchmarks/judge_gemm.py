"""Judges the tests' float32 product and its wrong variants on this machine's GPU, and prints what a record needs.

python benchmarks/judge_gemm.py [FILE]        FILE gets the samples and facts as JSON
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
import traceback
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "tests" / "judge")]

import gpu_bench  # noqa: E402
import judge_gemm  # noqa: E402
import torch  # noqa: E402

from cutegen_git.core import stats  # noqa: E402
from cutegen_git.judge.session import Judgement  # noqa: E402


def show(name: str, found: Judgement, seconds: float) -> None:
    print(f"\n== {name}: {found.outcome.value} in {seconds:.2f} s {dict(found.seconds)}")
    if found.why:
        print(f"   {found.why}")
    for line in found.feedback.splitlines():
        print(f"   | {line}")
    if found.timing:
        timing = found.timing
        print(f"   {timing.speedup:.4f}x [{timing.low:.4f}, {timing.high:.4f}] against {timing.baseline}")
        print(
            f"   device {timing.device_us:.2f} us, call {timing.call_us:.2f} us, baseline {timing.baseline_us:.2f} us"
        )
        again = stats.decide(found.samples)
        print(f"   decided again from samples: {again == timing}")
    for key, value in found.facts.items():
        print(f"   {key}: {value}")


def main() -> None:
    started = time.monotonic()
    bench = gpu_bench.Bench()
    print("device:", bench.device.facts)
    print("state:", dict(bench.device.state()))
    print("nvcc", bench.chain.version, "cutlass", bench.chain.cutlass_version, "torch", torch.__version__)
    builds = bench.build(gpu_bench.sources())
    print(f"{len(builds)} builds in {time.monotonic() - started:.1f} s")
    records = {}
    runs = (
        [("ok", None), ("ok", None), ("ok", "ok")]
        + [(v.name, None) for v in judge_gemm.VARIANTS]
        + [("ok", "ok")]
    )
    for number, (name, incumbent) in enumerate(runs):
        try:
            found, seconds = gpu_bench.timed(bench, name, incumbent=incumbent)
        except Exception:
            print(f"\n== {name}: the judge raised")
            traceback.print_exc(file=sys.stdout)
            continue
        show(f"{name} (incumbent {incumbent})" if incumbent else name, found, seconds)
        wanted = next((v.outcome for v in judge_gemm.VARIANTS if v.name == name), judge_gemm.Outcome.PASSED)
        print("   AS WANTED" if found.outcome is wanted else f"   WANTED {wanted.value}")
        if incumbent and found.timing:
            print("   incumbent / attempt:", stats.compare(found.samples, "incumbent", "attempt"))
        records[f"{number} {name}"] = {**dataclasses.asdict(found), "wall_s": seconds}
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(records, default=str))
    print(
        f"\nall in {time.monotonic() - started:.1f} s; peak torch memory {torch.cuda.max_memory_allocated() >> 20} MiB"
    )


if __name__ == "__main__":
    main()
