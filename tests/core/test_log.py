"""The formats in git cannot change later: every record comes back from its text as it was."""

from __future__ import annotations

import string
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutegen_git.core.log import (
    Claim,
    parse_claim,
    parse_commit,
    parse_verdict,
    render_claim,
    render_commit,
    render_verdict,
    tag_name,
    verdict_id,
)
from cutegen_git.core.log.verdict import LINE_BYTES
from cutegen_git.words.attempt import Attempt, Label, Spend
from cutegen_git.words.verdict import Outcome, Resources, Timing, Verdict

words = st.text(string.ascii_letters + string.digits + " ._-/=\"'\\:é", max_size=40)
one_line = words.map(lambda text: " ".join(text.split()))
labels = st.builds(Label, st.integers(0, 99999), st.sampled_from(["", "b", "c"]))
micros = st.floats(0.001, 1e9).map(lambda value: round(value, 3))
timings = st.tuples(st.floats(0.01, 0.99), st.floats(1.0, 9.0), micros, one_line.filter(bool)).map(
    lambda t: Timing(round(t[1], 4), round(t[0], 4), round(t[1] * 1.5, 4), t[2], t[2], t[3], t[2])
)
verdicts = st.builds(
    Verdict,
    outcome=st.just(Outcome.PASSED),
    device=st.just("rtx4090"),
    runner=st.just("rtx4090-lab"),
    commit=st.sampled_from(["a" * 40, "f" * 64]),
    kernel_tree=st.sampled_from(["b" * 40, "0" * 64]),
    task=st.just("0123456789abcdef"),
    code=st.sampled_from(["sm_89", "compute_89->sm_90"]),
    at=st.integers(0, 2**40),
    why=one_line,
    timing=st.none() | timings,
    resources=st.none()
    | st.builds(Resources, st.integers(0, 255), st.integers(0, 10**6), st.integers(0, 10**6)),
    seconds=st.dictionaries(
        st.sampled_from(["build", "check", "time"]), st.floats(0, 1e4).map(lambda s: round(s, 1))
    ),
)


@given(
    st.builds(
        Attempt,
        label=labels,
        path=st.just("base"),
        move=st.sampled_from(["generate", "fix", "optimise"]),
        subject=one_line.filter(bool),
        body=one_line,
        parent_attempt=st.none() | labels,
        outcome=st.none() | st.just("no-diff"),
        model=one_line,
        spend=st.builds(
            Spend,
            st.none() | st.integers(0, 10**7),
            st.none() | st.integers(0, 10**7),
            st.none() | st.integers(0, 10**6).map(lambda micro: micro / 10**6),
            st.integers(0, 10**4).map(lambda tenth: tenth / 10),
        ),
        task=st.just("0123456789abcdef"),
    )
)
def test_attempt_comes_back_from_its_commit_message(attempt: Attempt) -> None:
    assert parse_commit(render_commit(attempt)) == attempt


@given(verdicts)
def test_verdict_comes_back_from_its_line_within_600_bytes(verdict: Verdict) -> None:
    line = render_verdict(verdict)
    assert len(line.encode()) <= LINE_BYTES
    assert "\n" not in line
    back = parse_verdict(line)
    assert back is not None
    assert render_verdict(back) == line
    assert replace(back, why="") == replace(verdict, why="")
    assert verdict.why.startswith(back.why)


@given(timings, labels)
def test_claim_comes_back_from_its_tag_message(timing: Timing, label: Label) -> None:
    claim = Claim(
        label, "h200", timing, "0123456789ab", "task", "tree", 1, {"Driver": "580.1", "Clocks": "1980 MHz"}
    )
    assert parse_claim(render_claim(claim)) == claim


def test_long_reason_is_cut_and_the_numbers_stay() -> None:
    verdict = Verdict(
        Outcome.WRONG_RESULT, "h200", "r", "a" * 64, "b" * 64, "t" * 16, "sm_89", 1, why="é wrong " * 200
    )
    back = parse_verdict(render_verdict(verdict))
    assert back is not None
    assert back.commit == "a" * 64
    assert 50 < len(back.why) < 600


def test_altered_line_is_not_read() -> None:
    line = render_verdict(
        Verdict(Outcome.WRONG_RESULT, "h200", "r", "a" * 40, "b" * 40, "t" * 16, "sm_89", 1, why="at C[3]")
    )
    assert parse_verdict(line) is not None
    assert parse_verdict(line.replace("wrong-result", "passed")) is None
    assert parse_verdict(line[:-1]) is None
    assert parse_verdict("") is None


def test_first_words_of_a_line_read_as_a_sentence() -> None:
    timing = Timing(0.9312, 0.92, 0.94, 2880.1, 2890.0, "eager", 2681.9)
    line = render_verdict(
        Verdict(Outcome.PASSED, "h200", "r", "a" * 40, "b" * 40, "t", "sm_89", 1, timing=timing)
    )
    assert line.startswith("passed 0.93x device=h200 ")
    assert len(verdict_id(line)) == 12


def test_tag_name_holds_gpu_label_and_two_decimals() -> None:
    timing = Timing(1.4349, 1.42, 1.45, 1.0, 1.0, "eager", 1.4)
    verdict = Verdict(Outcome.PASSED, "rtx4090", "r", "a" * 40, "b" * 40, "t", "sm_89", 1, timing=timing)
    assert tag_name(Label(12), verdict) == "refs/tags/rtx4090/0012-1.43x"


@pytest.mark.parametrize("text", ["", "\n\n\n", "Format: 1", "a\n\nFormat: 1\nAttempt: zzz", "\x00\x01"])
def test_strange_message_without_label_is_nobodys_attempt(text: str) -> None:
    assert parse_commit(text) is None


def test_persons_commit_is_an_attempt_by_its_ref() -> None:
    attempt = parse_commit("Use 128-bit loads\n\nFaster on my card.\n", Label(7))
    assert attempt is not None
    assert (attempt.move, attempt.subject, attempt.body) == (
        "person",
        "Use 128-bit loads",
        "Faster on my card.",
    )


def test_body_cannot_forge_trailers() -> None:
    attempt = Attempt(Label(3), "base", "fix", "subject", body="text\n\nAttempt: 0099\nOutcome: no-diff")
    back = parse_commit(render_commit(attempt))
    assert back is not None
    assert back.label == Label(3)
    assert back.outcome is None


def test_labels_sort_as_numbers() -> None:
    assert sorted([Label(10), Label(9), Label(10, "b")]) == [Label(9), Label(10), Label(10, "b")]
    assert [str(Label(12)), str(Label(12, "b")), str(Label(123456))] == ["0012", "b0012", "123456"]
    assert Label.parse("12") == Label(12)
    assert Label.parse("best") is None
