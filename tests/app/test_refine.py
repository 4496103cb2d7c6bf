"""The loop on a machine without a GPU: real git, real nvcc, replies through handoff."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from desk import BROKEN, GOOD, KERNEL, REPAIR, Desk, new_file

Git = Callable[..., str]


def outcomes(desk: Desk, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str, str]]:
    capsys.readouterr()
    assert desk.run("log", "-C", str(desk.folder), "--json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [(row["label"], row["move"], row["outcome"]) for row in rows]


def test_broken_kernel_is_repaired_and_then_waits_for_a_gpu(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.play(BROKEN, REPAIR)
    said = capsys.readouterr()
    assert "build-error" in said.out
    assert "verify --pending` on rtx4090" in said.out
    assert outcomes(desk, capsys) == [("0001", "generate", "build-error"), ("0002", "fix", "unsupported")]


def test_repair_prompt_shows_the_line_and_the_compilers_words(desk: Desk) -> None:
    desk.play(BROKEN)
    prompt = desk.prompt("0002")
    assert re.search(r"kernel/kernel\.cu:[56]: error: expected a", prompt)
    assert "if (i < n) z[i] = x[i] + y[i]" in prompt
    assert "repair 1 of 3" in prompt


def test_every_reply_is_a_commit_under_its_attempt_ref(desk: Desk, plain_git: Git) -> None:
    desk.play("I would rather talk.", BROKEN, REPAIR)
    refs = plain_git(desk.folder, "for-each-ref", "--format=%(refname)", "refs/cutegen/").split()
    assert refs == [f"refs/cutegen/attempt/000{n}" for n in (1, 2, 3)]
    idle = plain_git(desk.folder, "show", "-s", "--format=%T %B", "refs/cutegen/attempt/0001")
    assert idle.split()[0] == plain_git(desk.folder, "rev-parse", "main^{tree}").strip()
    assert "Outcome: no-diff" in idle


def test_repair_hangs_on_the_broken_attempt(desk: Desk, plain_git: Git) -> None:
    desk.play(BROKEN, REPAIR)
    parents = plain_git(desk.folder, "rev-list", "--parents", "-1", "refs/cutegen/attempt/0002").split()
    assert parents[1:] == [plain_git(desk.folder, "rev-parse", "refs/cutegen/attempt/0001").strip()]


def test_author_is_the_model_and_trailers_read_with_plain_git(desk: Desk, plain_git: Git) -> None:
    desk.play(BROKEN)
    text = plain_git(
        desk.folder,
        "log",
        "-1",
        "--format=%an|%ae|%cn|%s|%(trailers:key=Attempt,valueonly)",
        "refs/cutegen/attempt/0001",
    )
    assert text.strip().startswith("handoff|handoff@cutegen.invalid|cutegen-git|first kernel|0001")


def test_main_and_worktree_do_not_move_without_a_measured_attempt(desk: Desk, plain_git: Git) -> None:
    before = plain_git(desk.folder, "rev-parse", "main")
    desk.play(GOOD)
    assert plain_git(desk.folder, "rev-parse", "main") == before
    assert plain_git(desk.folder, "tag") == ""
    assert plain_git(desk.folder, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("", "empty"),
        ("No diff here.", "no-diff"),
        (GOOD.replace("b/kernel/kernel.cu", "b/reference.py"), "outside-allowed-files"),
        (GOOD.replace("b/kernel/kernel.cu", "b/kernel/../../x.cu"), "path-traversal"),
        (GOOD.replace("b/kernel/kernel.cu", "/etc/kernel.cu"), "absolute-path"),
        (GOOD.removesuffix("```\n"), "truncated"),
        (REPAIR, "file-not-found"),
    ],
)
def test_unusable_reply_is_an_attempt_with_its_outcome(
    desk: Desk, reply: str, outcome: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert desk.refine() == 0
    desk.answer("0001", reply)
    assert desk.refine() == 0
    found = outcomes(desk, capsys)
    if outcome == "empty":  # an empty file is no answer yet
        assert found == []
        return
    assert found == [("0001", "generate", outcome)]
    assert outcome in desk.prompt("0002")


def test_kernel_that_was_tried_before_is_not_built_again(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = "  if (i < n) z[i] = x[i] + y[i]\n", "  if (i < n) z[i] = x[i] - y[i]\n"
    there = f"```diff\n--- a/kernel/kernel.cu\n+++ b/kernel/kernel.cu\n@@\n-{old}+{new}```\n"
    back = f"```diff\n--- a/kernel/kernel.cu\n+++ b/kernel/kernel.cu\n@@\n-{new}+{old}```\n"
    desk.play(BROKEN, there, back)
    assert ("0003", "fix", "repeated") in outcomes(desk, capsys)
    assert "tried before" in desk.prompt("0004")


def test_repairs_end_and_a_new_kernel_is_asked_for(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.play("one", "two", "three", "four")
    assert [move for _, move, _ in outcomes(desk, capsys)] == ["generate", "fix", "fix", "fix"]
    assert "Write the first" in desk.prompt("0005") or "first" in desk.prompt("0005")


def test_limit_on_attempts_stops_the_run_with_the_reason(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert desk.refine("--attempts", "1") == 0
    desk.answer("0001", "nothing")
    assert desk.refine("--attempts", "1") == 0
    assert "[stop] attempts = 1" in capsys.readouterr().out


def test_reply_kept_before_a_crash_is_used_and_not_asked_for_again(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from cutegen_git.app import propose

    desk.refine()
    desk.answer("0001", BROKEN)
    with monkeypatch.context() as patch:
        patch.setattr(propose, "settle", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert desk.refine() == 130
    (desk.folder / ".cutegen/handoff/0001.reply.md").unlink()
    assert desk.refine() == 0
    assert "the reply came before the last run ended" in capsys.readouterr().err
    assert outcomes(desk, capsys) == [("0001", "generate", "build-error")]


def test_show_tells_intent_verdict_feedback_and_diff(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.play(BROKEN)
    capsys.readouterr()
    assert desk.run("show", "1", "-C", str(desk.folder), "--reply") == 0
    text = capsys.readouterr().out
    for part in ("first kernel", "build-error", "expected a", "+++ b/kernel/kernel.cu", "--- reply ---"):
        assert part in text


def test_verify_of_a_persons_kernel_makes_it_an_attempt(
    desk: Desk, plain_git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk.folder / "kernel").mkdir()
    (desk.folder / "kernel/kernel.cu").write_text(KERNEL)
    plain_git(desk.folder, "add", "kernel")
    plain_git(desk.folder, "commit", "-qm", "My own kernel")
    assert desk.run("verify", "-C", str(desk.folder)) == 125
    assert "unsupported: no GPU here" in capsys.readouterr().out
    assert outcomes(desk, capsys) == [("0001", "person", "unsupported")]


def test_quiet_says_nothing_on_stderr_and_json_is_one_object_a_line(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.refine("--quiet")
    desk.answer("0001", BROKEN)
    capsys.readouterr()
    assert desk.refine("--quiet", "--json") == 0
    said = capsys.readouterr()
    assert said.err == ""
    records = [json.loads(line) for line in said.out.splitlines()]
    assert records[0]["outcome"] == "build-error"
    assert records[-1]["ended"] == "waiting"


def test_second_run_at_once_names_the_first_ones_pid(desk: Desk, task_folder: Path) -> None:
    from cutegen_git.hands.repo import Repo

    with Repo.open(task_folder) as repo, repo.lock():
        done = subprocess.run(
            [sys.executable, "-m", "cutegen_git", "refine", str(task_folder), "--model", "handoff"],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 128
    assert "pid" in done.stderr or "process" in done.stderr


def test_task_is_made_under_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., int]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("new", "g", "--example", "gemm") == 0
    assert run("log", "-C", "g") == 0


def test_kernel_that_no_honest_one_resembles_is_refused_before_building(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.play(new_file(KERNEL.replace("#include <cuda_runtime.h>", "#include <cublas_v2.h>")))
    [(_, _, outcome)] = outcomes(desk, capsys)
    assert outcome == "rejected-before-build"
    assert "cublas_v2.h" in desk.prompt("0002")
