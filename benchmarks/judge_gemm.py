"""Judges the tests' two tasks and their wrong variants on this machine's GPU, and prints what a record needs.

python benchmarks/judge_gemm.py [FILE]        FILE gets the samples and facts as JSON
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "tests" / "judge")]

import gpu_bench  # noqa: E402
import torch  # noqa: E402
from judge_gemm import Variant  # noqa: E402

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
        for label, ratio in stats.workload_ratios(
            found.samples, f"baseline:{timing.baseline}", "attempt"
        ).items():
            own = {key: ticks for key, ticks in found.samples.items() if f"/{label}/" in key}
            print(f"   {label}: {ratio:.4f}x, attempt {stats.typical_us(own, 'attempt'):.2f} us")
    for key, value in found.facts.items():
        print(f"   {key}: {value}")


def study(
    title: str, bench: gpu_bench.Bench, variants: Sequence[Variant], records: dict[str, object]
) -> None:
    """The good kernel alone, again, against itself, then each wrong one, then the good one once more."""
    good = variants[0].name
    wanted = {variant.name: variant.outcome for variant in variants}
    runs = [(good, None), (good, None), (good, good), *((v.name, None) for v in variants[1:]), (good, good)]
    for number, (name, incumbent) in enumerate(runs):
        found, seconds = gpu_bench.timed(bench, name, incumbent=incumbent)
        show(f"{title}: {name}" + (" against itself" if incumbent else ""), found, seconds)
        print("   AS WANTED" if found.outcome is wanted[name] else f"   WANTED {wanted[name].value}")
        if incumbent and found.timing:
            print("   incumbent / attempt:", stats.compare(found.samples, "incumbent", "attempt"))
        records[f"{title} {number} {name}"] = {**dataclasses.asdict(found), "wall_s": seconds}


def main() -> None:
    started = time.monotonic()
    records: dict[str, object] = {}
    for title, make, variants in (
        ("gemm", gpu_bench.gemm_bench, gpu_bench.GEMM),
        ("affine", gpu_bench.affine_bench, gpu_bench.AFFINE),
    ):
        bench = make()
        print(f"\n{title}: {len(bench.builds)} builds, {time.monotonic() - started:.1f} s from the start")
        print("device:", bench.device.facts)
        print("nvcc", bench.chain.version, "cutlass", bench.chain.cutlass_version, "torch", torch.__version__)
        study(title, bench, variants, records)
        empty = bench.device.clock(lambda: None, 20)
        print("\nno work at all between two events, held and flushed, ns:", sorted(empty))
        bench.device.close()
        if len(sys.argv) > 1:
            Path(sys.argv[1]).write_text(json.dumps(records, default=str))
    print(
        f"\nall in {time.monotonic() - started:.1f} s; peak torch memory {torch.cuda.max_memory_allocated() >> 20} MiB"
    )


if __name__ == "__main__":
    main()
