"""The guard, claims and signatures as a user meets them: through `verify`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from claims.keys import make_key, public
from claims.stall import Stall
from desk import KERNEL, REFERENCE, TASK

from cutegen_git.app import claims
from cutegen_git.app.project import Project
from cutegen_git.commands import cli
from cutegen_git.hands import data, signing
from cutegen_git.hands.repo import Repo

Git = Callable[..., str]


@pytest.fixture(autouse=True)
def no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTEGEN_GIT_DEVICE", "none")


def run(*words: str) -> int:
    return cli.run(list(words))


def test_offline_decides_every_claim_of_the_recording(
    tmp_path: Path, plain_git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = data.root("examples/gemm") / "gemm.bundle"
    plain_git(tmp_path, "clone", "-q", "--mirror", str(bundle), "g")
    for item in claims.standing(Project.open(tmp_path / "g")):
        assert run("verify", "--offline", item.tag, "-C", str(tmp_path / "g")) == 0
        assert "the claim holds" in capsys.readouterr().out


def test_offline_of_a_forged_claim_ends_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stall = Stall.new(tmp_path / "task")
    tag = stall.claim()
    [raw] = stall.project.repo.tags()
    stall.project.repo.tag("rtx4090/0001-9.99x", stall.commit.id, raw.message, at=raw.at)
    assert run("verify", "--offline", tag, "-C", str(tmp_path / "task")) == 0
    assert run("verify", "--offline", "rtx4090/0001-9.99x", "-C", str(tmp_path / "task")) == 1
    assert "the claim does not hold" in capsys.readouterr().out


def test_claim_measured_again_without_its_device_ends_with_125(tmp_path: Path) -> None:
    tag = Stall.new(tmp_path / "task").claim()
    assert run("verify", tag, "-C", str(tmp_path / "task")) == 125


def task_with(folder: Path, kernel: str, runners: str = "") -> Path:
    files = {
        "task.toml": TASK + runners,
        "reference.py": REFERENCE,
        "kernel/kernel.cu": kernel,
        ".gitignore": ".cutegen/\n",
    }
    Repo.create(folder, {name: text.encode() for name, text in files.items()}, "add\n", 1_700_000_000).close()
    return folder


def test_forbidden_call_is_refused_with_its_line_and_nothing_is_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = task_with(
        tmp_path / "task", KERNEL.replace("  add::kernel<<<", "  cudaDeviceSynchronize();\n  add::kernel<<<")
    )
    assert run("verify", "-C", str(folder)) == 1
    said = capsys.readouterr()
    assert "forbidden-call: kernel/kernel.cu:9: cudaDeviceSynchronize: launch() only enqueues" in said.out
    assert "building" not in said.err


def test_forbidden_symbol_is_refused_after_the_build(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = 'extern "C" int fork();\n' + KERNEL.replace("  add::kernel<<<", "  fork();\n  add::kernel<<<")
    assert run("verify", "-C", str(task_with(tmp_path / "task", text))) == 1
    assert "forbidden-symbol: the library calls fork" in capsys.readouterr().out


@pytest.mark.skipif(not signing.is_available(), reason="no ssh-keygen")
def test_runner_with_a_key_signs_and_only_that_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    key = make_key(tmp_path)
    runners = f'[runners]\nlab = {{ device = "rtx4090", key = "{public(key).strip()}" }}\n'
    folder = task_with(tmp_path / "task", KERNEL + "int broken =\n", runners)
    monkeypatch.setenv("CUTEGEN_GIT_RUNNER", "lab")
    assert run("verify", "-C", str(folder)) == 128
    assert "count only when signed; set CUTEGEN_GIT_SIGNING_KEY" in capsys.readouterr().err
    monkeypatch.setenv("CUTEGEN_GIT_SIGNING_KEY", str(key))
    assert run("verify", "-C", str(folder)) == 1
    project = Project.open(folder)
    [commit] = project.attempts()
    assert len(project.verdicts()[commit.id]) == 1
    project.repo.notes_replace("refs/notes/cutegen/sig/lab", commit.id, "")
    assert project.verdicts() == {}
    assert len(project.verdicts(trusted=False)[commit.id]) == 1
