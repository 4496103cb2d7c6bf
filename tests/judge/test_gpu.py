"""On a real GPU: the good kernel passes with a timing, and each wrong variant gets its own outcome."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from judge_gemm import VARIANTS, Variant

from cutegen_git.core import stats
from cutegen_git.words.verdict import Outcome

pytestmark = pytest.mark.gpu
# A race or a missing barrier shows in more than one way.
_ALSO = {"race": (Outcome.NONDETERMINISTIC, Outcome.NON_FINITE_OUTPUT, Outcome.PRECISION_DOWNGRADE)}


@pytest.fixture(scope="module")
def bench() -> Iterator[object]:
    import gpu_bench

    bench = gpu_bench.Bench()
    bench.build(gpu_bench.sources())
    yield bench
    bench.device.close()


def test_a_correct_kernel_passes_with_a_timing(bench) -> None:  # type: ignore[no-untyped-def]
    found = bench.judge("ok")
    assert found.outcome is Outcome.PASSED, found.feedback
    assert found.timing is not None
    assert stats.decide(found.samples) == found.timing
    if folder := os.environ.get("CUTEGEN_GIT_GPU_OUT"):
        (Path(folder) / "samples.json").write_text(json.dumps(dict(found.samples)))


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name.replace(" ", "-"))
def test_a_wrong_kernel_gets_its_own_outcome(bench, variant: Variant) -> None:  # type: ignore[no-untyped-def]
    found = bench.judge(variant.name)
    assert found.outcome in (variant.outcome, *_ALSO.get(variant.name, ())), (
        f"{found.outcome}: {found.feedback}"
    )
    assert found.feedback


def test_a_kernel_is_not_faster_than_itself(bench) -> None:  # type: ignore[no-untyped-def]
    found = bench.judge("ok", incumbent="ok")
    assert found.outcome is Outcome.PASSED, found.feedback
    ratio = stats.compare(found.samples, "incumbent", "attempt")
    assert not ratio.is_faster
    assert 0.98 < ratio.value < 1.02


def test_the_device_works_after_all_that(bench) -> None:  # type: ignore[no-untyped-def]
    assert bench.device.probe() == ""
    assert bench.judge("ok").outcome is Outcome.PASSED
