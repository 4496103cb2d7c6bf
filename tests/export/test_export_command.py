"""`export` in a task repository: which kernels go out, and what they say of themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from desk import TASK
from export import host
from report.scene import RUNNERS, Scene, hostile, small, timing, unjudged

from cutegen_git.app import export as app_export
from cutegen_git.app.export_facts import gather
from cutegen_git.app.project import Project
from cutegen_git.commands import export
from cutegen_git.words.errors import RepoError, TaskError
from cutegen_git.words.verdict import Outcome


def run(*words: str) -> None:
    app = typer.Typer()
    export.register(app)
    app.command("other")(lambda: None)
    app(args=["export", *words], standalone_mode=False)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Exports only read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        return small(tmp_path_factory.mktemp("scene") / "task")


def test_best_goes_out_with_its_claim(scene: Scene, tmp_path: Path) -> None:
    run("--as", "kernelbench", "-o", str(tmp_path / "new.py"), "-C", str(scene.folder))
    text = (tmp_path / "new.py").read_text()
    assert "# Claim: tag rtx4090/0007-1.13x: 1.13x (95 % interval [1.125, 1.135]) against torch eager on rtx4090: 1412.6 us before" in text  # fmt: skip
    assert "Driver 580.95.05" in text
    assert "// persistent blocks, streaming stores" in text


def test_package_goes_into_a_new_folder_only(scene: Scene, tmp_path: Path) -> None:
    words = ("3", "--as", "torch-op", "-o", str(tmp_path / "out"), "-C", str(scene.folder))
    run(*words)
    assert (tmp_path / "out/cutegen_add/kernel/kernel.cu").read_bytes() == gather(
        Project.open(scene.folder), "3"
    ).sources["kernel.cu"]
    assert "1.02x" in (tmp_path / "out/README.md").read_text()
    with pytest.raises(TaskError, match="not empty; name a new folder"):
        run(*words)


@pytest.mark.parametrize(
    ("revision", "why"),
    [
        ("1", "0001 has no passing verdict"),
        ("5", "0005 has no passing verdict"),
        ("6", "0006 has no passing verdict"),
        ("4", "0004 has no kernel of its own: no-diff"),
        ("99", "99 is no attempt here"),
    ],
)
def test_what_did_not_pass_is_not_exported(scene: Scene, revision: str, why: str) -> None:
    with pytest.raises(RepoError, match=why):
        gather(scene.project, revision)


def test_unverified_kernel_says_so(scene: Scene) -> None:
    exported = gather(scene.project, "6", unverified=True)
    assert "# UNVERIFIED: no verdict of a GPU that counts" in app_export.kernelbench(exported)


def test_verdict_of_a_stranger_exports_nothing(tmp_path: Path) -> None:
    scene = Scene.new(tmp_path / "task")
    scene.judge(scene.attempt("idea"), timing=timing(9.5), runner="stranger")
    with pytest.raises(RepoError, match="no passing verdict of a GPU that counts"):
        gather(scene.project, "1")


def test_kernel_that_passed_on_the_emulator_alone_is_not_exported(tmp_path: Path) -> None:
    scene = Scene.new(tmp_path / "task", TASK + RUNNERS + 'box = { device = "emulator" }\n')
    scene.judge(scene.attempt("idea"), device="emulator", runner="box")
    with pytest.raises(RepoError, match="no passing verdict of a GPU"):
        gather(scene.project, "1")


def test_kernel_that_passed_elsewhere_and_failed_at_home_is_not_exported(tmp_path: Path) -> None:
    scene = Scene.new(tmp_path / "task")
    commit = scene.attempt("idea")
    scene.judge(commit, timing=timing(1.2), device="h200", runner="h200-lab")
    assert "passed on h200" in gather(scene.project, "1").about[1]
    scene.judge(commit, Outcome.WRONG_RESULT, why="differs")
    with pytest.raises(RepoError, match="no passing verdict"):
        gather(scene.project, "1")


def test_nothing_verified_yet_names_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(RepoError, match="nothing is verified on rtx4090 yet"):
        gather(unjudged(tmp_path / "task").project, "best")


def test_words_of_a_stranger_stay_comments(tmp_path: Path) -> None:
    scene = Scene.new(tmp_path / "task")
    evil = 'fine"""\nraise SystemExit(1)\u2028raise SystemExit(2)\x0craise SystemExit(3)\r#'
    scene.judge(scene.attempt(evil[:60]), timing=timing(1.3))
    exported = gather(scene.project, "1")
    host.kernelbench(exported, tmp_path)
    host.package(exported, tmp_path / "package")
    assert all(len(line.splitlines()) == 1 for line in exported.about)


def test_hostile_repository_exports_an_honest_kernel(tmp_path: Path) -> None:
    scene = hostile(tmp_path / "task")
    host.kernelbench(gather(scene.project, "best"), tmp_path)
