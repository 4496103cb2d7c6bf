"""On a real GPU: good kernels pass with a timing, and each wrong variant gets its own outcome."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import judge_affine
import judge_gemm
import pytest
from judge_gemm import Variant

from cutegen_git.core import stats
from cutegen_git.words.verdict import Outcome

if TYPE_CHECKING:
    from gpu_bench import Bench

pytestmark = pytest.mark.gpu
# A race shows in more than one way.
_ALSO = {"race": (Outcome.NONDETERMINISTIC, Outcome.NON_FINITE_OUTPUT, Outcome.PRECISION_DOWNGRADE)}


@pytest.fixture(scope="module")
def gemm() -> Iterator[Bench]:
    import gpu_bench

    bench = gpu_bench.gemm_bench()
    yield bench
    bench.device.close()


@pytest.fixture(scope="module")
def affine() -> Iterator[Bench]:
    import gpu_bench

    bench = gpu_bench.affine_bench()
    yield bench
    bench.device.close()


def _keep(name: str, samples: stats.Samples) -> None:
    if folder := os.environ.get("CUTEGEN_GIT_GPU_OUT"):
        (Path(folder) / name).write_text(json.dumps(dict(samples)))


def test_a_correct_product_passes_with_a_timing(gemm: Bench) -> None:
    found = gemm.judge("ok")
    assert found.outcome is Outcome.PASSED, found.feedback
    assert found.timing is not None
    assert stats.decide(found.samples) == found.timing
    _keep("gemm-samples.json", found.samples)


@pytest.mark.parametrize("variant", judge_gemm.VARIANTS, ids=lambda variant: variant.name.replace(" ", "-"))
def test_a_wrong_product_gets_its_own_outcome(gemm: Bench, variant: Variant) -> None:
    found = gemm.judge(variant.name)
    assert found.outcome in (variant.outcome, *_ALSO.get(variant.name, ())), found.feedback
    assert found.feedback


def test_a_kernel_is_not_faster_than_itself(gemm: Bench) -> None:
    found = gemm.judge("ok", incumbent="ok")
    assert found.outcome is Outcome.PASSED, found.feedback
    ratio = stats.compare(found.samples, "incumbent", "attempt")
    assert not ratio.is_faster
    assert 0.98 < ratio.value < 1.02


def test_the_device_works_after_all_that(gemm: Bench) -> None:
    assert gemm.device.probe() == ""
    assert gemm.judge("ok").outcome is Outcome.PASSED


def test_a_kernel_that_uses_all_of_the_abi_passes(affine: Bench) -> None:
    found = affine.judge(judge_affine.GOOD.name)
    assert found.outcome is Outcome.PASSED, found.feedback
    assert found.timing is not None
    assert stats.decide(found.samples, weights=affine.session.weights()) == found.timing
    _keep("affine-samples.json", found.samples)


@pytest.mark.parametrize("variant", judge_affine.VARIANTS, ids=lambda variant: variant.name.replace(" ", "-"))
def test_a_wrong_use_of_the_abi_gets_its_own_outcome(affine: Bench, variant: Variant) -> None:
    found = affine.judge(variant.name)
    assert found.outcome is variant.outcome, found.feedback
