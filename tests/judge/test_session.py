"""The whole judgement with a fake device: honest kernels pass, each fault gets its own outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import judge_gemm
import pytest
import torch
from fake_device import EMULATED, REAL, REAL_NS, FakeDevice, Kernel, build_of

from cutegen_git.core import stats
from cutegen_git.judge import reference
from cutegen_git.judge.baselines import Baseline
from cutegen_git.judge.protocol import BrokenDevice, Call, Trouble
from cutegen_git.judge.session import Judgement, Session
from cutegen_git.words.device import Device
from cutegen_git.words.verdict import Outcome

Tensors = Mapping[str, torch.Tensor]


def session_on(device: FakeDevice) -> Session:
    task = judge_gemm.task(64)
    loaded = reference.load(judge_gemm.REFERENCE, task)
    session = Session(task, loaded, device, cache_dir=Path("unused"), say=lambda _: None)
    # Tuned before: torch.compile takes a C++ compiler and half a minute.
    session.tuned = Baseline("eager", {"M64-N64-K64": lambda: None}, {"M64-N64-K64": 2000.0}, {})
    return session


def judge(kernel: Kernel, *, broken: str = "", facts: Device = EMULATED) -> Judgement:
    session = session_on(FakeDevice({"k": kernel}, broken=broken, facts=facts))
    return session.judge(build_of("k"), commit="c" * 40, secret=b"s", incumbent=None)


def kernel_of(product: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Kernel:
    def kernel(tensors: Tensors, call: Call) -> None:
        tensors["C"].copy_(product(tensors["A"], tensors["B"]))

    return kernel


def in_order(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Products summed one after the other, as a SIMT kernel does."""
    total = torch.zeros(a.shape[0], b.shape[1])
    for k in range(a.shape[1]):
        total = torch.addcmul(total, a[:, k : k + 1], b[k : k + 1])
    return total


