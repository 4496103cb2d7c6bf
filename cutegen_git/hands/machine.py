"""Who and where we are: the clock, this machine's name as a runner, the environment. No policy."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import time
from collections.abc import Mapping
from pathlib import Path


def now_s() -> int:
    """Seconds since 1970, UTC."""
    return int(time.time())


def environment() -> Mapping[str, str]:
    """The process environment, read when asked and never stored."""
    return dict(os.environ)


def runner_name(device: str, env: Mapping[str, str]) -> str:
    """The name under which this machine writes verdicts: CUTEGEN_GIT_RUNNER, else `<device>-<4 hex digits>`.

    The digits come from the machine's id, so that two machines with one kind of card never share a notes
    ref (one writer, one ref), and no host name ends up in a public repository.
    """
    named = env.get("CUTEGEN_GIT_RUNNER", "").strip()
    if re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", named):
        return named
    return f"{device}-{machine_digest()[:4]}"


def is_own_runner(name: str, env: Mapping[str, str]) -> bool:
    """True for a name under which this machine writes, whatever the device."""
    return name == env.get("CUTEGEN_GIT_RUNNER", "").strip() or name.endswith(f"-{machine_digest()[:4]}")


def machine_digest() -> str:
    """A stable hash of this machine; says nothing readable about it."""
    for path in (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id")):
        if path.is_file():
            return hashlib.sha256(path.read_bytes() + b"cutegen-git").hexdigest()
    return hashlib.sha256(f"{platform.node()} cutegen-git".encode()).hexdigest()
