"""Ref transactions: all or nothing, against old values, with the checked-out branch taken along."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cutegen_git.hands.repo import TOOL, RefChanged, RefUpdate, Repo, tidy, txn, worktree
from cutegen_git.words.errors import RepoError

Make = Callable[..., Repo]
Git = Callable[..., str]
MAIN = "refs/heads/main"


def attempt(repo: Repo, base: str, text: bytes, at: int = 9, name: str = "kernel/kernel.cu") -> str:
    return repo.commit(repo.tree_with(base, {name: text}), [base], "an attempt\n", author=TOOL, at=at)


def head(repo: Repo) -> str:
    return repo.resolve(MAIN) or ""


def test_a_reply_leaves_the_inbox_with_the_birth_of_its_attempt(make_repo: Make) -> None:
    repo = make_repo()
    repo.inbox_put("0001", b"raw reply")
    repo.inbox_put("0001", b"raw reply")
    assert repo.inbox() == {"0001": b"raw reply"}
    with pytest.raises(RepoError, match="another reply for 0001"):
        repo.inbox_put("0001", b"other")
    made = attempt(repo, head(repo), b"// 1\n")
    repo.transaction(
        [RefUpdate("refs/cutegen/attempt/0001", None, made)], "attempt 0001", inbox_done=["0001"]
    )
    assert repo.inbox() == {}
    assert repo.refs("refs/cutegen/") == {"refs/cutegen/attempt/0001": made}


def test_packed_refs_are_moved_and_deleted_as_well(make_repo: Make, plain_git: Git) -> None:
    repo = make_repo()
    repo.inbox_put("0001", b"raw reply")
    repo.resolve("HEAD")
    plain_git(repo.root, "pack-refs", "--all", "--prune")
    plain_git(repo.root, "gc", "-q", "--prune=now")
    assert repo.inbox() == {"0001": b"raw reply"}
    main = head(repo)
    made = attempt(repo, main, b"// 1\n")
    updates = [RefUpdate("refs/cutegen/attempt/0001", None, made), RefUpdate(MAIN, main, made)]
    repo.transaction(updates, "attempt 0001", inbox_done=["0001"])
    assert repo.refs("refs/") == {"refs/cutegen/attempt/0001": made, MAIN: made}


def test_ctrl_c_inside_a_move_leaves_it_whole(
    make_repo: Make, plain_git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = make_repo()
    main = head(repo)
    made = attempt(repo, main, b"// 1\n")
    calls = []
    real = worktree.follow

    def interrupted(*args: Any, dry_run: bool, keep: Any) -> None:
        if not dry_run:
            calls.append(args)
            raise KeyboardInterrupt
        real(*args, dry_run=dry_run, keep=keep)

    monkeypatch.setattr(txn, "follow", interrupted)
    with pytest.raises(KeyboardInterrupt):
        repo.transaction([RefUpdate(MAIN, main, made)], "advance")
    assert calls
    assert head(repo) == made
    assert plain_git(repo.root, "status", "--porcelain") == ""
    assert not list(repo.common_dir.glob("cutegen-txn*"))


def test_many_loose_objects_are_packed_and_none_is_lost(
    make_repo: Make, plain_git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = make_repo()
    dangling = repo.blob(b"nobody names me")
    ref = "refs/notes/cutegen/verdict/lab"
    for start in range(0, 360, 90):  # below a hundred at a time they lie loose
        ids = [(f"{number:040x}"[::-1], f"line {number}") for number in range(start, start + 90)]
        repo.notes_append_all(ref, ids, at=1)
    assert not list((repo.common_dir / "objects/pack").glob("*.pack"))
    monkeypatch.setattr(tidy, "_MANY", 0)
    repo.recover()
    assert len(list((repo.common_dir / "objects/pack").glob("*.pack"))) == 1
    assert int(plain_git(repo.root, "count-objects").split()[0]) < 20
    assert repo.read_blob(dangling) == b"nobody names me"
    assert len(repo.notes_read(ref)) == 360


def test_one_wrong_old_value_moves_nothing(make_repo: Make) -> None:
    repo = make_repo()
    main = head(repo)
    made = attempt(repo, main, b"// 1\n")
    for wrong in (RefUpdate("refs/cutegen/attempt/0002", made, main), RefUpdate(MAIN, None, made)):
        with pytest.raises(RefChanged):
            repo.transaction([RefUpdate("refs/cutegen/attempt/0001", None, made), wrong], "wrong")
        assert repo.refs("refs/") == {MAIN: main}
        assert not list(repo.common_dir.glob("cutegen-txn*"))


def test_main_moves_with_its_worktree(make_repo: Make, plain_git: Git) -> None:
    repo = make_repo()
    main = head(repo)
    made = repo.commit(
        repo.tree_with(main, {"kernel/kernel.cu": b"// 1\n", "kernel/new.cuh": b"n\n", "task.toml": None}),
        [main], "one\n", author=TOOL, at=9,
    )  # fmt: skip
    repo.transaction([RefUpdate(MAIN, main, made)], "advance main")
    assert plain_git(repo.root, "status", "--porcelain") == ""
    assert (repo.root / "kernel/kernel.cu").read_bytes() == b"// 1\n"
    assert not (repo.root / "task.toml").exists()
    assert "advance main" in plain_git(repo.root, "reflog", "-1", "main")


def test_a_branch_in_a_linked_worktree_moves_with_it(make_repo: Make, plain_git: Git, tmp_path: Path) -> None:
    repo = make_repo()
    main = head(repo)
    plain_git(repo.root, "worktree", "add", "-q", "-b", "path/tiling", str(tmp_path / "linked"))
    made = attempt(repo, main, b"// 1\n")
    repo.transaction([RefUpdate("refs/heads/path/tiling", main, made)], "advance")
    assert plain_git(tmp_path / "linked", "status", "--porcelain") == ""
    assert (tmp_path / "linked/kernel/kernel.cu").read_bytes() == b"// 1\n"
    assert (repo.root / "kernel/kernel.cu").read_bytes() == b"// 0\n"


def test_a_change_of_the_user_in_the_way_stops_the_move_before_it_begins(make_repo: Make) -> None:
    repo = make_repo()
    main = head(repo)
    made = attempt(repo, main, b"// 1\n")
    (repo.root / "kernel/kernel.cu").write_bytes(b"mine\n")
    with pytest.raises(
        RepoError, match="main is checked out in .* with changes in the way .*kernel/kernel.cu"
    ):
        repo.transaction(
            [RefUpdate(MAIN, main, made), RefUpdate("refs/cutegen/attempt/0001", None, made)], "advance"
        )
    assert repo.refs("refs/") == {MAIN: main}
    assert (repo.root / "kernel/kernel.cu").read_bytes() == b"mine\n"
    assert not (repo.root / ".git/index.lock").exists()
    assert not list((repo.root / ".git").glob("cutegen-*.json"))


def test_an_edit_of_equal_size_in_the_same_second_is_seen(make_repo: Make) -> None:
    for number in range(5):
        repo = make_repo(name=f"task{number}")
        file = repo.root / "kernel/kernel.cu"
        before = file.stat()
        file.write_bytes(b"mine\n")  # as long as the committed text
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        main = head(repo)
        made = attempt(repo, main, b"// 1\n")
        with pytest.raises(RepoError, match="changes in the way"):
            repo.transaction([RefUpdate(MAIN, main, made)], "advance")
        assert file.read_bytes() == b"mine\n"


def test_a_file_that_was_only_touched_is_not_in_the_way(make_repo: Make) -> None:
    repo = make_repo()
    main = head(repo)
    os.utime(repo.root / "kernel/kernel.cu", (1, 1))
    repo.transaction([RefUpdate(MAIN, main, attempt(repo, main, b"// 1\n"))], "advance")
    assert (repo.root / "kernel/kernel.cu").read_bytes() == b"// 1\n"


def test_an_untracked_file_in_the_way_stops_the_move(make_repo: Make) -> None:
    repo = make_repo()
    main = head(repo)
    made = attempt(repo, main, b"new\n", name="kernel/new.cuh")
    (repo.root / "kernel/new.cuh").write_bytes(b"mine\n")
    with pytest.raises(RepoError, match="changes in the way"):
        repo.transaction([RefUpdate(MAIN, main, made)], "advance")
    assert (repo.root / "kernel/new.cuh").read_bytes() == b"mine\n"


def test_a_change_elsewhere_survives_the_move(make_repo: Make, plain_git: Git) -> None:
    repo = make_repo()
    main = head(repo)
    (repo.root / "task.toml").write_bytes(b"format = 1 # mine\n")
    repo.transaction([RefUpdate(MAIN, main, attempt(repo, main, b"// 1\n"))], "advance")
    assert plain_git(repo.root, "status", "--porcelain") == " M task.toml\n"
    assert (repo.root / "kernel/kernel.cu").read_bytes() == b"// 1\n"


def test_the_users_index_lock_stops_the_move_and_stays(make_repo: Make) -> None:
    repo = make_repo()
    main = head(repo)
    lock = repo.root / ".git/index.lock"
    lock.write_bytes(b"")
    with pytest.raises(RepoError, match="index.lock exists"):
        repo.transaction([RefUpdate(MAIN, main, attempt(repo, main, b"// 1\n"))], "advance")
    assert lock.exists()
    assert head(repo) == main


def test_a_lock_of_another_git_on_a_ref_stops_the_move_and_stays(make_repo: Make) -> None:
    repo = make_repo()
    main = head(repo)
    lock = repo.root / ".git/refs/heads/main.lock"
    lock.write_bytes(b"")
    with pytest.raises(RepoError, match="another git process"):
        repo.transaction([RefUpdate(MAIN, main, attempt(repo, main, b"// 1\n"))], "advance")
    assert lock.exists()


def test_a_branch_in_the_way_of_a_path_is_named(make_repo: Make, plain_git: Git) -> None:
    repo = make_repo()
    plain_git(repo.root, "branch", "path")
    with pytest.raises(RepoError, match="in the way.*refs/heads/path"):
        repo.transaction([RefUpdate("refs/heads/path/tiling", None, head(repo))], "advance")


def test_a_damaged_journal_is_named_and_not_guessed_at(make_repo: Make) -> None:
    repo = make_repo()
    (repo.common_dir / "cutegen-txn.json").write_text("{")
    with pytest.raises(RepoError, match="damaged"):
        repo.recover()
    (repo.common_dir / "cutegen-txn.json").write_text(json.dumps({"format": 2}))
    with pytest.raises(RepoError, match="later cutegen-git"):
        repo.recover()


def test_a_second_run_is_told_who_holds_the_lock(make_repo: Make) -> None:
    repo = make_repo()
    with repo.lock(wait_s=0), Repo.open(repo.root) as second:
        with pytest.raises(RepoError, match=f"taken by process {os.getpid()} on "), second.lock(wait_s=0.05):
            pass
        second.notes_append("refs/notes/cutegen/verdict/a", head(repo), "single writes need no run lock")
    with repo.lock(wait_s=0):
        pass


def test_a_bare_repository_takes_refs_and_notes(make_repo: Make, plain_git: Git, tmp_path: Path) -> None:
    repo = make_repo()
    plain_git(tmp_path, "clone", "-q", "--bare", str(repo.root), "bare.git")
    with Repo.open(tmp_path / "bare.git") as bare:
        main = head(bare)
        made = attempt(bare, main, b"// 1\n")
        bare.transaction([RefUpdate(MAIN, main, made)], "advance")
        bare.notes_append("refs/notes/cutegen/verdict/a", made, "passed")
        assert head(bare) == made
