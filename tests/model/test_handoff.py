"""Prompt file out, reply file in: nothing half written, nothing for another prompt, nothing lost."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from cutegen_git.hands.model.handoff import Handoff
from cutegen_git.hands.model.talk import Ask, NoReply
from cutegen_git.words.errors import ModelTrouble, RepoError

ASK = Ask("0003", "System.", "User.", "a" * 40)


def waiting(repo: Path, said: list[str] | None = None) -> Handoff:
    return Handoff(repo, wait=True, say=(said if said is not None else []).append, poll_s=0.02, settle_s=0.1)


def leaving(repo: Path, said: list[str] | None = None, author: str = "handoff") -> Handoff:
    notes = said if said is not None else []
    return Handoff(repo, wait=False, author=author, say=notes.append, poll_s=0.02, settle_s=0.1)


def answer(repo: Path, text: bytes, *, age_s: float = 5.0) -> Path:
    path = repo / ".cutegen/handoff/0003.reply.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    os.utime(path, (time.time() - age_s,) * 2)
    return path


def test_without_a_reply_it_leaves_the_prompt_and_says_how_to_go_on(tmp_path: Path) -> None:
    with pytest.raises(NoReply) as caught:
        leaving(tmp_path).ask(ASK)
    assert caught.value.trouble is ModelTrouble.NO_ANSWER
    assert "0003.reply.md" in str(caught.value)
    assert "same command again" in str(caught.value)
    prompt = (tmp_path / ".cutegen/handoff/0003.prompt.md").read_text()
    assert "System." in prompt
    assert "User." in prompt


def test_the_same_command_again_takes_the_reply_raw(tmp_path: Path) -> None:
    with pytest.raises(NoReply):
        leaving(tmp_path).ask(ASK)
    answer(tmp_path, b"caf\xe9\r\n")
    reply = leaving(tmp_path, author="somebody").ask(ASK)
    assert reply.text == b"caf\xe9\r\n"
    assert (reply.model, reply.finish_reason, reply.outcome) == ("somebody", None, None)
    assert (reply.usage.tokens_in, reply.usage.cost_usd) == (None, None)
    assert leaving(tmp_path).ask(ASK).text == b"caf\xe9\r\n"  # and again, if the run died before its commit


def test_git_ignores_the_files(tmp_path: Path) -> None:
    with pytest.raises(NoReply):
        leaving(tmp_path).ask(ASK)
    assert (tmp_path / ".cutegen/.gitignore").read_text() == "*\n"


def test_a_blank_reply_is_none(tmp_path: Path) -> None:
    with pytest.raises(NoReply):
        leaving(tmp_path).ask(ASK)
    answer(tmp_path, b" \n")
    with pytest.raises(NoReply):
        leaving(tmp_path).ask(ASK)


def test_a_reply_to_another_prompt_is_put_aside_and_not_used(tmp_path: Path) -> None:
    with pytest.raises(NoReply):
        leaving(tmp_path).ask(ASK)
    answer(tmp_path, b"old reply")
    said: list[str] = []
    with pytest.raises(NoReply):
        leaving(tmp_path, said).ask(replace(ASK, user="Another."))
    assert "answers another prompt" in said[0]
    kept = list((tmp_path / ".cutegen/handoff").glob("0003.reply.other-*.md"))
    assert [path.read_bytes() for path in kept] == [b"old reply"]
    assert not (tmp_path / ".cutegen/handoff/0003.reply.md").exists()


def test_waiting_takes_a_slowly_written_reply_whole(tmp_path: Path) -> None:
    said: list[str] = []

    def write() -> None:
        path = tmp_path / ".cutegen/handoff/0003.reply.md"
        while not path.with_name("0003.prompt.md").exists():
            time.sleep(0.01)
        with path.open("wb") as file:
            for part in (b"first ", b"second ", b"third"):
                file.write(part)
                file.flush()
                time.sleep(0.05)

    writer = threading.Thread(target=write)
    writer.start()
    reply = waiting(tmp_path, said).ask(ASK)
    writer.join()
    assert reply.text == b"first second third"
    assert len(said) == 1
    assert "Ctrl-C" in said[0]


def test_a_file_dated_in_the_future_is_taken(tmp_path: Path) -> None:
    with pytest.raises(NoReply):
        leaving(tmp_path).ask(ASK)
    answer(tmp_path, b"hello", age_s=-3600)
    assert leaving(tmp_path).ask(ASK).text == b"hello"


def test_a_link_out_of_the_repository_is_refused(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "repo/.cutegen").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RepoError):
        leaving(tmp_path / "repo").ask(ASK)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_label_is_never_a_path(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no label"):
        leaving(tmp_path).ask(replace(ASK, label="../../x"))
