"""kill -9 at any instant: valid repository, no stale lock, and the continued run arrives at the same ids."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cutegen_git.hands.repo import ATTEMPTS, HEADS, NOTES, TAGS, Repo

Make = Callable[..., Repo]
Git = Callable[..., str]
SCRIPT = Path(__file__).parent / "make_attempts.py"
COUNT = 6
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds the children of a process in /proc")


def start(root: Path) -> subprocess.Popen[bytes]:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    words = [sys.executable, str(SCRIPT), str(root), str(COUNT)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env)


def finish(root: Path) -> None:
    process = start(root)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0, out.decode()


def children(pid: int) -> list[int]:
    """Direct children, whatever session they lead."""
    return [
        int(word)
        for file in Path(f"/proc/{pid}/task").glob("*/children")
        for word in file.read_text().split()
    ]


def kill(process: subprocess.Popen[bytes], *, git_too: bool) -> None:
    """SIGKILL; with `git_too` also the git children, as the out-of-memory killer or a power cut would."""
    below = children(process.pid) if git_too else []
    for pid in (*below, process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()
    if process.stdout:
        process.stdout.close()


def state(repo: Repo) -> dict[str, str]:
    return repo.refs(HEADS, ATTEMPTS, TAGS)


def check(root: Path, git: Git) -> None:
    """Valid, clean, and nothing of a dead process left."""
    assert "error" not in git(root, "fsck", "--full", "--strict", "--no-dangling")
    assert git(root, "status", "--porcelain") == ""
    ours = {"cutegen.lock", "cutegen-write.lock", "cutegen-queue.lock"}
    left = [path for path in (root / ".git").rglob("*") if path.suffix == ".lock" and path.name not in ours]
    left += list((root / ".git").glob("cutegen-txn*")) + list((root / ".git").glob("cutegen-index*"))
    assert left == []


@pytest.fixture
def undisturbed(make_repo: Make) -> dict[str, str]:
    repo = make_repo(name="undisturbed")
    finish(repo.root)
    found = state(repo)
    assert len([name for name in found if name.startswith(ATTEMPTS)]) == COUNT
    return found


def recovered(root: Path, git: Git) -> None:
    with Repo.open(root) as repo:
        repo.recover()
        repo.recover()
    check(root, git)


@pytest.mark.slow
def test_killed_at_thirty_instants_it_arrives_at_the_same_ids(
    make_repo: Make, plain_git: Git, undisturbed: dict[str, str]
) -> None:
    measured = make_repo(name="measured")
    began = time.monotonic()
    finish(measured.root)
    whole_s = time.monotonic() - began
    for instant in range(30):
        repo = make_repo(name=f"killed{instant}")
        process = start(repo.root)
        time.sleep(whole_s * (instant + 0.5) / 30)
        kill(process, git_too=instant % 2 == 0)
        recovered(repo.root, plain_git)
        finish(repo.root)
        check(repo.root, plain_git)
        assert state(repo) == undisturbed
        assert len(repo.notes_read(f"{NOTES}verdict/lab")) == COUNT


def seen(root: Path, pattern: str, process: subprocess.Popen[bytes]) -> bool:
    """Wait, spinning, until such a file shows up in the git dir; False if the process ends before."""
    folder, _, name = pattern.rpartition("/")
    where = root / ".git" / folder
    while process.poll() is None:
        if where.is_dir() and any(_matches(entry, name) for entry in _scan(where)):
            return True
    return False


def _scan(where: Path) -> Iterator[str]:
    try:
        yield from (entry.name for entry in where.iterdir())
    except FileNotFoundError:
        return


def _matches(entry: str, name: str) -> bool:
    return entry.startswith(name[:-1]) if name.endswith("*") else entry == name or entry.endswith(name)


INSIDE = [
    "cutegen-txn.json",
    "refs/cutegen/attempt/0004.lock",
    "refs/heads/path/tiling.lock",
    "refs/heads/main.lock",
    "refs/notes/cutegen/verdict/lab.lock",
    "refs/tags/h200/0006-1.06x.lock",
    "HEAD.lock",
    "index.lock",
    "packed-refs.lock",
    "cutegen-index",
    "cutegen-index.lock",
]


MOST_KILLS = 12  # three of each, and more where a busy machine let them come too late


@pytest.mark.slow
@pytest.mark.parametrize("file", INSIDE)
def test_killed_inside_a_transaction_it_arrives_at_the_same_ids(
    make_repo: Make, plain_git: Git, undisturbed: dict[str, str], file: str
) -> None:
    hits = interrupted = 0
    for turn in range(MOST_KILLS):
        if turn >= 3 and interrupted:
            break
        repo = make_repo(name=f"killed{turn}")
        process = start(repo.root)
        hits += seen(repo.root, file, process)
        if turn % 2:
            time.sleep(random.Random(turn).uniform(0, 0.002))
        kill(process, git_too=True)
        interrupted += (repo.root / ".git/cutegen-txn.json").exists()
        recovered(repo.root, plain_git)
        finish(repo.root)
        check(repo.root, plain_git)
        assert state(repo) == undisturbed
    assert hits, f"{file} never showed up"
    assert interrupted, "no kill hit the inside of a transaction"
