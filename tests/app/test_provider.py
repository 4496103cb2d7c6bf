"""The loop against a provider over HTTP: each kind of answer ends in a clear state, and nothing paid for is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from desk import BROKEN, GOOD
from model.provider import Answer, Provider, chat, error, serving

from cutegen_git.hands.model import choose
from cutegen_git.hands.model.ask import Patience

Run = Callable[..., int]
MODEL = "openai/kernel-coder"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTEGEN_GIT_DEVICE", "none")
    monkeypatch.setitem(
        choose.open_model.__kwdefaults__,
        "patience",
        Patience(tries=3, total_s=20.0, call_s=2.0, delay_s=0.01, longest_delay_s=0.05),
    )


def refine(
    run: Run, folder: Path, patch: pytest.MonkeyPatch, *script: Answer, attempts: int = 1
) -> tuple[int, Provider]:
    with serving(*script) as provider:
        patch.setenv("CUTEGEN_GIT_API_BASE", provider.url)
        patch.setenv("OPENAI_API_KEY", "sk-secret-key-1234567890")
        code = run("refine", str(folder), "--model", MODEL, "--attempts", str(attempts))
    return code, provider


def rows(run: Run, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str]]:
    capsys.readouterr()
    run("log", "-C", str(folder), "--json")
    return [(r["label"], r["outcome"]) for r in map(json.loads, capsys.readouterr().out.splitlines())]


def test_reply_over_http_becomes_a_commit_by_that_model(
    run: Run,
    task_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    plain_git: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, provider = refine(run, task_folder, monkeypatch, chat(GOOD))
    assert code == 0
    assert len(provider.requests) == 1
    text = plain_git(task_folder, "show", "-s", "--format=%an %B", "refs/cutegen/attempt/0001")
    assert text.startswith(MODEL)
    assert "Tokens: 10+5" in text
    assert "Cost-USD" not in text  # this model has no price: unknown is not nothing
    assert rows(run, task_folder, capsys) == [("0001", "unsupported")]


def test_rate_limit_is_waited_out_and_is_no_attempt(
    run: Run, task_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    busy = error(429, "Rate limit reached", code="rate_limit_exceeded")
    code, provider = refine(run, task_folder, monkeypatch, busy, chat(GOOD))
    assert (code, len(provider.requests)) == (0, 2)
    assert rows(run, task_folder, capsys) == [("0001", "unsupported")]


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (error(500, "oops"), "500"),
        (error(429, "You exceeded your current quota", code="insufficient_quota"), "quota"),
        (error(401, "Incorrect API key provided: sk-secret-key-1234567890"), "key"),
        (error(404, "The model does not exist", code="model_not_found"), "model"),
        (Answer(200, chat(GOOD).body, delay_s=3.0), "time"),
    ],
)
def test_call_without_a_reply_stops_the_run_and_is_no_attempt(
    run: Run,
    task_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: Answer,
    word: str,
) -> None:
    code, _ = refine(run, task_folder, monkeypatch, answer)
    said = capsys.readouterr().err
    assert code == 128
    assert word in said.lower()
    assert "sk-secret" not in said
    assert rows(run, task_folder, capsys) == []


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (chat(GOOD[:200], "length"), "truncated"),
        (chat("", "stop"), "empty-reply"),
        (chat(None, "stop"), "empty-reply"),
        (chat(None, "stop", message={"refusal": "I cannot help with that."}), "refused"),
        (chat("Let me explain instead.", usage=False), "no-diff"),
    ],
)
def test_paid_reply_without_a_kernel_is_an_attempt(
    run: Run,
    task_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: Answer,
    outcome: str,
) -> None:
    code, _ = refine(run, task_folder, monkeypatch, answer)
    assert code == 0
    assert rows(run, task_folder, capsys) == [("0001", outcome)]


def test_too_long_prompt_is_shortened_once_and_then_stops(
    run: Run, task_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, provider = refine(
        run, task_folder, monkeypatch, error(400, "prompt is too long: 9000 tokens > 8000 maximum")
    )
    assert code == 128
    assert len(provider.requests) <= 2


def test_key_is_nowhere_in_the_repository(
    run: Run, task_folder: Path, monkeypatch: pytest.MonkeyPatch, plain_git: Callable[..., str]
) -> None:
    refine(run, task_folder, monkeypatch, chat(BROKEN), chat(GOOD), attempts=2)
    objects = plain_git(task_folder, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    for item in objects:
        if plain_git(task_folder, "cat-file", "-t", item).strip() != "tree":
            assert "sk-secret" not in plain_git(task_folder, "cat-file", "-p", item)


def test_failed_calls_stand_in_the_ledger(
    run: Run, task_folder: Path, monkeypatch: pytest.MonkeyPatch, plain_git: Callable[..., str]
) -> None:
    refine(run, task_folder, monkeypatch, error(500, "oops"))
    notes = plain_git(task_folder, "log", "-1", "--notes=cutegen/ledger/proposer", "--format=%N", "main")
    assert len([line for line in notes.splitlines() if line.startswith("{")]) == 3
