"""One child process with limits: started in its own group, ended with its group, its words kept short."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .runtime import CAGE

REPORT_BYTES = 4 << 20
SAID_CHARS = 4000
CAGED_BYTES = 100  # the first line of the reports, which the cage writes before the program is loaded


@dataclass(frozen=True, slots=True)
class Limits:
    """What one child may use."""

    memory_kib: int  # address space; shadow memory and 1024 stacks included
    file_kib: int = 16 << 10  # of anything it writes to a file
    cpu_s: int = 600

    @staticmethod
    def for_bytes(tensor_bytes: int) -> Limits:
        """Enough for tensors of this size and the cells that follow who wrote them."""
        return Limits(memory_kib=(4 << 20) + 16 * tensor_bytes // 1024)


@dataclass(frozen=True, slots=True)
class ChildResult:
    """How a child ended."""

    code: int  # exit code, negative for a signal
    timed_out: bool
    reports: str  # JSON lines
    said: str  # the end of stdout and stderr
    confined: tuple[str, ...] = ()  # the limits that held before the program was loaded: files, calls


def run_child(
    program: Path, job: str, data_fd: int, timeout_s: float, limits: Limits, prefix: Sequence[str] = ()
) -> ChildResult:
    """Runs `program JOB REPORTS DATA` in the cage beside it (native/cage.cpp); `prefix` may start the cage in turn.

    Reports and words go to memory files, so nothing can block.
    """
    with memory_file(job.encode()) as job_fd, memory_file() as reports_fd, memory_file() as said_fd:
        caps = (limits.cpu_s, limits.memory_kib, limits.file_kib)
        fds = (job_fd, reports_fd, data_fd)
        command = [*prefix, str(program.with_name(CAGE)), *map(str, caps), str(program), *map(str, fds)]
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=said_fd,
            stderr=said_fd,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
            cwd="/",
            pass_fds=fds,
            start_new_session=True,
        )
        timed_out = False
        try:
            child.wait(timeout=max(timeout_s, 0.1))
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            end_group(child)
        reports, said = read_tail(reports_fd, REPORT_BYTES), read_tail(said_fd, SAID_CHARS)
        return ChildResult(child.returncode, timed_out, reports, said, held(reports_fd))


def held(reports_fd: int) -> tuple[str, ...]:
    """What the cage says of its limits; nothing where it did not come that far."""
    found = re.match(rb'{"confined":"([a-z ]*)"}\n', os.pread(reports_fd, CAGED_BYTES, 0))
    return tuple(found[1].decode().split()) if found else ()


def end_group(child: subprocess.Popen[bytes]) -> None:
    """Ends the child and whatever it started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()


@contextmanager
def memory_file(content: bytes = b"") -> Iterator[int]:
    """A descriptor of a file in memory."""
    fd = os.memfd_create("cutegen", os.MFD_CLOEXEC)
    try:
        if content:
            os.write(fd, content)
            os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)


def read_tail(fd: int, most: int) -> str:
    """The last `most` bytes of a file, as text."""
    size = os.fstat(fd).st_size
    return os.pread(fd, most, max(0, size - most)).decode(errors="replace")
