"""The clean call of git: no setting of the user, no hook, no prompt and no `GIT_*` variable reaches a local call.

GitPython's `git.cmd.Git` starts the child; its own time limit kills one process by `ps`, so the limit is ours.
Two profiles: local (nothing of the user) and network (the user's credentials, proxy and ssh, but no hooks).
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

try:
    from git.cmd import Git as Door
except ImportError as error:  # GitPython looks for git when it is imported
    if shutil.which("git"):
        raise
    raise RepoError("git is not installed: install git 2.38 or later") from error

TIMEOUT_S = 120.0
NETWORK_TIMEOUT_S = 900.0

_NULL = os.devnull
_BOTH = {  # settings that may sit in the repository's own config as well, so they are overridden, not hidden
    "core.hooksPath": _NULL,
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "submodule.recurse": "false",
    "color.ui": "false",
    "core.quotePath": "false",
    "core.fsync": "objects,derived-metadata,reference",
}
LOCAL_CONFIG = {
    **_BOTH,
    "core.attributesFile": _NULL,
    "core.excludesFile": _NULL,
    "core.autocrlf": "false",
    "core.safecrlf": "false",
    "core.splitIndex": "false",
    "core.commentChar": "#",
    "core.abbrev": "40",
    "i18n.commitEncoding": "UTF-8",
    "i18n.logOutputEncoding": "UTF-8",
    "log.showSignature": "false",
    "status.showUntrackedFiles": "normal",
    "status.relativePaths": "false",
    "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false",
    "diff.ignoreSubmodules": "none",
}
NETWORK_CONFIG = {
    **_BOTH,
    "transfer.fsckObjects": "true",
    "fetch.fsckObjects": "true",
    "fetch.recurseSubmodules": "false",
    "fetch.prune": "false",
    "fetch.writeCommitGraph": "false",
    "push.gpgSign": "false",
    "push.followTags": "false",
    "push.recurseSubmodules": "no",
}
# `git rev-parse --local-env-vars`, less the two that carry settings: they would send a call to another repository.
LOCATION = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_NAMESPACE", "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE", "GIT_QUARANTINE_PATH",
)  # fmt: skip
_QUIET = {"LC_ALL": "C", "TZ": "UTC", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true"}
_LOCAL = {
    **_QUIET,
    "GIT_CONFIG_GLOBAL": _NULL,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": _NULL,
}


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
        own = _environment({**LOCAL_CONFIG, **self.extra} if not network else NETWORK_CONFIG, network=network)
        if self.git_dir is not None:
            own["GIT_DIR"] = str(self.git_dir)
        own.update(env or {})
        extra: dict[str, Any] = {"start_new_session": not network}
        if keep and sys.platform != "win32":
            extra["pass_fds"] = tuple(keep)
        door = Door(self.cwd)
        process = door.execute(
            [*_without_inherited(own, network=network), "git", *args],
            istream=subprocess.PIPE,
            as_process=True,
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


def _environment(config: Mapping[str, str], *, network: bool) -> dict[str, str]:
    """The variables to set. Settings travel in GIT_CONFIG_*, so that command lines stay readable in errors."""
    env = dict(_QUIET if network else _LOCAL)
    first = 0
    if network and os.environ.get("GIT_CONFIG_COUNT", "").isdecimal():
        first = int(os.environ["GIT_CONFIG_COUNT"])
    for index, (key, value) in enumerate(config.items(), first):
        env[f"GIT_CONFIG_KEY_{index}"], env[f"GIT_CONFIG_VALUE_{index}"] = key, value
    env["GIT_CONFIG_COUNT"] = str(first + len(config))
    return env


def _without_inherited(own: Mapping[str, str], *, network: bool) -> list[str]:
    """A prefix that drops inherited variables: GitPython can add to the environment, not take away (V28)."""
    found = [
        name
        for name in os.environ
        if name.startswith("GIT_") and name not in own and (not network or name in LOCATION)
    ]
    if not found:
        return []
    if sys.platform == "win32":
        raise RepoError(f"the environment sets {', '.join(sorted(found))}: unset them and run again")
    return ["env", *(word for name in sorted(found) for word in ("-u", name))]
