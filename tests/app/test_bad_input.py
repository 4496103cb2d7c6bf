"""Bad input: one line that names the fix, the right exit code, and nothing changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from desk import TASK, Desk

Git = Callable[..., str]
Run = Callable[..., int]


def complaint(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on stderr."""
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("cutegen-git: ")]
    assert len(lines) == 1, lines
    return lines[0]


def test_not_a_repository(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("refine", str(tmp_path)) == 128
    assert "cutegen-git new" in complaint(capsys)


def test_folder_that_is_not_there(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("log", "-C", str(tmp_path / "nowhere")) == 128
    assert "nowhere" in complaint(capsys)


def test_repository_without_a_task(
    run: Run, tmp_path: Path, plain_git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    plain_git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "a").write_text("a")
    plain_git(tmp_path, "add", "a")
    plain_git(tmp_path, "commit", "-qm", "a")
    assert run("log", "-C", str(tmp_path)) == 128
    assert "task.toml" in complaint(capsys)


def test_dirty_tree_is_refused_and_kept(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    (desk.folder / "reference.py").write_text("mine")
    assert desk.refine() == 128
    assert "reference.py" in complaint(capsys)
    assert (desk.folder / "reference.py").read_text() == "mine"


def test_detached_head_is_refused_for_refine_and_not_for_log(
    desk: Desk, plain_git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    plain_git(desk.folder, "checkout", "-q", "--detach")
    assert desk.refine() == 128
    assert "detached" in complaint(capsys).lower()
    assert desk.run("log", "-C", str(desk.folder)) == 0


def test_unknown_key_names_the_nearest(
    desk: Desk, plain_git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk.folder / "task.toml").write_text(TASK + "[stop]\natempts = 3\n")
    plain_git(desk.folder, "commit", "-qam", "task")
    assert desk.refine() == 128
    said = complaint(capsys)
    assert "atempts" in said
    assert "attempts" in said


def test_no_model_lists_the_choices(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert desk.run("refine", str(desk.folder)) == 128
    said = complaint(capsys)
    for choice in ("anthropic/", "openai/", "ollama/", "handoff", "replay:"):
        assert choice in said


def test_missing_key_names_its_variable(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert desk.run("refine", str(desk.folder), "--model", "anthropic/some-model") == 128
    assert "ANTHROPIC_API_KEY" in complaint(capsys)


def test_unknown_attempt_points_to_log(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert desk.run("show", "77", "-C", str(desk.folder)) == 128
    assert "cutegen-git log" in complaint(capsys)


def test_unknown_option_is_a_usage_error(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("log", "--frobnicate") == 129
    assert "frobnicate" in capsys.readouterr().err


def test_unknown_verb_is_a_usage_error(run: Run) -> None:
    assert run("refien") == 129


def test_folder_may_stand_before_the_verb_as_in_git(desk: Desk) -> None:
    assert desk.run("-C", str(desk.folder), "log") == 0


@pytest.mark.parametrize("verb", ["new", "refine", "verify", "log", "show", "report", "export", "sync", "doctor", "apply-reply", "explain-build", "explain-profile", "prompt", "next"])  # fmt: skip
def test_every_verb_teaches_in_its_help(run: Run, verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(verb, "--help") == 0
    text = capsys.readouterr().out
    assert "Usage" in text
    assert len(text.split()) > 25


def test_our_own_bug_leaves_a_log_and_says_where(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from cutegen_git.app import story

    monkeypatch.setattr(story, "rows", lambda project: 1 / 0)
    assert desk.run("log", "-C", str(desk.folder)) == 128
    said = complaint(capsys)
    assert "our bug" in said
