"""Where attempts are judged: what `--device` may say, and what the emulator needs."""

from __future__ import annotations

import platform
import shutil
from enum import Enum
from importlib.util import find_spec

from cutegen_git.hands import machine


class Where(str, Enum):
    """What `--device` may say."""

    AUTO = "auto"
    GPU = "gpu"
    EMULATOR = "emulator"
    NONE = "none"


def emulator_missing() -> str:
    """Why the emulator cannot run here; "" if it can."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return f"the emulator runs on x86-64 Linux, not on {platform.system()} {platform.machine()}"
    if shutil.which(machine.environment().get("CUTEGEN_GIT_CXX", "g++")) is None:
        return "the emulator needs g++ (Debian, Ubuntu: apt-get install g++)"
    if find_spec("torch") is None:
        return "the judge needs torch (pip install 'cutegen-git[judge]')"
    return ""
