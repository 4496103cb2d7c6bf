"""Watching: whatever the remote has is measured and pushed back, and nothing of a stranger is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from cutegen_git.app import watch as app_watch
from cutegen_git.app.project import Project
from cutegen_git.app.watch import CannotMeasure, Origin, Source, delay_s, stopping, watch
from cutegen_git.hands import machine as hands_machine
from cutegen_git.hands import sync
from cutegen_git.words.errors import RepoError

from .scene import Git, Remote, clone
from .stand_in import StandIn

Changes = list[Callable[[], None]]


@dataclass
class Bell(threading.Event):
    """A stop that rings after the last of the things that happen while the watch waits; its waits are noted."""

    happens: Changes = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout or 0)
        if self.happens:
            self.happens.pop(0)()
        else:
            self.set()
        return self.is_set()


@dataclass
class Runner:
    project: Project
    said: list[str] = field(default_factory=list)

    def watch(self, *happens: Callable[[], None], source: Source | None = None) -> Bell:
        bell = Bell(list(happens))
        bench = StandIn(self.project, self.said.append)
        watch(
            self.project,
            bench,
            source or Origin(self.project.repo),
            self.said.append,
            every_s=60.0,
            stop=bell,
        )
        return bell


@pytest.fixture
def runner(remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.setenv("CUTEGEN_GIT_RUNNER", "lab")
    return Runner(clone(remote, tmp_path / "runner"))


def test_what_is_pending_is_measured_and_pushed_then_it_waits(remote: Remote, runner: Runner) -> None:
    made = [remote.propose(line) for line in ("speed 1.20", "wrong-result", "speed 1.43")]
    bell = runner.watch(lambda: made.append(remote.propose("speed 1.60")))
    assert bell.waits == [60.0, 60.0]
    assert remote.tags() == ["rtx4090/0001-1.20x", "rtx4090/0003-1.43x", "rtx4090/0004-1.60x"]
    assert all("device=rtx4090" in remote.note("lab", commit.id) for commit in made)
    assert remote.git(remote.path, "rev-parse", "main^2").strip() == made[-1].id
    assert runner.said.count("nothing is pending on rtx4090") == 2
    assert runner.said[-1] == "stopped"


def test_lost_network_is_said_once_waited_for_ever_longer_and_survived(
    remote: Remote, runner: Runner, tmp_path: Path
) -> None:
    made = remote.propose("speed 1.20")
    gone = tmp_path / "gone"
    remote.path.rename(gone)
    bell = runner.watch(lambda: None, lambda: None, lambda: gone.rename(remote.path) and None)
    assert bell.waits == [120.0, 240.0, 480.0, 60.0]
    assert "trying again in 120 s" in runner.said[0]
    assert remote.note("lab", made.id).startswith("passed 1.20x")


def test_a_verdict_that_could_not_be_pushed_goes_with_the_next_sync(
    remote: Remote, runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = remote.propose("speed 1.20")
    real, gone = StandIn.judge, tmp_path / "gone"

    def judge(self: StandIn, *more: object) -> object:
        remote.path.rename(gone)
        return real(self, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(StandIn, "judge", judge)
    runner.watch(lambda: gone.rename(remote.path) and None)
    assert remote.note("lab", made.id).startswith("passed 1.20x")


@pytest.mark.parametrize(("failures", "seconds"), [(0, 60), (1, 120), (3, 480), (4, 900), (9999, 900)])
def test_delays_grow_and_end(failures: int, seconds: float) -> None:
    assert delay_s(failures, 60.0) == seconds
    assert delay_s(failures, 3600.0) == 3600.0


def test_a_second_watch_on_one_repository_is_refused(remote: Remote, runner: Runner) -> None:
    refused = []

    def again() -> None:
        with pytest.raises(RepoError, match="the watch on .* is taken by process") as caught:
            Runner(Project.open(runner.project.repo.root)).watch()
        refused.append(caught)

    runner.watch(again)
    assert refused


def test_a_second_machine_of_the_same_name_is_refused(
    remote: Remote, runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = remote.propose("speed 1.20")
    runner.watch()
    runner.watch()  # the same machine may
    remote.propose("speed 1.30")
    monkeypatch.setattr(hands_machine, "machine_digest", lambda: "another machine's")
    with pytest.raises(CannotMeasure, match="another machine measures as lab"):
        Runner(clone(remote, tmp_path / "two")).watch()
    assert remote.tags() == ["rtx4090/0001-1.20x"]
    assert made.id


def test_nothing_of_a_stranger_is_measured_or_pushed(
    remote: Remote, runner: Runner, tmp_path: Path, plain_git: Git
) -> None:
    remote.propose("speed 1.20")
    fork = clone(remote, tmp_path / "fork")
    plain_git(fork.repo.root, "config", "core.hooksPath", "/dev/null")
    sync.sync(fork.repo, "origin", cwd=tmp_path)
    stranger = replace(remote, laptop=fork, origin=None).propose("speed 9.99")
    plain_git(
        remote.path, "fetch", "-q", "--no-tags", str(fork.repo.root), f"+{stranger.id}:refs/pull/1/head"
    )
    runner.watch()
    assert remote.tags() == ["rtx4090/0001-1.20x"]  # a pull request is no ref of ours
    before = remote.refs()
    sync.sync(runner.project.repo, str(fork.repo.root), cwd=tmp_path)
    runner.watch()
    told = f"attempt {stranger.attempt.label} is here and not at origin"
    assert any(told in line for line in runner.said)
    assert remote.refs() == before


def test_an_edit_of_the_task_on_main_starts_an_era(remote: Remote, runner: Runner, plain_git: Git) -> None:
    remote.propose("speed 1.20")
    root = remote.laptop.repo.root

    def edit() -> None:
        remote.sync()
        (root / "task.toml").write_text((root / "task.toml").read_text() + "# new era\n")
        plain_git(root, "commit", "-q", "-am", "task: edit")
        remote.laptop = Project.open(root)
        remote.propose("speed 1.10")

    runner.watch(edit)
    assert remote.tags() == ["rtx4090/0001-1.20x", "rtx4090/0002-1.10x"]
    assert any("the task on main is another one now" in line for line in runner.said)


def test_a_task_that_does_not_parse_is_waited_out(remote: Remote, runner: Runner, plain_git: Git) -> None:
    root = remote.laptop.repo.root
    good = (root / "task.toml").read_text()

    def write(text: str) -> None:
        (root / "task.toml").write_text(text)
        plain_git(root, "commit", "-q", "-am", "task: edit")
        remote.sync()

    bell = runner.watch(lambda: write("format = 99\n"), lambda: write(good))
    assert bell.waits == [60.0, 120.0, 60.0]


def test_an_attempt_that_cannot_be_judged_keeps_no_other_waiting(remote: Remote, runner: Runner) -> None:
    remote.propose("infrastructure")
    remote.propose("unsupported")
    remote.propose("speed 1.20")
    runner.watch(lambda: None)
    assert remote.tags() == ["rtx4090/0003-1.20x"]
    judged = [line[:20].strip() for line in runner.said if line.startswith("000")]
    assert judged == [
        "0001  infrastructure",
        "0001  infrastructure",
        "0002  unsupported: i",
        "0003  passed  1.20x",
    ]


def test_a_lost_device_ends_the_watch(remote: Remote, runner: Runner) -> None:
    for number in range(app_watch.LOST + 1):
        remote.propose(f"infrastructure {number}")
    with pytest.raises(CannotMeasure, match="3 attempts in a row could not be judged"):
        runner.watch()


def test_a_bundle_or_nothing_cannot_be_watched(runner: Runner, plain_git: Git) -> None:
    plain_git(runner.project.repo.root, "remote", "remove", "origin")
    with pytest.raises(CannotMeasure, match="watching takes a remote"):
        runner.watch()


def test_a_run_at_work_is_waited_for(remote: Remote, runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    remote.propose("speed 1.20")
    other = Project.open(runner.project.repo.root)
    lock = other.repo.lock()
    lock.__enter__()
    runner.watch(lambda: lock.__exit__(None, None, None) and None)
    assert "is taken by process" in "".join(runner.said)
    assert remote.tags() == ["rtx4090/0001-1.20x"]


PROGRAM = """
import sys
from pathlib import Path
from template.stand_in import StandIn
from cutegen_git.app.project import Project
from cutegen_git.app.watch import Origin, stopping, watch
project = Project.open(Path(sys.argv[1]))
with stopping(lambda text: print(text, flush=True)) as stop:
    bench = StandIn(project, lambda text: None)
    watch(project, bench, Origin(project.repo), lambda text: print(text, flush=True), every_s=60.0, stop=stop)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_while_it_waits(remote: Remote, runner: Runner, number: int) -> None:
    remote.propose("speed 1.20")
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    words = [sys.executable, "-c", PROGRAM, str(runner.project.repo.root)]
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if line.startswith("nothing is pending"):
                break
        time.sleep(0.1)
        child.send_signal(number)
        rest = child.stdout.read()
        assert child.wait(timeout=20) == 0
    assert rest.splitlines()[-1] == "stopped"
    assert remote.tags() == ["rtx4090/0001-1.20x"]


def test_the_second_signal_interrupts() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with stopping(lambda text: None) as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) is before
