"""`cutegen-git sync` as typed: results on stdout, one line for what is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from cutegen_git.commands import sync
from cutegen_git.hands.repo import ATTEMPTS, MAIN, NOTES, RefUpdate, Repo
from cutegen_git.words.errors import RepoError

Make = Callable[..., Repo]
Git = Callable[..., str]


def call(*words: str) -> str:
    """stdout of `sync`; exceptions come through, as the root of the commands wants them."""
    app = typer.Typer()
    sync.register(app)
    done = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def task(make_repo: Make) -> Repo:
    repo = make_repo({"task.toml": b"[publish]\ntranscript = false\n", "kernel/kernel.cu": b"x\n"})
    main = repo.resolve(MAIN) or ""
    repo.transaction([RefUpdate(f"{ATTEMPTS}0001", None, main)], "attempt")
    repo.notes_append(f"{NOTES}verdict/lab", main, "passed")
    repo.notes_append(f"{NOTES}transcript/proposer", main, "secret")
    return repo


def test_a_bundle_made_cloned_and_synced(task: Repo, tmp_path: Path, plain_git: Git) -> None:
    file, clone = tmp_path / "x.bundle", tmp_path / "clone"
    said = call("-C", str(task.root), "--export", str(file))
    assert said == f"to {file}: 1 attempt, notes verdict/lab, main\n"
    plain_git(tmp_path, "clone", "-q", str(file), str(clone))
    assert call(str(file), "-C", str(clone)) == f"from {file}: 1 attempt, notes verdict/lab\n"
    record = json.loads(call("-C", str(clone), "--json"))
    assert record == {"source": "origin", "came": [], "went": [], "stayed": []}


def test_without_a_remote_the_error_names_the_fix(task: Repo) -> None:
    with pytest.raises(RepoError, match="git remote add origin URL"):
        call("-C", str(task.root))


def test_a_remote_and_export_at_once_are_refused(task: Repo) -> None:
    app = typer.Typer()
    sync.register(app)
    done = CliRunner().invoke(app, ["origin", "--export", "x.bundle", "-C", str(task.root)])
    assert done.exit_code == 2
    assert "not both" in done.stderr


def test_no_git_at_all_is_one_clear_line(tmp_path: Path) -> None:
    code = "from cutegen_git.hands.repo import Repo"
    env = {"PATH": str(tmp_path), "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 1
    assert b"git is not installed: install git 2.38 or later" in done.stderr
