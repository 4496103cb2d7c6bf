"""A recording answers by label with what was recorded, and says where it ends."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from cutegen_git.core.transcript import Transcript, dump
from cutegen_git.hands.model import recording
from cutegen_git.hands.model.choose import open_model
from cutegen_git.hands.model.talk import Ask, NoReply
from cutegen_git.words.errors import ModelTrouble, TaskError


def ask(label: str) -> Ask:
    return Ask(label, "s", "u", "a" * 40)


@pytest.fixture
def replies(tmp_path: Path) -> Path:
    folder = tmp_path / "replies"
    folder.mkdir()
    (folder / "0001.reply.md").write_bytes(b"one\r\n")
    usage = {"tokens_in": 100, "tokens_out": 20, "cost_usd": 0.01, "seconds": 3.5}
    facts = {"model": "anthropic/somebody", "finish_reason": "stop", "usage": usage}
    (folder / "0001.json").write_text(json.dumps(facts))
    (folder / "0002.reply.md").write_bytes(b"```diff\n--- a")
    (folder / "0002.json").write_text(json.dumps({"model": "m", "finish_reason": "length"}))
    (folder / "0003.reply.md").write_bytes(b"plain")
    return folder


def test_a_folder_gives_the_recorded_reply_author_and_usage(replies: Path) -> None:
    model = open_model(f"replay:{replies}", repo_dir=Path(), env={})
    reply = model.ask(ask("0001"))
    assert (reply.text, reply.model, reply.finish_reason) == (b"one\r\n", "anthropic/somebody", "stop")
    assert (reply.usage.tokens_in, reply.usage.cost_usd, reply.usage.seconds) == (100, 0.01, 3.5)
    assert model.name == f"replay:{replies}"


def test_a_recorded_end_gives_the_recorded_outcome(replies: Path) -> None:
    assert open_model(f"replay:{replies}", repo_dir=Path(), env={}).ask(ask("0002")).outcome == "truncated"


def test_a_reply_without_facts_has_unknown_usage(replies: Path) -> None:
    reply = open_model(f"replay:{replies}", repo_dir=Path(), env={}).ask(ask("0003"))
    assert (reply.model, reply.usage.tokens_in, reply.usage.cost_usd) == ("replay", None, None)


def test_the_end_of_the_recording_is_said(replies: Path) -> None:
    with pytest.raises(NoReply) as caught:
        open_model(f"replay:{replies}", repo_dir=Path(), env={}).ask(ask("0004"))
    assert caught.value.trouble is ModelTrouble.NO_ANSWER
    assert "ends here" in str(caught.value)
    assert "0003" in str(caught.value)


def test_a_source_beside_the_task_is_found(replies: Path) -> None:
    assert recording.find("replies", replies.parent) == replies.parent / "replies"


def test_facts_that_are_no_json_name_the_file(replies: Path) -> None:
    (replies / "0001.json").write_text("{")
    with pytest.raises(TaskError, match=r"0001\.json"):
        open_model(f"replay:{replies}", repo_dir=Path(), env={}).ask(ask("0001"))


def test_a_file_that_is_no_bundle_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.bundle").write_text("nothing")
    with pytest.raises(TaskError, match="not a git bundle"):
        open_model(f"replay:{tmp_path}/x.bundle", repo_dir=Path(), env={}).ask(ask("0001"))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with attempts 0001 and 0002 and a transcript note for each, from two writers."""
    place = tmp_path / "task"
    git(tmp_path, "init", "-q", "-b", "main", "task")
    for label in ("0001", "0002"):
        git(place, "commit", "-q", "--allow-empty", "-m", label)
        git(place, "update-ref", f"refs/cutegen/attempt/{label}", "HEAD")
        said = Transcript(label, f"model-{label}", "s", "u", f"reply {label}\xe9".encode("latin-1"), "stop")
        git(place, "notes", f"--ref=cutegen/transcript/writer{label}", "add", "-m", dump(said))
    git(place, "commit", "-q", "--allow-empty", "-m", "no attempt")
    git(
        place,
        "notes",
        "--ref=cutegen/transcript/writer0001",
        "add",
        "-m",
        dump(Transcript("0001", "forger", "", "", b"x")),
    )
    return place


def git(where: Path, *words: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "-C", str(where), *identity, *words], check=True, capture_output=True, env=env)


@pytest.mark.parametrize("kind", ["repository", "bare", "bundle"])
def test_replies_are_read_from_the_notes_of_attempts(repository: Path, kind: str) -> None:
    source = repository
    if kind == "bare":
        source = repository.with_name("bare.git")
        git(repository, "clone", "-q", "--mirror", ".", str(source))
    if kind == "bundle":
        source = repository.with_name("run.bundle")
        git(repository, "bundle", "create", "-q", str(source), "--all")
    model = open_model(f"replay:{source}", repo_dir=Path(), env={})
    reply = model.ask(ask("0001"))
    assert (reply.text, reply.model) == (b"reply 0001\xe9", "model-0001")
    assert model.ask(ask("0002")).model == "model-0002"
    with pytest.raises(NoReply, match="the last is 0002"):
        model.ask(ask("0003"))


def test_a_recording_without_transcripts_says_so(repository: Path) -> None:
    git(repository, "update-ref", "-d", "refs/notes/cutegen/transcript/writer0001")
    git(repository, "update-ref", "-d", "refs/notes/cutegen/transcript/writer0002")
    with pytest.raises(NoReply, match="sync"):
        open_model(f"replay:{repository}", repo_dir=Path(), env={}).ask(ask("0001"))


def test_an_opened_bundle_leaves_nothing_behind(repository: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "run.bundle"
    git(repository, "bundle", "create", "-q", str(bundle), "--all")
    with recording.opened(str(bundle)) as place:
        assert recording.is_repository(place)
    assert not place.exists()
    with recording.opened(str(repository)) as place:
        assert place == repository
    with pytest.raises(TaskError, match="no history"), recording.opened(str(_folder(tmp_path))):
        pass


def _folder(tmp_path: Path) -> Path:
    (tmp_path / "r").mkdir()
    (tmp_path / "r/0001.reply.md").write_text("x")
    return tmp_path / "r"
