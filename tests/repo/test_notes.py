"""Notes: no line is lost, plain git reads them, ten thousand are read at once."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cutegen_git.hands.repo import Repo
from cutegen_git.words.errors import RepoError

Make = Callable[..., Repo]
Git = Callable[..., str]
REF = "refs/notes/cutegen/verdict/h200-lab"


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_lines_are_added_in_order_and_once(make_repo: Make, plain_git: Git, object_format: str) -> None:
    repo = make_repo(object_format=object_format)
    main = repo.resolve("HEAD") or ""
    for line in ("passed 1.43x", "passed 1.44x \u00b5s", "passed 1.43x"):
        repo.notes_append(REF, main, line, at=7)
    assert repo.notes_read(REF) == {main: "passed 1.43x\npassed 1.44x \u00b5s\n"}
    assert repo.notes_read_one(REF, main) == "passed 1.43x\npassed 1.44x \u00b5s\n"
    assert repo.notes_refs("verdict") == {"h200-lab": REF}
    assert "    passed 1.43x\n    passed 1.44x" in plain_git(repo.root, "log", "--notes=cutegen/verdict/*")
    assert plain_git(repo.root, "rev-list", "--count", REF) == "2\n"
    assert plain_git(repo.root, "fsck", "--strict") == ""


def test_a_note_is_replaced_and_taken_away(make_repo: Make) -> None:
    repo = make_repo()
    main = repo.resolve("HEAD") or ""
    repo.notes_replace(REF, main, "two\nlines\n")
    repo.notes_replace(REF, main, "other\n")
    assert repo.notes_read_one(REF, main) == "other\n"
    repo.notes_replace(REF, main, "")
    assert repo.notes_read(REF) == {}


@pytest.mark.parametrize("line", ["a\nb", "", "  "])
def test_a_line_that_is_not_one_is_refused(make_repo: Make, line: str) -> None:
    with pytest.raises(RepoError, match="line"):
        make_repo().notes_append(REF, "1" * 40, line)


@pytest.mark.parametrize(
    "ref", ["refs/notes/commits", "refs/notes/cutegen/verdict", "refs/notes/cutegen/verdict/a/b"]
)
def test_other_notes_are_left_alone(make_repo: Make, ref: str) -> None:
    with pytest.raises(RepoError, match="not a notes ref"):
        make_repo().notes_append(ref, "1" * 40, "line")


def test_notes_that_plain_git_wrote_are_read_and_continued(make_repo: Make, plain_git: Git) -> None:
    repo = make_repo()
    main = repo.resolve("HEAD") or ""
    plain_git(repo.root, "notes", f"--ref={REF}", "add", "-m", "by hand", "HEAD")
    assert repo.notes_read(REF) == {main: "by hand\n"}
    repo.notes_append(REF, main, "passed")
    assert repo.notes_read(REF) == {main: "by hand\npassed\n"}
    assert plain_git(repo.root, "notes", f"--ref={REF}", "show", "HEAD") == "by hand\npassed\n"
    assert plain_git(repo.root, "ls-tree", "-r", "--name-only", REF) == f"{main[:2]}/{main[2:]}\n"


def _write(root: Path, who: str, count: int) -> None:
    with Repo.open(root) as repo:
        main = repo.resolve("HEAD") or ""
        for number in range(count):
            repo.notes_append(REF, main, f"{who} {number}")


def _race(root: Path, count: int) -> None:
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=_write, args=(root, who, count)) for who in ("one", "two")]
    for process in both:
        process.start()
    for process in both:
        process.join(120)
    assert [process.exitcode for process in both] == [0, 0]


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_two_processes_writing_one_ref_lose_no_line(make_repo: Make, plain_git: Git, count: int) -> None:
    repo = make_repo()
    main = repo.resolve("HEAD") or ""
    _race(repo.root, count)
    lines = repo.notes_read(REF)[main].splitlines()
    assert sorted(lines) == sorted(f"{who} {number}" for who in ("one", "two") for number in range(count))
    for who in ("one", "two"):
        assert [line for line in lines if line.startswith(who)] == [
            f"{who} {number}" for number in range(count)
        ]
    assert plain_git(repo.root, "fsck") == ""
    assert not list(repo.common_dir.rglob("*.lock")) or {p.name for p in repo.common_dir.rglob("*.lock")} <= {
        "cutegen-write.lock", "cutegen-queue.lock",
    }  # fmt: skip


@pytest.mark.slow
def test_ten_thousand_verdicts_are_read_at_once(make_repo: Make) -> None:
    repo = make_repo()
    line = "passed 1.43x device=h200 speedup=1.4312 " + "x" * 300
    repo.notes_append_all(
        REF, [(f"{number * 7919:040x}"[::-1], f"{line} {number}") for number in range(10_000)]
    )
    took_s = []
    for _ in range(5):
        started = time.perf_counter()
        found = repo.notes_read(REF)
        took_s.append(time.perf_counter() - started)
    print(f"10,000 notes in {min(took_s):.3f} s")
    assert len(found) == 10_000
    assert min(took_s) < 0.5  # 0.1 on an idle machine
