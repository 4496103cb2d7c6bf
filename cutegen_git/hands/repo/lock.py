"""Locks that a dead process cannot keep: flock on a file in the git common dir, with pid and host in it for people.

A git child that moves refs inherits the descriptor, so the lock lasts until that child is gone too, even where
its parent was killed.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cutegen_git.words.errors import RepoError

_POLL_S = 0.002
ORPHAN_WAIT_S = 10.0  # a killed run's last git child ends in milliseconds; this is for a busy machine

if sys.platform == "win32":
    import msvcrt

    def _try(fd: int) -> bool:
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def hold(path: Path, *, wait_s: float, what: str) -> Iterator[int]:
    """The descriptor that holds the lock. RepoError that names the holder when it stays taken."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise RepoError(f"{path} cannot be written ({error.strerror}): check the permissions") from error
    try:
        _acquire(fd, path, wait_s, what)
        os.ftruncate(fd, 0)
        os.pwrite(
            fd, f"{os.getpid()} {socket.gethostname()}\n".encode(), 0
        ) if sys.platform != "win32" else None
        yield fd
    finally:
        os.close(fd)  # the file stays: deleting it would let two processes hold two files of one name


def _sign(fd: int) -> None:
    """Say who holds it; on a full disk the lock holds all the same."""
    if sys.platform == "win32":
        return  # the locked byte cannot be read by others there
    with suppress(OSError):
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()} {socket.gethostname()}\n".encode(), 0)


def _acquire(fd: int, path: Path, wait_s: float, what: str) -> None:
    began = time.monotonic()
    while not _try(fd):
        waited = time.monotonic() - began
        if waited >= wait_s and not (waited < ORPHAN_WAIT_S and _holder_is_gone(path)):
            raise RepoError(
                f"{what} is taken by {_holder(path)}: wait for it to end, or stop it, and run again"
            )
        time.sleep(_POLL_S)


def _read(path: Path) -> tuple[int, str]:
    words = path.read_text(errors="replace").split()
    return (int(words[0]), words[1]) if len(words) == 2 and words[0].isdecimal() else (0, "")


def _holder(path: Path) -> str:
    pid, host = _read(path)
    return f"process {pid} on {host} ({path})" if pid else f"another process ({path})"


def _holder_is_gone(path: Path) -> bool:
    """True where the named process is dead and only a child of it can still hold the lock."""
    pid, host = _read(path)
    if not pid or host != socket.gethostname() or sys.platform == "win32":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