def split_k(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    half = a.shape[1] // 2
    return in_order(a[:, :half], b[:half]) + in_order(a[:, half:], b[half:])


def truncated(t: torch.Tensor, bits: int) -> torch.Tensor:
    """float32 rounded to fewer bits of significand."""
    drop = 23 - bits
    return ((t.contiguous().view(torch.int32) + (1 << (drop - 1))) & -(1 << drop)).view(torch.float32)


def three_tf32(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The 3xTF32 form with float32 sums."""
    big_a, big_b = truncated(a, 10), truncated(b, 10)
    small_a, small_b = truncated(a - big_a, 10), truncated(b - big_b, 10)
    return big_a @ small_b + small_a @ big_b + big_a @ big_b


HONEST = {"torch": torch.matmul, "in order": in_order, "split k": split_k, "3xTF32": three_tf32}


@pytest.mark.parametrize("name", HONEST)
def test_honest_products_pass(name: str) -> None:
    found = judge(kernel_of(HONEST[name]))
    assert (found.outcome, found.why) == (Outcome.PASSED, "")


def tail_missing(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    whole = a.shape[1] // 16 * 16
    return a[:, :whole] @ b[:whole]


WRONG = {
    "tf32": (lambda a, b: truncated(a, 10) @ truncated(b, 10), Outcome.PRECISION_DOWNGRADE),
    "bf16": (lambda a, b: truncated(a, 7) @ truncated(b, 7), Outcome.PRECISION_DOWNGRADE),
    "tf32 for one input": (lambda a, b: a @ truncated(b, 10), Outcome.PRECISION_DOWNGRADE),
    "zeros": (lambda a, b: torch.zeros(a.shape[0], b.shape[1]), Outcome.WRONG_RESULT),
    "1.02 times": (lambda a, b: 1.02 * (a @ b), Outcome.PRECISION_DOWNGRADE),
    "tail missing": (tail_missing, Outcome.WRONG_RESULT),
    "infinite": (lambda a, b: a @ b / 0, Outcome.NON_FINITE_OUTPUT),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_mutants_are_refused(name: str) -> None:
    product, outcome = WRONG[name]
    found = judge(kernel_of(product))
    assert found.outcome is outcome, found.feedback
    assert found.why
    assert found.timing is None


def half(tensors: Tensors, call: Call) -> None:
    rows = (call.axes["M"] + 1) // 2
    tensors["C"][:rows].copy_((tensors["A"] @ tensors["B"])[:rows])


def test_sizes_that_fail_are_told_from_those_that_do_not() -> None:
    def kernel(tensors: Tensors, call: Call) -> None:
        tensors["C"].copy_(tail_missing(tensors["A"], tensors["B"]))

    found = judge(kernel, facts=REAL)
    assert found.outcome is Outcome.WRONG_RESULT
    assert "C is wrong at M129-N257-K65" in found.why
    assert "right at M128-N128-K64" in found.feedback


def test_a_kernel_that_passes_is_timed_and_the_samples_decide_again() -> None:
    device = FakeDevice({"k": kernel_of(torch.matmul), "old": kernel_of(torch.matmul)}, facts=REAL)
    device.ns["old"] = REAL_NS * 11 // 10  # type: ignore[index]
    session = session_on(device)
    found = session.judge(build_of("k"), commit="c", secret=b"s", incumbent=build_of("old"))
    assert found.outcome is Outcome.PASSED, found.why
    assert found.timing is not None
    assert found.timing.speedup == pytest.approx(2.0)
    assert stats.decide(found.samples, weights=session.weights()) == found.timing
    assert stats.compare(found.samples, "incumbent", "attempt").value == pytest.approx(1.1)
    assert len({key.split("/")[2] for key in found.samples}) == 3


def test_times_shorter_than_the_judges_own_clock_are_suspicious() -> None:
    device = FakeDevice({"k": kernel_of(torch.matmul)}, facts=REAL)
    device.ns["k"] = REAL_NS // 2  # type: ignore[index]
    found = session_on(device).judge(build_of("k"), commit="c", secret=b"s")
    assert found.outcome is Outcome.TIMING_SUSPICIOUS
    assert found.timing is None


def test_a_kernel_that_skips_timed_calls_is_refused() -> None:
    calls: list[int] = []

    def kernel(tensors: Tensors, call: Call) -> None:
        calls.append(1)
        if call.axes["M"] != 64 or len(calls) < 60:
            tensors["C"].copy_(tensors["A"] @ tensors["B"])

    found = judge(kernel, facts=REAL)
    assert found.outcome in (Outcome.WRONG_RESULT, Outcome.NONDETERMINISTIC)


def test_rows_never_written_are_named() -> None:
    found = judge(half)
    assert found.outcome is Outcome.WRONG_RESULT
    assert "never written" in found.feedback
    assert "dimension 0: wrong only at" in found.feedback


def test_a_changed_input_is_seen() -> None:
    def kernel(tensors: Tensors, call: Call) -> None:
        tensors["C"].copy_(tensors["A"] @ tensors["B"])
        tensors["A"].view(-1)[0] = 7.0

    found = judge(kernel)
    assert found.outcome is Outcome.INPUT_MODIFIED
    assert " A " in found.why


def test_a_write_past_the_end_is_seen() -> None:
    def kernel(tensors: Tensors, call: Call) -> None:
        c = tensors["C"]
        c.copy_(tensors["A"] @ tensors["B"])
        c.as_strided((1,), (1,), c.storage_offset() + c.numel()).fill_(1.0)

    found = judge(kernel)
    assert found.outcome is Outcome.OUT_OF_BOUNDS
    assert found.why.split(": ")[1].startswith("C")


def test_the_answer_of_the_call_before_is_a_cached_result() -> None:
    kept: dict[tuple[int, ...], torch.Tensor] = {}

    def kernel(tensors: Tensors, call: Call) -> None:
        answer = kept.setdefault(tuple(call.axes.values()), tensors["A"] @ tensors["B"])
        tensors["C"].copy_(answer)

    assert judge(kernel).outcome is Outcome.CACHED_RESULT


def test_results_that_depend_on_the_process_are_nondeterministic() -> None:
    calls = []

    def kernel(tensors: Tensors, call: Call) -> None:
        calls.append(1)
        product = tensors["A"] @ tensors["B"]
        tensors["C"].copy_(product if len(calls) % 2 else split_k(tensors["A"], tensors["B"]))

    assert judge(kernel, facts=REAL).outcome is Outcome.NONDETERMINISTIC


def test_trouble_in_the_process_is_the_outcome_and_the_device_is_probed() -> None:
    def kernel(tensors: Tensors, call: Call) -> Trouble:
        return Trouble(Outcome.CRASHED, "an illegal memory access")

    assert judge(kernel).outcome is Outcome.CRASHED
    found = judge(kernel, broken="the GPU fell off the bus")
    assert found.outcome is Outcome.INFRASTRUCTURE
    assert not found.outcome.is_about_kernel


def test_a_broken_device_is_tried_again() -> None:
    calls = []

    def kernel(tensors: Tensors, call: Call) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise BrokenDevice("no memory")
        tensors["C"].copy_(tensors["A"] @ tensors["B"])

    assert judge(kernel).outcome is Outcome.PASSED


def test_the_same_task_on_a_wrong_library_says_nothing_about_the_kernel() -> None:
    task = replace(judge_gemm.task(64), static=("K",))
    session = Session(
        task,
        reference.load(judge_gemm.REFERENCE, task),
        FakeDevice({}),
        cache_dir=Path("unused"),
        say=lambda _: None,
    )
    assert session.judge(build_of("k"), commit="c", secret=b"s").outcome is Outcome.INFRASTRUCTURE
