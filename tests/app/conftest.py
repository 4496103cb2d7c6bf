"""A task repository, and a model that answers through handoff files as a person would."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from desk import REFERENCE, TASK, Desk

from cutegen_git.commands import cli
from cutegen_git.hands.repo import Repo


@pytest.fixture
def run() -> Callable[..., int]:
    return lambda *words: cli.run(list(words))


@pytest.fixture
def task_folder(tmp_path: Path) -> Path:
    files = {"task.toml": TASK.encode(), "reference.py": REFERENCE.encode(), ".gitignore": b".cutegen/\n"}
    Repo.create(tmp_path / "task", files, "add\n", 1_700_000_000).close()
    return tmp_path / "task"


@pytest.fixture
def desk(task_folder: Path, run: Callable[..., int], monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("CUTEGEN_GIT_HANDOFF", "exit")
    monkeypatch.setenv("CUTEGEN_GIT_DEVICE", "none")
    return Desk(task_folder, run)
