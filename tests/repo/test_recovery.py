"""Recovery from states that a kill can leave, each made by hand; what the user did meanwhile is never touched."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cutegen_git.hands.repo import MAIN, TOOL, RefUpdate, Repo
from cutegen_git.hands.repo.worktree import MARK

Make = Callable[..., Repo]
Git = Callable[..., str]
PATH = "refs/heads/path/tiling"
OLD, NEW = b"// old\n" * 50, b"// new\n" * 60


class Scene:
    """A repository with a move of path and main written down, and as much of it done as a test says."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self.old = repo.resolve(MAIN) or ""
        files = {"kernel/kernel.cu": NEW, "kernel/added.cuh": b"a\n", "kernel/gone.cuh": None}
        self.new = repo.commit(repo.tree_with(self.old, files), [self.old], "new\n", author=TOOL, at=9)
        git_dir = repo.root / ".git"
        record = {
            "format": 1,
            "reason": "advance",
            "updates": [[PATH, None, self.new], [MAIN, self.old, self.new]],
            "locks": [str(git_dir / name) for name in (f"{PATH}.lock", f"{MAIN}.lock", "HEAD.lock")],
            "worktrees": [[str(repo.root), str(git_dir), MAIN]],
        }
        (git_dir / "cutegen-txn.json").write_text(json.dumps(record))

    def file(self, name: str) -> Path:
        return self.repo.root / "kernel" / name

    def lock(self, name: str, age_s: float = 5.0, text: bytes = b"") -> Path:
        path = self.repo.root / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
        os.utime(path, (time.time() - age_s, time.time() - age_s))
        return path


@pytest.fixture
def scene(make_repo: Make) -> Scene:
    return Scene(make_repo({"kernel/kernel.cu": OLD, "kernel/gone.cuh": b"g\n", "task.toml": b"t\n"}))


def test_where_nothing_moved_nothing_happened(scene: Scene, plain_git: Git) -> None:
    (scene.repo.root / ".git/cutegen-txn.new").write_text('{"form')
    locks = [scene.lock(f"{MAIN}.lock"), scene.lock("HEAD.lock"), scene.lock("index.lock", text=MARK)]
    scene.repo.recover()
    assert scene.repo.refs("refs/") == {MAIN: scene.old}
    assert not any(lock.exists() for lock in locks)
    assert not list((scene.repo.root / ".git").glob("cutegen-txn*"))
    assert plain_git(scene.repo.root, "status", "--porcelain") == ""


def test_where_one_ref_moved_the_rest_follows(scene: Scene, plain_git: Git) -> None:
    plain_git(scene.repo.root, "update-ref", PATH, scene.new)
    lock = scene.lock(f"{MAIN}.lock")
    scene.repo.recover()
    scene.repo.recover()
    assert scene.repo.refs("refs/") == {MAIN: scene.new, PATH: scene.new}
    assert not lock.exists()
    assert plain_git(scene.repo.root, "status", "--porcelain") == ""
    assert scene.file("kernel.cu").read_bytes() == NEW


def test_a_lock_that_the_journal_does_not_name_stays(scene: Scene) -> None:
    other = scene.lock("refs/heads/feature.lock", age_s=10_000)
    index = scene.lock("index.lock", age_s=10_000)
    scene.repo.recover()
    assert other.exists()
    assert index.exists()


@pytest.mark.parametrize(
    ("kernel", "added", "gone"),
    [
        (OLD, False, True),
        (NEW[:100], False, True),
        (b"", False, True),
        (None, False, True),
        (NEW, False, False),
        (NEW, True, False),
    ],
    ids=["untouched", "half written", "just created", "just unlinked", "one done", "all done"],
)
def test_a_half_updated_worktree_is_finished(
    scene: Scene, plain_git: Git, kernel: bytes | None, added: bool, gone: bool
) -> None:
    for ref in (PATH, MAIN):
        plain_git(scene.repo.root, "update-ref", ref, scene.new)
    scene.lock("index.lock", text=MARK)
    scene.file("kernel.cu").unlink() if kernel is None else scene.file("kernel.cu").write_bytes(kernel)
    if added:
        scene.file("added.cuh").write_bytes(b"a\n")
    if not gone:
        scene.file("gone.cuh").unlink()
    scene.repo.recover()
    assert plain_git(scene.repo.root, "status", "--porcelain") == ""
    assert scene.file("kernel.cu").read_bytes() == NEW
    assert scene.file("added.cuh").exists()
    assert not scene.file("gone.cuh").exists()


def test_what_the_user_wrote_meanwhile_stays(scene: Scene, plain_git: Git) -> None:
    for ref in (PATH, MAIN):
        plain_git(scene.repo.root, "update-ref", ref, scene.new)
    scene.file("kernel.cu").write_bytes(b"mine\n")
    scene.file("added.cuh").write_bytes(b"mine too\n")
    scene.file("gone.cuh").write_bytes(b"mine as well\n")
    (scene.repo.root / "task.toml").write_bytes(b"and mine\n")
    scene.repo.recover()
    changed = plain_git(scene.repo.root, "status", "--porcelain").splitlines()
    assert changed == [" M kernel/added.cuh", " M kernel/kernel.cu", " M task.toml", "?? kernel/gone.cuh"]
    assert scene.file("kernel.cu").read_bytes() == b"mine\n"
    assert scene.file("gone.cuh").read_bytes() == b"mine as well\n"


def test_main_that_the_user_moved_on_is_left_alone(scene: Scene, plain_git: Git) -> None:
    plain_git(scene.repo.root, "update-ref", PATH, scene.new)
    plain_git(scene.repo.root, "commit", "-q", "--allow-empty", "-m", "mine")
    mine = scene.repo.resolve(MAIN)
    scene.repo.recover()
    assert scene.repo.refs("refs/") == {MAIN: mine, PATH: scene.new}
    assert plain_git(scene.repo.root, "status", "--porcelain") == ""


def test_every_write_recovers_first(scene: Scene, plain_git: Git) -> None:
    plain_git(scene.repo.root, "update-ref", PATH, scene.new)
    scene.repo.notes_append("refs/notes/cutegen/verdict/lab", scene.new, "passed")
    assert scene.repo.resolve(MAIN) == scene.new


def test_what_a_killed_run_left_is_put_right_before_a_new_run_looks(scene: Scene, plain_git: Git) -> None:
    for ref in (PATH, MAIN):
        plain_git(scene.repo.root, "update-ref", ref, scene.new)
    scene.lock("index.lock", text=MARK)
    scene.file("kernel.cu").write_bytes(NEW[:10])
    scene.repo.refuse_unready(devices=["h200"])


def test_a_young_lock_is_given_time_to_go(scene: Scene) -> None:
    lock = scene.lock(f"{MAIN}.lock", age_s=0)
    began = time.monotonic()
    scene.repo.recover()
    assert not lock.exists()
    assert time.monotonic() - began > 0.5


def test_a_move_after_recovery_works_as_ever(scene: Scene, plain_git: Git) -> None:
    scene.lock(f"{MAIN}.lock")
    scene.lock("index.lock", text=MARK)
    scene.repo.transaction([RefUpdate(MAIN, scene.old, scene.new)], "again")
    assert plain_git(scene.repo.root, "status", "--porcelain") == ""
    assert scene.repo.resolve(MAIN) == scene.new
