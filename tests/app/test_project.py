"""Writing to a task repository: paths never go back, strangers' tags do not count, main keeps its own files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from desk import KERNEL

from cutegen_git.app import verify
from cutegen_git.app.project import TOOL, Project
from cutegen_git.core import policy
from cutegen_git.core.history import Judged
from cutegen_git.core.policy import Setting
from cutegen_git.hands import machine
from cutegen_git.words.attempt import Attempt, Commit, Label
from cutegen_git.words.move import Advance
from cutegen_git.words.verdict import Outcome, Timing, Verdict

HOME = "rtx4090"


@pytest.fixture
def project(task_folder: Path) -> Iterator[Project]:
    opened = Project.open(task_folder)
    yield opened
    opened.repo.close()


def add(project: Project, number: int, parent: str, **files: str) -> Commit:
    changed = {"kernel/kernel.cu": f"// {number}\n{KERNEL}".encode()}
    changed |= {path.replace("__", "."): text.encode() for path, text in files.items()}
    said = Attempt(Label(number), "base", "optimise", f"idea {number}", task=project.task_hash)
    return project.add_attempt(said, parent, changed, author=TOOL, at=1_700_000_000 + number)


def measured(project: Project, commit: Commit, speedup: float, runner: str = "") -> Verdict:
    timing = Timing(speedup, speedup * 0.99, speedup * 1.01, 1.0, 1.0, "eager", speedup)
    name = runner or machine.runner_name(HOME, {})
    verdict = Verdict(
        Outcome.PASSED, HOME, name, commit.id, commit.kernel_tree, project.task_hash, "sm_89", commit.at, timing=timing
    )  # fmt: skip
    line = project.record(verdict, {}, "")
    project.claim(commit, verdict, line, {}, commit.at)
    return verdict


def follow(project: Project) -> str | None:
    """The label that leads after path and main have moved."""
    setting = Setting(project.task.limits, HOME, HOME)
    history = project.history()
    move = policy.next_advance(history, setting)
    assert isinstance(move, Advance)
    verify.advance(project, history, move, HOME, 1_700_001_000)
    assert policy.next_advance(project.history(), setting) is None  # it has come to rest
    return project.history().path_heads["base"]


def test_faster_child_moves_path_and_main(project: Project) -> None:
    one = add(project, 1, project.main)
    measured(project, one, 0.5)
    assert follow(project) == one.id
    two = add(project, 2, one.id)
    measured(project, two, 0.9)
    assert follow(project) == two.id
    assert project.repo.resolve("refs/heads/path/base") == two.id
    assert project.repo.tree_of(project.main, "kernel") == two.kernel_tree


def test_faster_sibling_leads_and_the_path_still_goes_forward(project: Project) -> None:
    root = add(project, 1, project.main)
    measured(project, root, 0.5)
    follow(project)
    left, right = add(project, 2, root.id), add(project, 3, root.id)
    measured(project, left, 0.8)
    follow(project)
    before = project.repo.resolve("refs/heads/path/base")
    measured(project, right, 0.9)
    assert follow(project) == right.id
    after = project.repo.resolve("refs/heads/path/base")
    assert before is not None
    assert after is not None
    assert project.repo.is_ancestor(before, after)
    assert project.repo.tree_of(project.main, "kernel") == right.kernel_tree


def test_attempt_that_edits_other_files_does_not_bring_them_to_main(project: Project) -> None:
    one = add(project, 1, project.main, reference__py="import os\n", README__md="trust me\n")
    measured(project, one, 2.0)
    follow(project)
    files = project.repo.files_at(project.main)
    assert files["kernel/kernel.cu"].startswith(b"// 1\n")
    assert files["reference.py"] == project.reference
    assert "README.md" not in files


def test_strangers_tag_does_not_take_a_labels_claim(project: Project) -> None:
    one = add(project, 1, project.main)
    project.repo.tag(f"refs/tags/{HOME}/0001-9.99x", one.id, "trust me\n", at=1_700_000_000)
    measured(project, one, 0.5)
    assert project.claims(one.attempt.label, HOME) == [f"{HOME}/0001-0.50x"]


def test_strangers_verdict_moves_nothing_and_is_shown_as_claimed(project: Project) -> None:
    from cutegen_git.app import story

    one = add(project, 1, project.main)
    measured(project, one, 9.0, runner="somebody")
    assert policy.next_advance(project.history(), Setting(project.task.limits, HOME, HOME)) is None
    assert [row.believed for row in story.rows(project)] == [False]


def test_promotion_message_leaves_out_the_winners_own_line(project: Project) -> None:
    one = add(project, 1, project.main)
    measured(project, one, 0.5)
    lost = add(project, 2, one.id)
    measured(project, lost, 0.4)
    won = add(project, 3, one.id)
    measured(project, won, 0.9)
    history = project.history()
    judged = history.find(Label(3))
    assert isinstance(judged, Judged)
    text = verify.promotion_message(history, judged, HOME)
    assert text.startswith("0003: idea 3\n\n0.90x torch eager on rtx4090")
    assert "Before: 0001 with 0.50x." in text
    assert "- 0002 idea 2 (0.40x)" in text
    assert "0001 idea" not in text


def test_verdict_of_another_task_hash_is_another_era(project: Project) -> None:
    one = add(project, 1, project.main)
    verdict = measured(project, one, 0.5)
    assert project.history().attempts[0].speedup(HOME) == 0.5
    project.record(replace(verdict, task="0" * 16, at=verdict.at + 1), {}, "")
    assert len(project.history().attempts[0].verdicts) == 1
