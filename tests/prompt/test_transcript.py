"""A transcript is one line of ASCII and comes back as it was, whatever bytes the model sent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutegen_git.core.transcript import Call, Transcript, dump, dump_calls, load, load_all, load_calls
from cutegen_git.words.attempt import Spend
from cutegen_git.words.errors import RepoError

SAID = Transcript("0003", "anthropic/x", "sys", "user", b"reply", "stop", Spend(1, 2, 0.5, 3.25))


@given(
    reply=st.binary(max_size=200)
    | st.text(max_size=100).map(lambda text: text.encode("utf-8", "surrogatepass")),
    user=st.text(st.characters(blacklist_categories=["Cs"]), max_size=100),
    spend=st.builds(
        Spend,
        st.none() | st.integers(0, 10**9),
        st.none() | st.integers(0, 10**9),
        st.none() | st.floats(0, 100),
        st.floats(0, 9999),
    ),
    finish=st.none() | st.sampled_from(["stop", "length"]),
)
def test_round_trip(reply: bytes, user: str, spend: Spend, finish: str | None) -> None:
    said = Transcript("b0012", "m", "s", user, reply, finish, spend)
    line = dump(said)
    assert load(line) == said
    assert line.isascii()
    assert len(line.splitlines()) == 1


def test_text_stays_readable() -> None:
    assert '"reply": "reply"' in dump(SAID)
    assert "reply_base64" in dump(Transcript("1", "m", "", "", b"\xff"))


def test_a_note_may_hold_several() -> None:
    other = Transcript("0004", "m", "", "", b"")
    assert list(load_all(f"{dump(SAID)}\n\n{dump(other)}\n")) == [SAID, other]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "nothing",
        "[]",
        "{}",
        '{"format": 2}',
        '{"format": 1}',
        dump(SAID).replace('"spend": {', '"spend": {"x": 1, '),
    ],
)
def test_what_is_no_transcript_is_a_repo_error(line: str) -> None:
    with pytest.raises(RepoError):
        load(line)


def test_the_ledger_comes_back() -> None:
    calls = [Call(1764585600, 1.5, 429, trouble="rate-limit"), Call(1764585602, 2.0, None, 15, 0.25)]
    note = dump_calls("0003", calls)
    assert note.endswith("\n")
    assert load_calls(note + "\n") == [("0003", calls[0]), ("0003", calls[1])]
    with pytest.raises(RepoError):
        load_calls('{"format": 1, "label": "1", "nonsense": 2}')
