"""Runs a plan's commands side by side, as far as their needs allow.

Output goes to files: no pipe can fill up. The first failure *in nvcc's order* is the one reported, whichever
comes first in time, so that the same sources give the same log every time.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cutegen_git.hands.process import OUTPUT_LIMIT_BYTES, kill_group
from cutegen_git.words.errors import ToolError

POLL_S = 0.01
TICK_S = 5.0  # between two lines of progress


@dataclass(frozen=True, slots=True)
class Job:
    """A command and where it runs."""

    argv: tuple[str, ...]
    needs: tuple[int, ...]  # positions in the list of jobs
    title: str
    cwd: Path
    env: Mapping[str, str]
    output: Path  # gets stdout and stderr


@dataclass(slots=True)
class Schedule:
    """The state of one run. `codes` holds the exit code of every job that ended by itself."""

    jobs: Sequence[Job]
    workers: int
    codes: dict[int, int] = field(default_factory=dict)
    running: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def failed(self) -> int | None:
        """Position of the first job, in the list's order, that failed."""
        return min((index for index, code in self.codes.items() if code != 0), default=None)

    def run(self, deadline: float, tick: Callable[[str], None]) -> bool:
        """True when all that had to run has ended; False at the deadline (on time.monotonic's clock)."""
        next_tick = time.monotonic() + TICK_S
        try:
            while self._start() or self.running:
                if time.monotonic() > deadline:
                    return False
                if time.monotonic() > next_tick:
                    tick(", ".join(self.jobs[index].title for index in sorted(self.running)))
                    next_tick += TICK_S
                self._reap()
        finally:
            self._kill(list(self.running))
        return True

    def output(self, index: int) -> str:
        """What a job printed so far."""
        try:
            with self.jobs[index].output.open("rb") as stream:
                return stream.read(OUTPUT_LIMIT_BYTES).decode("utf-8", "replace")
        except FileNotFoundError:
            return ""

    def _start(self) -> bool:
        """Start what can start. True if anything was started."""
        last = len(self.jobs) if self.failed is None else self.failed
        begun = False
        for index in range(last):
            if len(self.running) >= self.workers:
                break
            if index in self.codes or index in self.running:
                continue
            if all(self.codes.get(need) == 0 for need in self.jobs[index].needs):
                self.running[index] = _spawn(self.jobs[index])
                begun = True
        return begun

    def _reap(self) -> None:
        ended = {index: code for index, child in self.running.items() if (code := child.poll()) is not None}
        if not ended:
            time.sleep(POLL_S)
            return
        self.codes.update(ended)
        for index in ended:
            del self.running[index]
        failed = self.failed
        if failed is not None:  # what comes after the failure in nvcc's order would never have been started
            self._kill([index for index in self.running if index > failed])

    def _kill(self, indices: list[int]) -> None:
        for index in indices:
            kill_group(self.running[index].pid)
        for index in indices:
            self.running.pop(index).wait()


def _spawn(job: Job) -> subprocess.Popen[bytes]:
    with job.output.open("wb") as stream:
        try:
            child = subprocess.Popen(
                job.argv,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                cwd=job.cwd,
                env=dict(job.env),
                start_new_session=True,
            )
        except OSError as error:
            raise ToolError(list(job.argv), 127, "", str(error), why="cannot be started") from error
    _limit_memory(child.pid)
    return child


def _limit_memory(pid: int) -> None:
    """A template that grows without end must not take the machine with it. Only Linux can do this from outside."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        if hasattr(resource, "prlimit"):
            memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
            limit = max(4 * 1024**3, memory * 3 // 4)
            resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))
