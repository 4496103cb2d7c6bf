"""The shipped recording made again: same ids, at once, after a crash, and with the recorded verdicts at hand."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cutegen_git.hands import data

Git = Callable[..., str]
Run = Callable[..., int]
BUNDLE = data.root("examples/gemm") / "gemm.bundle"
INSTANTS = 30


@pytest.fixture
def example(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUTEGEN_GIT_DEVICE", "none")
    assert run("new", str(tmp_path / "g"), "--example", "gemm") == 0
    return tmp_path / "g"


def recorded_refs(plain_git: Git, folder: Path) -> dict[str, str]:
    lines = plain_git(folder, "bundle", "list-heads", str(BUNDLE)).splitlines()
    refs = {name: id for id, name in (line.split(" ", 1) for line in lines)}
    return {
        name: id for name, id in refs.items() if name.startswith(("refs/heads/", "refs/cutegen/attempt/"))
    }


def refs_of(plain_git: Git, folder: Path) -> dict[str, str]:
    pattern = ("refs/heads", "refs/cutegen/attempt")
    lines = plain_git(folder, "for-each-ref", "--format=%(refname) %(objectname)", *pattern).splitlines()
    return {name: id for name, id in (line.split(" ") for line in lines)}


def test_example_starts_at_the_recorded_commit(example: Path, plain_git: Git) -> None:
    main = recorded_refs(plain_git, example)["refs/heads/main"]
    plain_git(example, "fetch", "-q", "--no-tags", str(BUNDLE), main)
    roots = plain_git(example, "rev-list", "--max-parents=0", "--first-parent", main).split()
    assert plain_git(example, "rev-parse", "main").split() == roots


def test_replay_arrives_at_the_recorded_ids(
    example: Path, run: Run, plain_git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("refine", str(example)) == 0
    assert refs_of(plain_git, example) == recorded_refs(plain_git, example)
    said = capsys.readouterr()
    assert "9 of 9 heads and attempts have the recorded ids" in said.err
    assert said.out.count("(as recorded)") == 7


def test_second_replay_changes_nothing(example: Path, run: Run, plain_git: Git) -> None:
    assert run("refine", str(example)) == 0
    before = plain_git(example, "for-each-ref")
    assert run("refine", str(example)) == 0
    assert plain_git(example, "for-each-ref") == before


def test_bundle_brings_the_recorded_verdicts_to_a_replay(
    example: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("refine", str(example)) == 0
    assert run("sync", str(BUNDLE), "-C", str(example)) == 0
    capsys.readouterr()
    assert run("log", "-C", str(example), "--json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["outcome"] for row in rows] == [
        "build-error", "passed", "passed", "build-error", "passed", "wrong-result", "passed",
    ]  # fmt: skip
    assert rows[-1]["tags"] == ["h200/0007-0.96x"]
    assert rows[-1]["believed"]


def test_clone_of_the_bundle_reads_well_with_plain_git(
    tmp_path: Path, run: Run, plain_git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    plain_git(tmp_path, "clone", "-q", str(BUNDLE), "g")
    folder = tmp_path / "g"
    assert run("log", "-C", str(folder)) == 0
    assert "cutegen-git sync" in capsys.readouterr().err  # verdicts are not in a clone, and that is said
    assert run("sync", str(BUNDLE), "-C", str(folder)) == 0
    story = plain_git(folder, "log", "--first-parent", "--format=%s", "main").splitlines()
    assert [line[:4] for line in story] == ["0007", "0005", "0003", "0002", "task"]
    assert "0007 is 0.96x as fast as torch eager on h200" in plain_git(
        folder, "tag", "-n1", "-l", "h200/0007*"
    )
    notes = plain_git(folder, "log", "-1", "--notes=cutegen/verdict/*", "--format=%N", "path/base")
    assert notes.startswith("passed 0.96x device=h200")


def start(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "cutegen_git", "refine", str(folder), "--quiet"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.mark.slow
def test_run_killed_at_thirty_instants_ends_at_the_same_ids(
    run: Run, plain_git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUTEGEN_GIT_DEVICE", "none")
    assert run("new", str(tmp_path / "whole"), "--example", "gemm") == 0
    begin = time.monotonic()
    assert start(tmp_path / "whole").wait() == 0
    whole_s = time.monotonic() - begin
    wanted, before = refs_of(plain_git, tmp_path / "whole"), set()
    for instant in range(INSTANTS):
        folder = tmp_path / f"g{instant}"
        assert run("new", str(folder), "--example", "gemm") == 0
        child = start(folder)
        time.sleep(whole_s * (0.2 + 0.8 * instant / INSTANTS))  # the first fifth is Python's own start
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        before.add(len(refs_of(plain_git, folder)))
        assert run("refine", str(folder)) == 0
        assert refs_of(plain_git, folder) == wanted
        locks = {path.name for path in (folder / ".git").rglob("*.lock")}
        assert locks <= {
            "cutegen.lock",
            "cutegen-write.lock",
            "cutegen-queue.lock",
        }  # flock files, held by nobody
        assert plain_git(folder, "status", "--porcelain") == ""
        plain_git(folder, "fsck", "--strict")
    assert len(before) >= 4  # the instants did fall at different places of the run


def test_recorded_claim_is_decided_again_from_git_alone(
    tmp_path: Path, run: Run, plain_git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    plain_git(tmp_path, "clone", "-q", str(BUNDLE), "g")
    folder = str(tmp_path / "g")
    assert run("sync", str(BUNDLE), "-C", folder) == 0
    capsys.readouterr()
    assert run("verify", "--offline", "h200/0007-0.96x", "-C", folder) == 0
    assert "samples from 3 processes give the same numbers" in capsys.readouterr().out


def test_task_inside_another_repository_is_refused_unless_that_ignores_it(
    tmp_path: Path, run: Run, plain_git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    plain_git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("/demo/\n")
    assert run("new", str(tmp_path / "other"), "--example", "gemm") == 128
    assert "one that it ignores" in capsys.readouterr().err
    assert run("new", str(tmp_path / "demo"), "--example", "gemm") == 0
    assert run("log", "-C", str(tmp_path / "demo")) == 0
