"""The loop on a machine without a GPU: every attempt is checked on the emulator and none is timed."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from desk import GOOD, KERNEL, Desk, new_file

Git = Callable[..., str]


@pytest.fixture
def emulated(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("CUTEGEN_GIT_DEVICE", "emulator")
    return desk


def edit(old: str, new: str, intent: str = "another idea") -> str:
    """A reply that changes one line of the kernel."""
    return f"Intent: {intent}\n\n```diff\n--- a/kernel/kernel.cu\n+++ b/kernel/kernel.cu\n@@\n-{old}\n+{new}\n```\n"


def outcomes(desk: Desk, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str]]:
    capsys.readouterr()
    assert desk.run("log", "-C", str(desk.folder), "--json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [(row["move"], row["outcome"]) for row in rows]


def test_passing_kernel_is_checked_and_not_timed(
    emulated: Desk, plain_git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    before = plain_git(emulated.folder, "rev-parse", "main")
    emulated.play(GOOD)
    assert outcomes(emulated, capsys) == [("generate", "passed")]
    assert plain_git(emulated.folder, "tag") == ""
    assert plain_git(emulated.folder, "rev-parse", "main") == before
    verdict = plain_git(
        emulated.folder,
        "log",
        "-1",
        "--notes=cutegen/verdict/*",
        "--format=%N",
        "refs/cutegen/attempt/0001",
    )
    assert verdict.startswith("passed device=emulator ")
    assert "speedup" not in verdict


def test_wrong_result_becomes_the_next_prompts_feedback(
    emulated: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    emulated.play(new_file(KERNEL.replace("x[i] + y[i]", "x[i] - y[i]")))
    assert outcomes(emulated, capsys) == [("generate", "wrong-result")]
    prompt = emulated.prompt("0002")
    assert "gives a wrong result" in prompt
    assert "z[0]: got" in prompt or "z[" in prompt


def test_write_behind_the_end_is_refused_with_its_line(
    emulated: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    emulated.play(new_file(KERNEL.replace("if (i < n)", "if (i <= n)")))
    assert outcomes(emulated, capsys) == [("generate", "out-of-bounds")]
    assert "kernel.cu:5" in emulated.prompt("0002")


def test_run_goes_ahead_as_far_as_it_may_and_then_waits(
    emulated: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "  if (i < n) z[i] = x[i] + y[i];"
    two, three = "  if (i < n) z[i] = y[i] + x[i];", "  if (n > i) z[i] = y[i] + x[i];"
    emulated.play(GOOD, edit(line, two), edit(two, three))
    assert outcomes(emulated, capsys) == [
        ("generate", "passed"),
        ("optimise", "passed"),
        ("optimise", "passed"),
    ]
    assert emulated.refine() == 0
    said = capsys.readouterr().out
    assert "0001, 0002, 0003 wait for `cutegen-git verify --pending` on rtx4090" in said


def test_verify_on_the_emulator_has_gits_exit_codes(
    emulated: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    emulated.play(new_file(KERNEL.replace("x[i] + y[i]", "x[i] - y[i]")))
    folder = str(emulated.folder)
    assert emulated.run("verify", "1", "-C", folder, "--device", "emulator", "--again") == 1
    assert emulated.run("verify", "1", "-C", folder, "--device", "none", "--again") == 125


@pytest.mark.slow
def test_recorded_race_of_the_example_is_found_with_its_line(
    run: Callable[..., int],
    tmp_path: object,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CUTEGEN_GIT_DEVICE", "emulator")
    folder = f"{tmp_path}/g"
    assert run("new", folder, "--example", "gemm") == 0
    assert run("refine", folder) == 0
    said = capsys.readouterr().out
    assert "0006  non-finite-output" in said
    assert said.count("  passed\n") == 4  # 0002, 0003, 0005, 0007
    assert run("show", "6", "-C", folder) == 0
    shown = capsys.readouterr().out
    assert "data of a cp.async touched before its wait" in shown
    assert "called from line 176" in shown


def test_failed_check_on_a_gpu_is_explained_by_the_emulator(emulated: Desk) -> None:
    """The GPU's verdict is given; the build, the emulator and what it says are real."""
    from dataclasses import replace

    from cutegen_git.app.bench import Bench, Judging
    from cutegen_git.app.project import Project
    from cutegen_git.words.verdict import Outcome

    emulated.play(new_file(KERNEL.replace("if (i < n)", "if (i <= n)")))
    project = Project.open(emulated.folder)
    bench = Bench(project, lambda line: None, wanted="emulator")
    [commit] = project.attempts()
    sources = project.kernel_files(commit.id)
    verdict = replace(project.verdicts()[commit.id][0], outcome=Outcome.WRONG_RESULT, device="rtx4090")
    told = bench._explained(Judging(verdict, "z is wrong"), commit, sources, bench.build(sources))
    assert told.verdict is verdict
    assert told.feedback.startswith("z is wrong\n\nOn the CPU emulator (out-of-bounds):\n")
    assert "kernel.cu:5" in told.feedback


def test_gpu_that_passes_what_the_emulator_refused_takes_that_rules_veto(
    emulated: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The GPU's verdict is given; the emulator's refusal, the store and the second judging are real."""
    from dataclasses import replace

    from cutegen_git.app.bench import Bench
    from cutegen_git.app.project import Project
    from cutegen_git.devices.emulator import disagreements
    from cutegen_git.words.verdict import Outcome

    emulated.play(new_file(KERNEL.replace("if (i < n)", "if (i <= n)")))
    project = Project.open(emulated.folder)
    store = tmp_path_factory.mktemp("disagreements")
    monkeypatch.setattr(Bench, "disagreements", store)
    bench = Bench(project, lambda line: None, wanted="emulator")
    [commit] = project.attempts()
    [refused] = project.verdicts()[commit.id]
    assert refused.outcome is Outcome.OUT_OF_BOUNDS
    bench.note_disagreement(
        commit, refused, replace(refused, outcome=Outcome.PASSED, device="rtx4090", why="")
    )
    assert disagreements.kinds(store) == {"oob-global"}
    assert bench.judge(commit).verdict.outcome is not Outcome.OUT_OF_BOUNDS
