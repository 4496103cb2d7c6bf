"""Opening and making repositories, and every reason to refuse."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cutegen_git.hands.repo import MAIN, TOOL, RefUpdate, Repo
from cutegen_git.words.errors import RepoError

Make = Callable[..., Repo]
Git = Callable[..., str]


def test_a_new_repository_is_whole_and_clean(make_repo: Make, plain_git: Git) -> None:
    repo = make_repo()
    head = repo.resolve("HEAD") or ""
    assert head == repo.resolve("refs/heads/main")
    found = repo.commits([head])[0]
    assert (found.author.name, found.committer.email) == ("cutegen-git", "cutegen-git@cutegen.invalid")
    assert (found.at, found.parents, found.message) == (1_700_000_000, (), "Task\n")
    assert repo.dirty() == []
    assert (repo.root / "kernel/kernel.cu").read_bytes() == b"// 0\n"
    assert set(repo.entries(head)) == {"task.toml", "kernel/kernel.cu"}
    assert plain_git(repo.root, "fsck", "--strict") == ""
    assert plain_git(repo.root, "status", "--porcelain") == ""
    assert not (repo.root / ".git/hooks").exists()


def test_the_first_commit_has_the_same_id_on_every_machine(make_repo: Make) -> None:
    assert make_repo().resolve("HEAD") == "55e3cfbfadbc0243ed52fe770fd61c41804f0460"


def test_create_refuses_a_folder_with_something_in_it(make_repo: Make, tmp_path: Path) -> None:
    (tmp_path / "task").mkdir()
    (tmp_path / "task/mine.txt").write_text("mine")
    with pytest.raises(RepoError, match="exists already"):
        make_repo()
    assert [path.name for path in tmp_path.iterdir()] == ["task"]


def test_no_such_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(RepoError, match="is not a folder"):
        Repo.open(tmp_path / "nowhere")


def test_a_plain_folder_is_no_repository(tmp_path: Path) -> None:
    with pytest.raises(RepoError, match="not a git repository: make a task with cutegen-git new"):
        Repo.open(tmp_path)


def test_a_repository_without_a_commit_is_refused(tmp_path: Path, plain_git: Git) -> None:
    plain_git(tmp_path, "init", "-q")
    with pytest.raises(RepoError, match="no commit yet"):
        Repo.open(tmp_path)


def test_a_folder_inside_another_repository_is_refused_with_the_way_out(make_repo: Make) -> None:
    repo = make_repo()
    with pytest.raises(RepoError, match=f"lies inside the repository {repo.root}.*-C {repo.root}"):
        Repo.open(repo.root / "kernel")
    with pytest.raises(RepoError, match="inside of a git dir"):
        Repo.open(repo.root / ".git")


def test_a_bare_repository_opens_for_reading_and_is_no_place_to_run(
    make_repo: Make, tmp_path: Path, plain_git: Git
) -> None:
    repo = make_repo()
    plain_git(tmp_path, "clone", "-q", "--bare", str(repo.root), "bare.git")
    with Repo.open(tmp_path / "bare.git") as bare:
        assert bare.files_at("refs/heads/main") == repo.files_at("refs/heads/main")
        with pytest.raises(RepoError, match="bare"):
            bare.refuse_unready()


def test_a_linked_worktree_opens_and_shares_refs(make_repo: Make, tmp_path: Path, plain_git: Git) -> None:
    repo = make_repo()
    plain_git(repo.root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    with Repo.open(tmp_path / "linked") as linked:
        assert linked.common_dir == repo.common_dir
        assert linked.branch() == "refs/heads/side"


def test_inherited_git_variables_do_not_reach_git(
    make_repo: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, other = make_repo(), make_repo({"other": b"x"}, name="other")
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("GIT_AUTHOR_DATE", "garbage")
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.bare'='true'")
    with Repo.open(repo.root) as again:
        assert again.resolve("HEAD") == repo.resolve("HEAD")
        assert again.dirty() == []


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda git, root: (root / "task.toml").write_text("x"), "M task.toml"),
        (lambda git, root: (root / "kernel/extra.cuh").write_text("x"), "kernel/extra.cuh"),
        (lambda git, root: git(root, "checkout", "-q", "--detach"), "git switch main"),
        (lambda git, root: git(root, "bisect", "start", "HEAD"), "bisect"),
        (lambda git, root: (root / ".git/index.lock").touch(), "index.lock exists"),
        (lambda git, root: (root / ".git/MERGE_HEAD").write_text("x"), "git merge --abort"),
        (lambda git, root: (root / ".git/rebase-merge").mkdir(), "git rebase --abort"),
        (lambda git, root: git(root, "branch", "path"), "rename the branch path"),
        (lambda git, root: git(root, "tag", "h200"), "rename the tag h200"),
        (lambda git, root: git(root, "update-ref", "refs/notes/cutegen", "HEAD"), "update-ref -d refs/notes/cutegen"),
        (lambda git, root: git(root, "update-ref", "refs/cutegen", "HEAD"), "update-ref -d refs/cutegen"),
    ],
)  # fmt: skip
def test_refine_refuses(
    make_repo: Make, plain_git: Git, spoil: Callable[[Git, Path], object], said: str
) -> None:
    repo = make_repo()
    repo.refuse_unready(devices=["h200"])
    spoil(plain_git, repo.root)
    if said == "bisect":  # a bisect detaches HEAD once it has both ends
        plain_git(repo.root, "checkout", "-q", "--detach")
        assert repo.is_bisecting()
    with pytest.raises(RepoError, match=said):
        repo.refuse_unready(devices=["h200"])


def test_untracked_files_beside_the_kernel_are_the_users_own_business(make_repo: Make) -> None:
    repo = make_repo()
    for name in ("notes.txt", "kernel/.kernel.cu.swp"):
        (repo.root / name).write_text("mine")
    repo.refuse_unready()


def test_a_shallow_clone_is_told(make_repo: Make, tmp_path: Path, plain_git: Git) -> None:
    repo = make_repo()
    assert not repo.is_shallow()
    plain_git(repo.root, "commit", "-q", "--allow-empty", "-m", "two")
    plain_git(tmp_path, "clone", "-q", "--depth=1", f"file://{repo.root}", "shallow")
    with Repo.open(tmp_path / "shallow") as shallow:
        assert shallow.is_shallow()


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away"
)
def test_a_repository_of_another_user_is_refused_with_the_remedy_that_then_works(
    make_repo: Make, sealed_home: Path
) -> None:
    repo = make_repo()
    for path in (repo.root, repo.root / ".git"):
        os.chown(path, 12345, 12345)
    with pytest.raises(RepoError, match="belongs to another user.*safe.directory") as caught:
        Repo.open(repo.root)
    remedy = str(caught.value).partition("trust it: ")[2].split()
    assert remedy[:2] == ["git", "config"]
    subprocess.run(remedy, check=True, timeout=10)
    with Repo.open(repo.root) as again:
        assert again.dirty() == []
        assert again.notes_refs("verdict") == {}


def test_settings_in_the_repository_itself_do_not_bite(
    make_repo: Make, plain_git: Git, tmp_path: Path
) -> None:
    repo = make_repo()
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("reference-transaction", "post-checkout", "post-index-change", "pre-commit"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
        (hooks / name).chmod(0o755)
    settings = {
        "core.hooksPath": str(hooks),
        "core.autocrlf": "true",
        "core.fsmonitor": str(hooks / "pre-commit"),
        "commit.gpgSign": "true",
        "tag.gpgSign": "true",
        "i18n.commitEncoding": "ISO-8859-1",
        "status.showUntrackedFiles": "no",
        "gc.auto": "1",
        "core.bare": "false",
    }
    for key, value in settings.items():
        plain_git(repo.root, "config", key, value)
    main = repo.resolve(MAIN) or ""
    tree = repo.tree_with(main, {"kernel/kernel.cu": b"unix\n"})
    made = repo.commit(tree, [main], "\u00fcber\n", author=TOOL, at=1)
    repo.transaction([RefUpdate(MAIN, main, made)], "advance")
    repo.tag("h200/0001-1.00x", made, "claim\n", at=1)
    repo.notes_append("refs/notes/cutegen/verdict/lab", made, "passed")
    assert repo.commits([made])[0].message == "\u00fcber\n"
    assert (repo.root / "kernel/kernel.cu").read_bytes() == b"unix\n"
    (repo.root / "kernel/new.cuh").write_text("x")
    assert repo.dirty() == ["?? kernel/new.cuh"]
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("files", [{"../out": b""}, {"a/.git/config": b""}])
def test_a_create_that_fails_leaves_nothing(make_repo: Make, tmp_path: Path, files: dict[str, bytes]) -> None:
    with pytest.raises(RepoError):
        make_repo(files)
    assert list(tmp_path.iterdir()) == []


def test_a_call_that_hangs_is_ended(make_repo: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = make_repo()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_text("#!/bin/sh\nsleep 60 & wait\n")
    (tmp_path / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    done = repo.git.run("status", timeout_s=0.3)
    assert done.code is None
    assert done.seconds < 5
