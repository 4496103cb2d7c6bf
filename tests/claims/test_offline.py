"""`verify --offline`: a claim is decided again from git alone, and whatever was touched is seen."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from claims.stall import AT, Stall, samples_of

from cutegen_git.app import claims
from cutegen_git.app.project import MAIN, Project, notes_ref
from cutegen_git.hands import data
from cutegen_git.hands.repo import TOOL, RefUpdate
from cutegen_git.words.errors import RepoError
from cutegen_git.words.verdict import Verdict

Git = Callable[..., str]


@pytest.fixture
def stall(tmp_path: Path) -> Stall:
    return Stall.new(tmp_path / "task")


def said(stall: Stall, tag: str, code: int) -> str:
    report = claims.offline(stall.project, tag)
    assert report.exit_code == code, report.text
    return report.text


def test_honest_claim_holds_by_every_question(stall: Stall) -> None:
    text = said(stall, stall.claim(), 0)
    assert text.count("ok  ") == 7, text
    assert "samples from 3 processes give the same numbers" in text
    assert text.endswith("the claim holds")


def test_claim_is_found_by_the_attempts_label(stall: Stall) -> None:
    tag = stall.claim()
    assert claims.offline(stall.project, "1").tag == tag
    with pytest.raises(RepoError, match=tag):
        claims.offline(stall.project, "2")


def test_tag_that_is_no_claim_is_said(stall: Stall) -> None:
    stall.project.repo.tag("v1", stall.project.main, "a release", at=AT)
    assert "no claim" in said(stall, "v1", 1)


def better(verdict: Verdict) -> Verdict:
    assert verdict.timing is not None
    return replace(verdict, timing=replace(verdict.timing, speedup=2.5, high=2.6))


def test_numbers_that_the_samples_do_not_give_are_refused(stall: Stall) -> None:
    text = said(stall, stall.claim(change=better), 1)
    assert "no      the samples give 1.4" in text
    assert "the claim is 2.5000x" in text


def test_interval_narrower_than_the_samples_allow_is_refused(stall: Stall) -> None:
    def narrow(verdict: Verdict) -> Verdict:
        assert verdict.timing is not None
        return replace(verdict, timing=replace(verdict.timing, low=verdict.timing.low + 0.0005))

    assert "the samples give" in said(stall, stall.claim(change=narrow), 1)


def test_altered_verdict_line_is_seen(stall: Stall) -> None:
    tag = stall.claim()
    ref = notes_ref("verdict", "rtx4090-lab")
    line = stall.project.repo.notes_read_one(ref, stall.commit.id)
    stall.project.repo.notes_replace(ref, stall.commit.id, line.replace("code=sm_89", "code=sm_90"))
    assert "was altered after it was written" in said(stall, tag, 1)


def test_verdict_that_is_not_there_is_seen(stall: Stall) -> None:
    tag = stall.claim()
    ref = notes_ref("verdict", "rtx4090-lab")
    stall.project.repo.notes_replace(ref, stall.commit.id, "another line\n")
    assert "no runner's notes hold the verdict" in said(stall, tag, 1)


def test_clone_without_notes_says_what_to_fetch(stall: Stall, tmp_path: Path, plain_git: Git) -> None:
    tag = stall.claim()
    plain_git(tmp_path, "clone", "-q", str(stall.project.repo.root), "copy")
    report = claims.offline(Project.open(tmp_path / "copy"), tag)
    assert report.exit_code == 125
    assert "run cutegen-git sync" in report.text


def test_missing_samples_are_told_from_wrong_ones(stall: Stall) -> None:
    tag = stall.claim()
    stall.project.repo.notes_replace(notes_ref("samples", "rtx4090-lab"), stall.commit.id, "")
    assert "the samples of verdict" in said(stall, tag, 125)


@pytest.mark.parametrize("text", ["{}", "[]", '{"verdict": 3}', "not json"])
def test_damaged_samples_do_not_stop_the_report(stall: Stall, text: str) -> None:
    tag = stall.claim()
    stall.project.repo.notes_replace(notes_ref("samples", "rtx4090-lab"), stall.commit.id, f"{text}\n")
    said(stall, tag, 125)


@pytest.mark.parametrize(
    "ns", [{}, {"attempt/a/0/0": [1]}, {"x": [1]}, {"attempt/a/0/0": [0], "baseline:e/a/0/0": [1]}]
)
def test_samples_that_decide_nothing_are_refused(stall: Stall, ns: dict[str, list[int]]) -> None:
    tag = stall.claim()
    project = stall.project
    record = json.loads(project.repo.notes_read_one(notes_ref("samples", "rtx4090-lab"), stall.commit.id))
    record["ns"] = ns
    project.repo.notes_replace(
        notes_ref("samples", "rtx4090-lab"), stall.commit.id, json.dumps(record) + "\n"
    )
    said(stall, tag, 1 if ns else 125)


def test_tag_under_another_name_is_seen(stall: Stall) -> None:
    tag = stall.claim()
    [raw] = stall.project.repo.tags()
    stall.project.repo.tag("rtx4090/0001-9.99x", stall.commit.id, raw.message, at=AT)
    assert "its message says rtx4090/0001-1.4" in said(stall, "rtx4090/0001-9.99x", 1)
    said(stall, tag, 0)


def test_tag_on_another_commit_is_seen(stall: Stall) -> None:
    tag = stall.claim()
    [raw] = stall.project.repo.tags()
    stall.project.repo.transaction([RefUpdate(raw.ref, raw.id, None)], "forge")
    stall.project.repo.tag(tag, stall.project.main, raw.message, at=AT)
    text = said(stall, tag, 1)
    assert "kernel/ of the commit is tree missing" in text


def test_unlisted_runner_does_not_count(stall: Stall) -> None:
    tag = stall.claim(change=lambda verdict: replace(verdict, runner="somebody"))
    assert "claimed by somebody, not verified here" in said(stall, tag, 1)


def test_runner_of_another_device_does_not_count(stall: Stall) -> None:
    tag = stall.claim(change=lambda verdict: replace(verdict, device="h200"))
    assert "lists rtx4090-lab for rtx4090, not for h200" in said(stall, tag, 1)


def edit_main(stall: Stall, name: str, old: bytes, new: bytes) -> None:
    repo, main = stall.project.repo, stall.project.main
    text = repo.files_at(main)[name].replace(old, new)
    made = repo.commit(repo.tree_with(main, {name: text}), [main], "Edit\n", author=TOOL, at=AT + 9)
    repo.transaction([RefUpdate(MAIN, main, made)], "edit")
    stall.reopen()


def test_changed_task_makes_the_claim_stale_and_not_wrong(stall: Stall) -> None:
    tag = stall.claim()
    edit_main(stall, "reference.py", b"return x + y", b"return y + x")
    text = said(stall, tag, 0)
    assert "note    stale: main had the task" in text
    [found] = claims.standing(stall.project)
    assert (found.word, found.tag) == ("stale", tag)


def test_task_that_main_never_had_is_refused(stall: Stall) -> None:
    tag = stall.claim(change=lambda verdict: replace(verdict, task="0123456789abcdef"))
    assert "main never had the task" in said(stall, tag, 1)


def test_older_judge_makes_the_claim_stale(stall: Stall) -> None:
    tag = stall.claim(change=lambda verdict: replace(verdict, judge=0))
    assert "stale: judged by version 0" in said(stall, tag, 0)
    assert claims.standing(stall.project)[0].word == "stale"


def test_every_claim_of_the_recorded_run_holds(tmp_path: Path, plain_git: Git) -> None:
    plain_git(tmp_path, "clone", "-q", "--mirror", str(data.root("examples/gemm") / "gemm.bundle"), "run.git")
    project = Project.open(tmp_path / "run.git")
    found = claims.standing(project)
    assert found
    for item in found:
        report = claims.offline(project, item.tag)
        assert report.exit_code == 0, report.text
        assert "give the same numbers" in report.text


def test_nothing_heavy_is_imported(stall: Stall) -> None:
    code = "import sys; from cutegen_git.app import claims; print([m for m in ('torch', 'numpy', 'litellm') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_samples_are_as_stable_as_the_claims_digits() -> None:
    assert samples_of(1.43) == samples_of(1.43)
