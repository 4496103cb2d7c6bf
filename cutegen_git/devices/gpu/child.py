"""The candidate's process from the judge's side: one line out, one line back, with time and memory limits."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cutegen_git.core.feedback.check import cuda_trouble
from cutegen_git.hands.process import kill_group
from cutegen_git.judge.protocol import BrokenDevice, Trouble
from cutegen_git.words.verdict import Outcome

MEMORY_LIMIT_BYTES = 8 << 30  # resident, host: watched, since RLIMIT_AS breaks CUDA
_REPLY_LIMIT = 4 << 20
_LOOK_S = 0.2
_OWN_STAGES = ("open", "map", "timer", "probe")  # where the runner itself calls CUDA


@dataclass
class Child:
    """A runner process. After a Trouble it is dead."""

    runner: Path
    environment: dict[str, str]
    limits: tuple[str, ...] = ()  # what took hold: network, files, calls
    _process: subprocess.Popen[bytes] | None = None
    _pending: bytes = field(default=b"")

    def start(self, flush_bytes: int, readable: Sequence[Path]) -> None:
        """A process with a CUDA context and nothing loaded. BrokenDevice if it cannot be had."""
        try:
            self._process = subprocess.Popen(
                [self.runner],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=self.environment,
                start_new_session=True,
            )
        except OSError as error:
            raise BrokenDevice(f"the candidate's process does not start: {error}") from error
        words = self._must("", 20) + self._must(f"open {flush_bytes}", 60)
        words += self._must("confine " + " ".join(str(path).encode().hex() for path in readable), 20)
        self.limits = tuple(word for word in words if word in ("network", "files", "calls"))

    def _must(self, line: str, limit_s: float) -> list[str]:
        reply = self.ask(line, limit_s)
        if isinstance(reply, Trouble):
            raise BrokenDevice(f"the candidate's process fails before a kernel is loaded: {reply.why}")
        return reply

    def ask(self, line: str, limit_s: float) -> list[str] | Trouble:
        """The words after "ok", or what went wrong; "" only listens."""
        process = self._process
        if process is None or process.stdin is None:
            return Trouble(Outcome.CRASHED, "the process has ended")
        try:
            if line:
                process.stdin.write(line.encode() + b"\n")
                process.stdin.flush()
            reply = self._read(process, limit_s)
        except BrokenPipeError:
            reply = self._ended(process)
        if isinstance(reply, Trouble):
            self.close()
            return reply
        return self._understand(reply)

    def _understand(self, reply: str) -> list[str] | Trouble:
        verb, _, rest = reply.partition(" ")
        if verb == "ok":
            return rest.split()
        self.close()
        if verb == "cuda":
            stage, code, name = (rest.split() + ["", "0", ""])[:3]
            outcome, why = cuda_trouble(stage, int(code) if code.isdigit() else 0, name)
            if stage in _OWN_STAGES and outcome is not Outcome.CRASHED:
                raise BrokenDevice(f"the candidate's process cannot be made ready: {why}")
            return Trouble(outcome, why)
        if "Permission denied" in rest:
            raise BrokenDevice(f"the candidate's process may not read its library: {rest[:300]}")
        if verb == "bad" and rest.startswith("dlopen"):
            return Trouble(Outcome.FORBIDDEN_SYMBOL, f"the library cannot be loaded: {rest[7:400]}")
        return Trouble(Outcome.CRASHED, f"the process answers out of turn: {reply[:100]}")

    def _read(self, process: subprocess.Popen[bytes], limit_s: float) -> str | Trouble:
        assert process.stdout is not None
        deadline = time.monotonic() + limit_s
        while b"\n" not in self._pending:
            left = deadline - time.monotonic()
            if left <= 0:
                return Trouble(Outcome.TIMEOUT, f"no end after {limit_s:.0f} s; the process was killed")
            ready, _, _ = select.select([process.stdout], [], [], min(left, _LOOK_S))
            if ready:
                chunk = os.read(process.stdout.fileno(), 1 << 16)
                if not chunk:
                    return self._ended(process)
                self._pending += chunk
            elif resident_bytes(process.pid) > MEMORY_LIMIT_BYTES:
                return Trouble(
                    Outcome.CRASHED, f"it took more than {MEMORY_LIMIT_BYTES >> 30} GiB of host memory"
                )
            if len(self._pending) > _REPLY_LIMIT:
                return Trouble(Outcome.CRASHED, "the process floods its reply channel")
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode("utf-8", "replace")

    def _ended(self, process: subprocess.Popen[bytes]) -> Trouble:
        try:
            code = process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return Trouble(Outcome.CRASHED, "the process closed its reply channel")
        if code == -signal.SIGSYS:
            return Trouble(Outcome.FORBIDDEN_CALL, "it started a process or opened a socket, and was killed")
        if code < 0:
            return Trouble(Outcome.CRASHED, f"the process was killed by {signal.Signals(-code).name}")
        return Trouble(Outcome.CRASHED, f"the library ended the process with exit code {code}")

    @property
    def is_alive(self) -> bool:
        return self._process is not None

    def close(self) -> None:
        """Kills the process and whatever it started."""
        process, self._process = self._process, None
        if process is None:
            return
        kill_group(process.pid)
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def resident_bytes(pid: int) -> int:
    """Host memory in use; 0 when the process is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
