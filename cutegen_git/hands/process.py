"""The one door to child processes: own session, own environment, a time limit that kills the whole group."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cutegen_git.words.errors import ToolError

OUTPUT_LIMIT_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Done:
    """A finished child."""

    argv: tuple[str, ...]
    code: int | None  # None: killed at the time limit; negative: killed by that signal
    stdout: bytes
    stderr: bytes
    seconds: float

    @property
    def ok(self) -> bool:
        return self.code == 0

    def text(self) -> str:
        """stdout decoded; what is not UTF-8 becomes U+FFFD."""
        return self.stdout.decode("utf-8", "replace")

    def errors(self) -> str:
        return self.stderr.decode("utf-8", "replace")

    def check(self) -> Done:
        """Itself; raises ToolError unless the child ended with 0."""
        if not self.ok:
            raise ToolError(list(self.argv), self.code, self.text(), self.errors())
        return self


def run(
    argv: Sequence[str | Path],
    *,
    timeout_s: float,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
) -> Done:
    """How the command ended; never raises for its exit code. ToolError if it cannot be started."""
    words = [str(word) for word in argv]
    started = time.monotonic()
    try:
        child = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=None if env is None else dict(env),
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(words, 127, "", str(error), why="cannot be started") from error
    code: int | None
    try:
        out, err = child.communicate(stdin, timeout=timeout_s)
        code = child.returncode
    except subprocess.TimeoutExpired:
        kill_group(child.pid)
        out, err = child.communicate()
        code = None
    except BaseException:
        kill_group(child.pid)
        child.wait()
        raise
    return Done(
        tuple(words), code, out[:OUTPUT_LIMIT_BYTES], err[:OUTPUT_LIMIT_BYTES], time.monotonic() - started
    )


def kill_group(pid: int) -> None:
    """Kill the child and all that it started in its session."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
