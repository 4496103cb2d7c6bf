"""Measured again: reproduced, refuted, withdrawn; and lines that read back as they were written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from claims.stall import AT, Stall
from hypothesis import given
from hypothesis import strategies as st

from cutegen_git.app import claims
from cutegen_git.app.claims_line import LINE_BYTES, ClaimLine, Fate, line_id, parse_line, render_line
from cutegen_git.app.project import notes_ref
from cutegen_git.words.verdict import Outcome

ID = "0123456789ab"
CLAIM_REF = notes_ref("claim", "rtx4090-lab")


@pytest.fixture
def stall(tmp_path: Path) -> Stall:
    return Stall.new(tmp_path / "task")


def again(stall: Stall, tag: str, speedup: float | None, seed: int = 7) -> ClaimLine | None:
    return claims.judge_claim(stall.project, tag, stall.verdict(speedup, seed=seed), ID)


@pytest.mark.parametrize(
    ("speedup", "word"),
    [(1.43, "reproduced"), (1.42, "reproduced"), (1.60, "reproduced"), (1.30, "refuted"), (None, "refuted")],
)
def test_new_verdict_says_how_the_claim_stands(stall: Stall, speedup: float | None, word: str) -> None:
    tag = stall.claim()
    assert claims.standing(stall.project)[0].word == "claimed"
    line = again(stall, tag, speedup)
    assert line is not None
    assert line.fate.value == word
    assert claims.standing(stall.project)[0].word == word
    report = claims.offline(stall.project, tag)
    assert report.exit_code == (1 if word == "refuted" else 0)
    assert f"{word} by rtx4090-lab" in report.text


def test_refuted_says_why(stall: Stall) -> None:
    tag = stall.claim()
    slow, wrong = again(stall, tag, 1.3), again(stall, tag, None)
    assert slow is not None
    assert wrong is not None
    assert slow.why.startswith("1.30x is below the claimed 1.4")
    assert wrong.why == "wrong-result: z is wrong"


def test_verdict_that_says_nothing_about_the_claim_writes_nothing(stall: Stall) -> None:
    tag = stall.claim()
    verdict = stall.verdict(1.2)
    for other in (
        replace(verdict, device="h200"),
        replace(verdict, task="0" * 16),
        replace(verdict, kernel_tree="0" * 40),
        replace(verdict, timing=None, outcome=Outcome.UNSUPPORTED),
        replace(verdict, timing=None),
    ):
        assert claims.judge_claim(stall.project, tag, other, ID) is None
    assert stall.project.repo.notes_read(CLAIM_REF) == {}


def test_newest_line_decides(stall: Stall) -> None:
    tag = stall.claim()
    again(stall, tag, 1.3)
    line = claims.judge_claim(stall.project, tag, replace(stall.verdict(1.43, seed=8), at=AT + 50), ID)
    assert line is not None
    assert claims.standing(stall.project)[0].word == "reproduced"


def test_withdrawn_claim_stays_withdrawn_with_its_tag(stall: Stall) -> None:
    tag = stall.claim()
    claims.withdraw(stall.project, tag, "rtx4090-lab", "the clocks were not locked", AT + 60)
    [found] = claims.standing(stall.project)
    assert found.word == "withdrawn"
    assert stall.project.repo.tags()[0].ref == f"refs/tags/{tag}"
    assert "the clocks were not locked" in claims.offline(stall.project, tag).text


def test_strangers_line_counts_for_nothing(stall: Stall) -> None:
    tag = stall.claim()
    claims.judge_claim(stall.project, tag, stall.verdict(1.1, runner="somebody"), ID)
    assert claims.standing(stall.project)[0].word == "claimed"


def test_line_under_another_runners_ref_counts_for_nothing(stall: Stall) -> None:
    tag = stall.claim()
    line = ClaimLine(Fate.REFUTED, tag, ID, ID, 1, AT, "somebody", 1.43)
    stall.project.repo.notes_append(CLAIM_REF, stall.commit.id, render_line(line))
    assert claims.standing(stall.project)[0].word == "claimed"


numbers = st.floats(0.001, 1000, allow_nan=False).map(lambda x: round(x, 4))


@given(
    st.sampled_from(Fate),
    numbers,
    st.none() | st.tuples(numbers, numbers, numbers),
    st.text(max_size=900),
    st.integers(0, 2**40),
)
def test_line_reads_back_as_it_was_written(
    fate: Fate, claimed: float, measured: tuple[float, float, float] | None, why: str, at: int
) -> None:
    line = ClaimLine(fate, "h200/b0007-0.96x", ID, "", 1, at, "h200-lab", claimed, measured, why)
    text = render_line(line)
    assert len(text.encode()) <= LINE_BYTES
    assert "\n" not in text
    assert line_id(text)
    found = parse_line(text)
    assert found is not None
    assert " ".join(why.split()).startswith(found.why)
    assert replace(found, why="") == replace(line, why="")


@pytest.mark.parametrize("text", ["", "reproduced", "refuted tag=x id=0123456789ab", 'x="'])
def test_other_text_is_no_line(text: str) -> None:
    assert parse_line(text) is None


def test_altered_line_is_no_line() -> None:
    text = render_line(ClaimLine(Fate.REFUTED, "h200/0007-0.96x", ID, ID, 1, AT, "h200-lab", 0.96))
    assert parse_line(text) is not None
    assert parse_line(text.replace("refuted", "reproduced")) is None
