"""The host compiler's flags, and one way to run it with a limit on time."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

STANDARD = "-std=c++17"
PREPROCESS = ("g++", "-x", "c++", "-E", STANDARD, "-DNDEBUG_EMULATOR=1")
# One candidate per process makes GNU_UNIQUE symbols harmless; the flag stays, should anybody link two kernels together.
COMPILE = (
    "g++",
    STANDARD,
    "-O1",
    "-g1",
    "-gdwarf-4",  # addr2line 2.40 mixes up the files of version 5
    "-fno-var-tracking",  # with the next one a sixth of the time; lines are all that is read
    "-fno-var-tracking-assignments",
    "-w",
    "-c",
    "-fno-pie",
    "-fsanitize=thread",
    "-fsanitize=alignment",
    "--param=tsan-distinguish-volatile=1",
    "--param=tsan-instrument-func-entry-exit=0",
    "-fno-gnu-unique",
    "-fno-threadsafe-statics",
    "-fno-strict-aliasing",
    "-fno-stack-protector",
    "-fno-omit-frame-pointer",  # reports walk the stack to the line of the user
    "-fno-optimize-sibling-calls",
    "-fcf-protection=none",
    "-fno-ipa-icf",
    "-fstack-clash-protection",
    "-fmax-errors=20",
)


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a build."""

    command: tuple[str, ...]
    folder: Path  # where it runs
    timeout_s: float


def run_step(step: Step) -> tuple[int, str] | None:
    """The exit code and what was said; None where time ran out (the whole process group is ended)."""
    with subprocess.Popen(
        step.command,
        cwd=step.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
        start_new_session=True,
        env={**os.environ, "LC_ALL": "C"},
    ) as child:
        try:
            _, log = child.communicate(timeout=max(step.timeout_s, 0.1))
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            return None
    return child.returncode, log
