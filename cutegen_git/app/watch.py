"""`verify --pending --watch`: a GPU machine that measures what a remote has and pushes back what it found.

Safe for public repositories: it starts no workflow and reads only the remote's own branches, attempts and notes, so
that a pull request from a fork does not reach it. Without the network it waits, ever longer. What it decides
(`delay_s`, `choose`, `strangers`) is apart from what it does.
"""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType

from cutegen_git.core.history import NO_DEVICE, Judged
from cutegen_git.core.text import verdict_line
from cutegen_git.hands import machine
from cutegen_git.hands.repo.kinds import Kind, kind_of
from cutegen_git.hands.repo.lock import hold
from cutegen_git.words.attempt import Commit
from cutegen_git.words.errors import CutegenError, RepoError
from cutegen_git.words.verdict import Outcome

from . import verify
from .bench import Bench
from .project import Project
from .watch_origin import RUNNERS, CannotMeasure, Origin, Source

__all__ = ["CannotMeasure", "Origin", "Source", "stopping", "watch"]

Say = Callable[[str], None]
LOCK = "cutegen-watch.lock"
LONGEST_S = 900.0
TRIES = 2  # at an attempt with which the judge or the machine failed
LOST = 3  # different attempts in a row that could not be judged: it is the machine


def delay_s(failures: int, every_s: float) -> float:
    """Seconds until the next look, after so many looks in a row that failed."""
    return max(every_s, min(every_s * 2.0 ** min(failures, 16), LONGEST_S))


def choose(
    judged: Iterable[Judged], here: str, allowed: Collection[str], tries: Mapping[str, int]
) -> Commit | None:
    """The attempt to measure next: the first one that is allowed, has no verdict here and was not given up."""
    for item in judged:
        open_here = item.applied and item.on(here) is None
        if open_here and item.commit.id in allowed and tries.get(item.commit.id, 0) < TRIES:
            return item.commit
    return None


def strangers(attempts: Sequence[Commit], allowed: Collection[str]) -> list[Commit]:
    """Attempts that came from somewhere else than the remote: neither measured nor pushed."""
    return [commit for commit in attempts if commit.id not in allowed]


def watch(
    project: Project, bench: Bench, source: Source, say: Say, *, every_s: float, stop: threading.Event
) -> None:
    """Measure whatever is pending until `stop` is set; the attempt at hand is finished and pushed first.

    CannotMeasure where this machine cannot go on; RepoError where another process watches this repository.
    """
    if bench.here == NO_DEVICE:
        raise CannotMeasure(
            f"nothing can be measured here: {bench.no_device}; `cutegen-git doctor` says more"
        )
    with hold(project.repo.common_dir / LOCK, wait_s=0.0, what=f"the watch on {project.repo.root}"):
        watching = _Watching(project, bench, source, say)
        failures = 0
        while not stop.is_set():
            try:
                idle, failures = not watching.look(), 0
            except CannotMeasure:
                raise
            except (
                CutegenError
            ) as error:  # the network, a task that does not parse, a run that holds the lock
                idle, failures = True, failures + 1
                watching.tell(f"{error}; trying again in {delay_s(failures, every_s):.0f} s")
            if idle:
                stop.wait(delay_s(failures, every_s))
        watching.leave()


@dataclass
class _Watching:
    project: Project
    bench: Bench
    source: Source
    say: Say
    claimed: bool = False
    unpushed: bool = False
    told: set[str] = field(default_factory=set)
    tries: Counter[str] = field(
        default_factory=Counter
    )  # commit id -> verdicts that were not about the kernel
    lost: list[str] = field(default_factory=list)  # commit ids, in a row, that could not be judged

    def look(self) -> bool:
        """Fetch, push, measure one attempt. False where nothing is pending."""
        allowed = self._allowed()
        self._claim()
        self._sync()
        self._follow_task()
        commit = choose(self.project.history().attempts, self.bench.here, allowed, self.tries)
        if commit is None:
            self.tell(f"nothing is pending on {self.bench.here}")
            return False
        self._measure(commit)
        return True

    def tell(self, text: str) -> None:
        """Say it, once until something happens."""
        if text not in self.told:
            self.say(text)
        self.told.add(text)

    def leave(self) -> None:
        """Push what was found last."""
        try:
            if self.unpushed:
                self._sync()
        except CutegenError as error:
            self.say(f"the last verdict is kept here and goes with the next sync: {error}")
        self.say("stopped")

    def _allowed(self) -> set[str]:
        """Ids of the commits that the remote's branches and attempts contain."""
        theirs = [id for ref, id in self.source.refs().items() if kind_of(ref) in (Kind.HEAD, Kind.ATTEMPT)]
        infos = self.project.repo.batch.infos(theirs)
        here = [id for id, found in zip(theirs, infos, strict=True) if found and found.kind == "commit"]
        allowed = {*theirs, *(self.project.repo.history(*here) if here else ())}
        foreign = strangers(self.project.attempts(), allowed)
        if foreign:
            raise RepoError(
                f"attempt {foreign[0].attempt.label} is here and not at {self.source.name}: if you trust it, "
                "push it with `cutegen-git sync`; else watch from a fresh clone"
            )
        return allowed

    def _claim(self) -> None:
        if not self.claimed and not self.source.claim(self.bench.runner, machine.machine_digest()[:16]):
            raise CannotMeasure(
                f"another machine measures as {self.bench.runner}: give this one a name of its own in "
                f"CUTEGEN_GIT_RUNNER; if it replaces the other, git push origin :{RUNNERS}{self.bench.runner}"
            )
        self.claimed = True

    def _sync(self) -> None:
        report = self.source.sync()
        if report.came or report.went:
            self.told.clear()
            self.say("\n".join(report.lines()))
            self.told.update(report.stayed)
        for line in report.stayed:
            self.tell(line)
        self.unpushed = False

    def _follow_task(self) -> None:
        """An edit of the task on main starts an era: another task, another judge's session."""
        fresh = Project.open(self.project.repo.root)
        fresh.repo.close()
        if fresh.task_hash == self.project.task_hash:
            return
        self.say(f"the task on main is another one now ({fresh.task_hash})")
        self.project.task, self.project.task_hash = fresh.task, fresh.task_hash
        self.project.reference = fresh.reference
        self.bench = replace(self.bench)

    def _measure(self, commit: Commit) -> None:
        with self.project.repo.lock(wait_s=5.0):
            self.project.repo.recover()
            verified = verify.verify_one(self.project, self.bench, commit)
            self.unpushed = True
            self.say(verdict_line(str(commit.attempt.label), verified.verdict))
            verify.follow(self.project, self.bench)
        if verified.verdict.outcome.is_about_kernel:
            self.lost.clear()
        else:
            self._count(commit, verified.verdict.outcome, verified.verdict.why)

    def _count(self, commit: Commit, outcome: Outcome, why: str) -> None:
        """An attempt that cannot be judged must not keep the others waiting, nor a lost device go unseen."""
        self.tries[commit.id] += TRIES if outcome is Outcome.UNSUPPORTED else 1
        if outcome is Outcome.INFRASTRUCTURE and commit.id not in self.lost:
            self.lost.append(commit.id)
        if len(self.lost) >= LOST:
            self.leave()
            raise CannotMeasure(
                f"{LOST} attempts in a row could not be judged here, the last one because {why}"
            )


@contextmanager
def stopping(say: Say) -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set. The second one interrupts what is being done. Main thread only."""
    stop = threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        say("stopping once the attempt at hand is measured and pushed; again: at once")

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
