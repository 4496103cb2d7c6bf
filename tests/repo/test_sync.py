"""Sharing: what a clone leaves behind comes by sync, both ways, and nothing is forced or lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cutegen_git.hands import sync
from cutegen_git.hands.repo import ATTEMPTS, HEADS, MAIN, NOTES, TAGS, TOOL, RefUpdate, Repo
from cutegen_git.hands.repo import remote as remotes
from cutegen_git.words.errors import RepoError

Make = Callable[..., Repo]
Git = Callable[..., str]
VERDICTS = f"{NOTES}verdict/lab"
FORMATS = pytest.mark.parametrize("object_format", ["sha1", "sha256"])


def attempt(repo: Repo, number: int, *, letter: str = "", at: int = 10) -> str:
    """An attempt with a verdict; number 1 also moves path and main and is claimed."""
    base = repo.resolve(MAIN) or ""
    label = f"{letter}{number:04d}"
    tree = repo.tree_with(base, {"kernel/kernel.cu": f"// {label}\n".encode()})
    made = repo.commit(tree, [base], f"attempt {label}\n", author=TOOL, at=at)
    repo.transaction([RefUpdate(f"{ATTEMPTS}{label}", None, made)], "attempt")
    repo.notes_append(VERDICTS, made, f"passed {label}", at=at)
    repo.notes_append(f"{NOTES}transcript/proposer", made, f"secret {label}", at=at)
    if number == 1:
        merge = repo.commit(tree, [base, made], "merge\n", author=TOOL, at=at)
        updates = [RefUpdate(f"{HEADS}path/tiling", None, made), RefUpdate(MAIN, base, merge)]
        repo.transaction(updates, "advance")
        repo.tag(f"h200/{label}-1.43x", made, "claim\n", at=at)
    return made


def shared(repo: Repo) -> dict[str, str]:
    return repo.refs(HEADS, TAGS, NOTES, ATTEMPTS)


def run(repo: Repo, source: str | None = None, **more: bool) -> sync.Report:
    return sync.sync(repo, source, cwd=repo.root.parent, **more)


@pytest.fixture
def remote(tmp_path: Path, plain_git: Git) -> Callable[..., Path]:
    """An empty bare repository, configured as origin of a task."""

    def make(repo: Repo) -> Path:
        plain_git(
            tmp_path,
            "init",
            "-q",
            "--bare",
            f"--object-format={repo.object_format}",
            "-b",
            "main",
            "origin.git",
        )
        plain_git(
            tmp_path / "origin.git", "config", "core.hooksPath", "/dev/null"
        )  # a server's hooks are its own
        plain_git(repo.root, "remote", "add", "origin", str(tmp_path / "origin.git"))
        return tmp_path / "origin.git"

    return make


def cloned(tmp_path: Path, plain_git: Git, source: Path, name: str = "clone") -> Repo:
    plain_git(tmp_path, "clone", "-q", str(source), name)
    return Repo.open(tmp_path / name)


@FORMATS
def test_a_clone_gets_everything_by_sync(
    make_repo: Make, remote: Callable[..., Path], tmp_path: Path, plain_git: Git, object_format: str
) -> None:
    repo = make_repo(object_format=object_format)
    origin = remote(repo)
    repo.inbox_put("0009", b"not yet an attempt")
    made = [attempt(repo, 1), attempt(repo, 2)]
    said = "\n".join(run(repo).lines())
    assert (
        said
        == "to origin: 2 attempts, 1 claim, notes transcript/proposer, notes verdict/lab, main, path/tiling"
    )
    assert "inbox" not in plain_git(origin, "for-each-ref")
    with cloned(tmp_path, plain_git, origin) as clone:
        assert clone.verdicts_missing()
        assert not repo.verdicts_missing()
        report = run(clone)
        assert not clone.verdicts_missing()
        assert report.went == report.stayed == []
        assert shared(clone) == shared(repo)
        assert clone.notes_read(VERDICTS) == {made[0]: "passed 0001\n", made[1]: "passed 0002\n"}
        assert run(clone).lines() == ["nothing new between here and origin"]
        assert plain_git(clone.root, "status", "--porcelain", "-b") == "## main...origin/main\n"
    assert plain_git(origin, "fsck", "--strict") == ""


def test_a_runner_that_pushes_at_the_same_time_loses_nothing(
    make_repo: Make,
    remote: Callable[..., Path],
    tmp_path: Path,
    plain_git: Git,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    repo = make_repo()
    origin = remote(repo)
    first = attempt(repo, 1)
    run(repo)
    with cloned(tmp_path, plain_git, origin) as clone:
        run(clone)
        clone.notes_append(VERDICTS, first, "theirs", at=20)
        repo.notes_append(VERDICTS, first, "ours", at=21)
        real, calls = remotes.push, []

        def push(*args: Any, **more: Any) -> remotes.Pushed:
            calls.append(args)
            if len(calls) == 1:
                run(clone)  # between our look at the remote and our push
            return real(*args, **more)

        monkeypatch.setattr(remotes, "push", push)
        report = run(repo)
        assert report.stayed == []
        run(clone)
        assert shared(repo) == shared(clone)
        assert sorted(repo.notes_read(VERDICTS)[first].split("\n")[:-1]) == ["ours", "passed 0001", "theirs"]


def test_two_clones_that_claim_at_the_same_time_get_two_letters(
    make_repo: Make,
    remote: Callable[..., Path],
    tmp_path: Path,
    plain_git: Git,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    repo = make_repo()
    origin = remote(repo)
    run(repo)
    assert repo.clone_letter() == ""
    with cloned(tmp_path, plain_git, origin, "b") as two, cloned(tmp_path, plain_git, origin, "c") as three:
        real, calls = remotes.push, []

        def push(*args: Any, **more: Any) -> remotes.Pushed:
            calls.append(args)
            if len(calls) == 1:
                assert two.clone_letter() == "b"
            return real(*args, **more)

        monkeypatch.setattr(remotes, "push", push)
        assert three.clone_letter() == "c"


@pytest.mark.parametrize("export", ["nowhere/x.bundle", "task"])
def test_an_export_that_cannot_be_written_is_one_line(make_repo: Make, tmp_path: Path, export: str) -> None:
    repo = make_repo()
    with pytest.raises(RepoError, match="nowhere is not a folder|cannot be written"):
        sync.export(repo, tmp_path / export)
    assert [path.name for path in tmp_path.iterdir()] == ["task"]


def test_a_password_in_a_url_is_never_shown(make_repo: Make) -> None:
    repo = make_repo()
    with pytest.raises(RepoError) as caught:
        run(repo, "https://name:secret@127.0.0.1:9/x.git")
    assert "secret" not in str(caught.value)
    assert "cannot be reached" in str(caught.value)


def test_two_clones_meet(
    make_repo: Make, remote: Callable[..., Path], tmp_path: Path, plain_git: Git
) -> None:
    repo = make_repo()
    origin = remote(repo)
    first = attempt(repo, 1)
    run(repo)
    with cloned(tmp_path, plain_git, origin) as clone:
        run(clone)
        clone.notes_append(VERDICTS, first, "theirs", at=20)
        repo.notes_append(VERDICTS, first, "ours", at=21)
        attempt(clone, 1 + 1, letter="b", at=30)
        attempt(repo, 2, at=31)
        for side in (repo, clone, repo):
            run(side)
        assert shared(repo) == shared(clone)
        assert set(repo.notes_read(VERDICTS)[first].splitlines()) == {"passed 0001", "ours", "theirs"}
        assert {f"{ATTEMPTS}0002", f"{ATTEMPTS}b0002"} <= set(shared(repo))
        log = plain_git(clone.root, "log", "--notes=cutegen/verdict/*", "--all", "--format=%N")
        assert "ours" in log
        assert "theirs" in log


def test_notes_that_went_apart_join_the_same_way_on_both_sides(
    make_repo: Make, plain_git: Git, tmp_path: Path
) -> None:
    one = make_repo()
    first = attempt(one, 1)
    plain_git(tmp_path, "clone", "-q", "--mirror", str(one.root), "two.git")
    with Repo.open(tmp_path / "two.git") as two:
        one.notes_append(VERDICTS, first, "one", at=5)
        two.notes_append(VERDICTS, first, "two", at=6)
        ends = [one.refs(VERDICTS)[VERDICTS], two.refs(VERDICTS)[VERDICTS]]
        plain_git(one.root, "fetch", "-q", str(two.root), VERDICTS)
        plain_git(two.root, "fetch", "-q", str(one.root), VERDICTS)
        assert one.notes.merged(*ends) == two.notes.merged(*reversed(ends))


def test_the_same_label_made_twice_is_said_and_neither_is_moved(
    make_repo: Make, remote: Callable[..., Path], tmp_path: Path, plain_git: Git
) -> None:
    repo = make_repo()
    origin = remote(repo)
    run(repo)
    with cloned(tmp_path, plain_git, origin) as clone:
        mine, other = attempt(repo, 2, at=1), attempt(clone, 2, at=2)
        run(repo)
        report = run(clone)
        assert report.stayed == [
            "attempt 0002 is another one there: both stay where they are, and it cannot be shared"
        ]
        assert clone.resolve(f"{ATTEMPTS}0002") == other
        assert plain_git(origin, "rev-parse", f"{ATTEMPTS}0002").strip() == mine


def test_a_branch_that_went_apart_is_said_and_neither_is_moved(
    make_repo: Make, remote: Callable[..., Path], tmp_path: Path, plain_git: Git
) -> None:
    repo = make_repo()
    origin = remote(repo)
    run(repo)
    with cloned(tmp_path, plain_git, origin) as clone:
        for side, text in ((repo, "one"), (clone, "two")):
            (side.root / "task.toml").write_text(text)
            plain_git(side.root, "commit", "-q", "-am", text)
        run(repo)
        before = clone.resolve(MAIN)
        assert run(clone).stayed == [
            "main went apart here and there: merge or rename one of them, then sync again"
        ]
        assert clone.resolve(MAIN) == before
        assert plain_git(origin, "rev-parse", MAIN).strip() == repo.resolve(MAIN)


def test_main_moves_with_its_worktree_unless_the_user_is_in_the_way(
    make_repo: Make, remote: Callable[..., Path], tmp_path: Path, plain_git: Git
) -> None:
    repo = make_repo()
    origin = remote(repo)
    run(repo)
    with cloned(tmp_path, plain_git, origin) as clone:
        attempt(repo, 1)
        run(repo)
        (clone.root / "kernel/kernel.cu").write_text("mine\n")
        report = run(clone)
        assert len(report.stayed) == 1
        assert report.stayed[0].startswith("main stays: main is checked out in ")
        assert (clone.root / "kernel/kernel.cu").read_text() == "mine\n"
        (clone.root / "kernel/kernel.cu").write_text("// 0\n")
        assert run(clone).came == [MAIN]
        assert (clone.root / "kernel/kernel.cu").read_text() == "// 0001\n"


def test_a_checked_out_branch_there_does_not_keep_the_rest_from_going(
    make_repo: Make, tmp_path: Path, plain_git: Git
) -> None:
    repo = make_repo()
    plain_git(repo.root, "config", "core.hooksPath", "/dev/null")
    with cloned(tmp_path, plain_git, repo.root) as clone:
        attempt(clone, 1)
        report = run(clone)
        assert [line.startswith("main was not taken by origin: ") for line in report.stayed] == [True]
        assert set(repo.refs(ATTEMPTS, NOTES)) == set(clone.refs(ATTEMPTS, NOTES))


@FORMATS
def test_a_bundle_carries_the_whole_repository(
    make_repo: Make, tmp_path: Path, plain_git: Git, object_format: str
) -> None:
    repo = make_repo(object_format=object_format)
    attempt(repo, 1)
    attempt(repo, 2)
    plain_git(repo.root, "checkout", "-q", "--detach", "HEAD~1")
    file = tmp_path / "task.bundle"
    report = sync.export(repo, file)
    assert set(report.went) == set(shared(repo))
    with cloned(tmp_path, plain_git, file) as clone:
        assert clone.branch() == MAIN
        assert (clone.root / "kernel/kernel.cu").read_text() == "// 0001\n"
        assert clone.verdicts_missing()
        assert run(clone).lines()[0].startswith("from origin: 2 attempts")
        assert shared(clone) == shared(repo)
        assert sync.sync(clone, "task.bundle", cwd=tmp_path).lines() == [
            "nothing new between here and task.bundle"
        ]
        assert plain_git(clone.root, "fsck", "--strict") == ""


def test_a_damaged_bundle_changes_nothing(make_repo: Make, tmp_path: Path, plain_git: Git) -> None:
    repo, other = make_repo(), make_repo(name="other")
    attempt(repo, 1)
    file = tmp_path / "task.bundle"
    sync.export(repo, file)
    before = shared(other)
    data = bytearray(file.read_bytes())
    data[-100] ^= 0xFF
    file.write_bytes(bytes(data))
    with pytest.raises(RepoError, match="damaged or forged"):
        run(other, str(file))
    file.write_text("no bundle")
    with pytest.raises(RepoError, match="is not a git bundle"):
        run(other, str(file))
    assert shared(other) == before


def test_transcripts_stay_at_home_where_the_task_says_so(
    make_repo: Make, remote: Callable[..., Path], tmp_path: Path, plain_git: Git
) -> None:
    repo = make_repo()
    origin = remote(repo)
    attempt(repo, 1)
    run(repo, share_transcripts=False)
    sync.export(repo, tmp_path / "task.bundle", share_transcripts=False)
    assert "transcript" not in plain_git(origin, "for-each-ref")
    assert "transcript" not in plain_git(tmp_path, "bundle", "list-heads", "task.bundle")


def test_foreign_refs_and_forged_kinds_are_not_taken(
    make_repo: Make, remote: Callable[..., Path], tmp_path: Path, plain_git: Git
) -> None:
    repo = make_repo()
    origin = remote(repo)
    run(repo)
    for ref in (
        "refs/tags/v1.0",
        "refs/tags/h200/0001-9.99x",
        "refs/cutegen/inbox/0001",
        "refs/heads/feature",
    ):
        plain_git(origin, "update-ref", ref, "main")
    plain_git(origin, "update-ref", "refs/notes/cutegen/verdict/evil", "main^{tree}")
    before = shared(repo)
    report = run(repo)
    assert report.stayed == [
        "notes verdict/evil there is not what its name says: left alone",
        "h200/0001-9.99x there is not what its name says: left alone",
    ]
    assert shared(repo) == before


def test_the_users_refspecs_do_not_throw_verdicts_away(
    make_repo: Make, remote: Callable[..., Path], plain_git: Git
) -> None:
    repo = make_repo()
    remote(repo)
    first = attempt(repo, 1)
    run(repo)
    plain_git(repo.root, "config", "--add", "remote.origin.fetch", "+refs/notes/*:refs/notes/*")
    plain_git(repo.root, "config", "remote.origin.prune", "true")
    repo.notes_append(VERDICTS, first, "not pushed yet")
    run(repo)
    assert "not pushed yet" in repo.notes_read(VERDICTS)[first]


def test_without_a_remote_one_line_says_so(make_repo: Make) -> None:
    repo = make_repo()
    with pytest.raises(RepoError, match="no remote is configured: git remote add origin URL"):
        run(repo)
    with pytest.raises(RepoError, match="no remote or bundle is called nowhere"):
        run(repo, "nowhere")
    with pytest.raises(RepoError, match="not a git repository"):
        run(repo, "/nowhere/at/all")


def test_many_refs_are_pushed_in_parts(make_repo: Make, remote: Callable[..., Path], plain_git: Git) -> None:
    repo = make_repo()
    origin = remote(repo)
    main = repo.resolve(MAIN) or ""
    made = [RefUpdate(f"{ATTEMPTS}{number:04d}", None, main) for number in range(1, 321)]
    repo.transaction(made, "many")
    run(repo)
    assert len(plain_git(origin, "for-each-ref", ATTEMPTS).splitlines()) == 320


def test_every_proposing_clone_has_its_own_letter(
    make_repo: Make, remote: Callable[..., Path], tmp_path: Path, plain_git: Git
) -> None:
    repo = make_repo()
    origin = remote(repo)
    run(repo)
    with cloned(tmp_path, plain_git, origin, "b") as two, cloned(tmp_path, plain_git, origin, "c") as three:
        letters = [side.clone_letter() for side in (repo, two, three)]
        assert letters == ["", "b", "c"]
        assert [side.clone_letter() for side in (repo, two, three)] == letters


def test_a_first_clone_that_had_no_remote_keeps_its_labels(
    make_repo: Make, remote: Callable[..., Path], tmp_path: Path, plain_git: Git
) -> None:
    repo = make_repo()
    assert repo.clone_letter() == ""
    attempt(repo, 1)
    origin = remote(repo)
    run(repo)
    assert "refs/cutegen/clone/a" in plain_git(origin, "for-each-ref")
    with cloned(tmp_path, plain_git, origin) as clone:
        assert clone.clone_letter() == "b"
    assert repo.clone_letter() == ""


def test_a_clone_of_a_bundle_takes_the_first_free_letter(
    make_repo: Make, tmp_path: Path, plain_git: Git
) -> None:
    repo = make_repo()
    attempt(repo, 1)
    sync.export(repo, tmp_path / "task.bundle")
    with cloned(tmp_path, plain_git, tmp_path / "task.bundle") as clone:
        run(clone)
        assert clone.clone_letter() == "b"
