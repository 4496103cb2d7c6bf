"""The clean call of git: no setting of the user, no hook, no prompt and no `GIT_*` variable reaches a local call.

GitPython's `git.cmd.Git` starts the child; its own time limit kills one process by `ps`, so the limit is ours.
What it is given instead is in `settings`.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cutegen_git.hands.process import Done
from cutegen_git.words.errors import CutegenError, RepoError, ToolError

from .settings import LOCAL_CONFIG, NETWORK_CONFIG, environment, without_inherited

try:
    from git.cmd import Git as Door
except ImportError as error:  # GitPython looks for git when it is imported
    if shutil.which("git"):
        raise
    raise RepoError("git is not installed: install git 2.38 or later") from error

TIMEOUT_S = 120.0
NETWORK_TIMEOUT_S = 900.0


class Git:
    """Calls git on one repository; `git_dir` None leaves finding the repository to git."""

    def __init__(self, cwd: Path, *, git_dir: Path | None = None, config: Mapping[str, str] | None = None):
        self.cwd, self.git_dir = cwd, git_dir
        self.extra = dict(config or {})  # settings beyond LOCAL_CONFIG, for every local call

    def start(
        self,
        args: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        keep: Sequence[int] = (),
        network: bool = False,
    ) -> subprocess.Popen[bytes]:
        """The running child, its three streams piped. It inherits the descriptors in `keep`."""
        config = NETWORK_CONFIG if network else {**LOCAL_CONFIG, **self.extra}
        own = environment(config, network=network)
        if self.git_dir is not None:
            own["GIT_DIR"] = str(self.git_dir)
        own.update(env or {})
        extra: dict[str, Any] = {"start_new_session": not network}
        if keep and sys.platform != "win32":
            extra["pass_fds"] = tuple(keep)
        door = Door(self.cwd)
        process = door.execute(
            [*without_inherited(own, network=network), "git", *args],
            istream=subprocess.PIPE,
            as_process=True,
            shell=False,
            env=own,
            **extra,
        )
        child: subprocess.Popen[bytes] = process.proc
        process.proc = None  # GitPython would interrupt it on collection; the caller waits for it
        return child

    def run(
        self,
        *args: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
        keep: Sequence[int] = (),
        network: bool = False,
    ) -> Done:
        """How the call ended, whatever its exit code."""
        limit = timeout_s or (NETWORK_TIMEOUT_S if network else TIMEOUT_S)
        began = time.monotonic()
        child = self.start(args, env=env, keep=keep, network=network)
        code: int | None
        try:
            out, err = child.communicate(stdin, timeout=limit)
            code = child.returncode
        except subprocess.TimeoutExpired:
            stop(child, group=not network)
            out, err = child.communicate()
            code = None
        except KeyboardInterrupt:
            if network:
                stop(child, group=False)
            child.communicate(timeout=limit)  # a local call is done in a moment: half a write would be worse
            raise
        except BaseException:
            stop(child, group=not network)
            child.wait()
            raise
        return Done(("git", *args), code, out, err, time.monotonic() - began)

    def check(self, *args: str, **more: Any) -> Done:
        """As `run`, for calls that must succeed: RepoError or ToolError otherwise."""
        done = self.run(*args, **more)
        if not done.ok:
            raise trouble(done)
        return done

    def out(self, *args: str, **more: Any) -> str:
        """stdout of a call that must succeed, without its last newline."""
        return self.check(*args, **more).text().removesuffix("\n")


def stop(child: subprocess.Popen[bytes], *, group: bool) -> None:
    """Kill the child, and all it started where it leads its own session."""
    try:
        if group and sys.platform != "win32":
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.terminate() if child.poll() is None and sys.platform != "win32" else child.kill()
    except (ProcessLookupError, PermissionError):
        return


_KNOWN = (
    ("dubious ownership", "the repository belongs to another user: {last}"),
    ("not a git repository", "not a git repository: {last}"),
    ("No space left on device", "the disk is full, nothing was changed: {last}"),
    ("Disk quota exceeded", "the disk quota is used up, nothing was changed: {last}"),
    ("couldn't write", "git could not write, is the disk full? {last}"),
    ("index.lock': File exists", "another git process works here, or one crashed: {last}"),
    ("Permission denied", "git may not write here: {last}"),
    ("could not read Username", "the remote asks for a login: set up a credential helper or ssh ({last})"),
)


def trouble(done: Done) -> CutegenError:
    """The exception that a failed call deserves."""
    text = done.errors()
    for sign, sentence in _KNOWN:
        line = next((line for line in text.splitlines() if sign in line), None)
        if line is not None:
            return RepoError(
                sentence.format(last=line.removeprefix("fatal: ").removeprefix("error: ").strip())
            )
    return ToolError(list(done.argv), done.code, done.text(), text)
