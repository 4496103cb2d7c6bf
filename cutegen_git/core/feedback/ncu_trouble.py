"""Why Nsight Compute gave no profile, from its own words and its exit code."""

from __future__ import annotations

import re

from .ncu_records import Blame, Problem, Trouble

KILLED_CODES = (124, 130, 137, 143)  # timeout, Ctrl-C, SIGKILL, SIGTERM; negative codes are signals too

_ERROR = re.compile(r"==ERROR== (.*)")
_WARNING = re.compile(r"==WARNING== (.*)")
_UNAVAILABLE = re.compile(r"Unable to access the following \d+ metrics?: (.+?)\.?\s*$")
_NO_METRIC = re.compile(r"Failed to find metric (?:regex:)?\^?([\w.]+)")
_LISTED = re.compile(r"\d+\. (.+)")

_PERMISSION = (
    "Load the driver with counters for everybody: put `options nvidia NVreg_RestrictProfilingToAdminUsers=0` into "
    "/etc/modprobe.d/nvidia-profiling.conf, rebuild the initramfs where the driver is in it "
    "(update-initramfs -u or dracut -f), and reboot. "
    "Or run as root or with CAP_SYS_ADMIN (a container: --cap-add=SYS_ADMIN). Until then the loop goes on without profiles."
)

# The first that matches an ==ERROR== line counts: a crash or an exit code is often only what followed.
_SIGNS: tuple[tuple[Problem, str], ...] = (
    (Problem.NO_PERMISSION, r"ERR_NVGPUCTRPERM|does not have permission to access"),
    (Problem.PROFILER_BUSY, r"driver resource was unavailable|concurrently (?:collecting|profiling)"),
    (Problem.METRICS_UNAVAILABLE, r"Unable to access the following \d+ metric|Failed to find metric"),
    (Problem.TARGET_NOT_FOUND, r"does not exist or is not an executable|No such file or directory"),
    (
        Problem.KERNEL_CRASHED,
        r"Launch(?:Failed|Timeout)|IllegalAddress|IllegalInstruction|Misaligned|HardwareStackError|InvalidPc|"
        r"illegal memory access|unspecified launch failure|misaligned address|Assert",
    ),
    (
        Problem.PROFILER_FAILED,
        r"Failed to initialize|LibraryNotLoaded|not supported|not compatible|Failed to (?:connect|prepare|load)",
    ),
    (Problem.APPLICATION_FAILED, r"application returned an error code|[Tt]he application crashed"),
)
_BLAME = {
    Problem.KERNEL_CRASHED: Blame.KERNEL,
    Problem.APPLICATION_FAILED: Blame.KERNEL,
    Problem.NO_KERNELS: Blame.REQUEST,
    Problem.METRICS_UNAVAILABLE: Blame.REQUEST,
    Problem.TARGET_NOT_FOUND: Blame.REQUEST,
}
_REMEDY = {
    Problem.NO_PERMISSION: _PERMISSION,
    Problem.PROFILER_BUSY: "Repeat later, or pause what holds the counters (for DCGM: dcgmi profile --pause).",
    Problem.PROFILER_FAILED: "Run `cutegen-git doctor`; the driver and Nsight Compute must fit each other.",
    Problem.METRICS_UNAVAILABLE: "Drop these metrics from the request and repeat.",
    Problem.TARGET_NOT_FOUND: "Give the absolute path of the program.",
    Problem.NO_KERNELS: "Ask for one of the kernels that were launched.",
    Problem.KERNEL_CRASHED: "Run the kernel under compute-sanitizer; numbers of this run mean nothing.",
    Problem.APPLICATION_FAILED: "Run the program without the profiler; numbers of this run mean nothing.",
    Problem.TRUNCATED: "Give ncu more time, a smaller workload or fewer metrics.",
    Problem.NO_OUTPUT: "Give ncu more time; look whether the system killed it for memory.",
}


def trouble(
    problem: Problem, message: str, *, metrics: tuple[str, ...] = (), kernels: tuple[str, ...] = ()
) -> Trouble:
    """The record, with blame and remedy of its class."""
    blame = _BLAME.get(problem, Blame.ENVIRONMENT)
    return Trouble(problem, message, blame, _REMEDY.get(problem, ""), metrics, kernels)


def is_killed(code: int) -> bool:
    """True for the exit codes of a process that was stopped from outside."""
    return code < 0 or code in KILLED_CODES


def reported(text: str) -> Trouble | None:
    """What ncu's own ==ERROR== lines say, the cause before its consequences."""
    errors = _errors(text)
    for problem, sign in _SIGNS:
        said = next((line for line in errors if re.search(sign, line)), None)
        if said is not None:
            return trouble(problem, said, metrics=_metrics(errors))
    if re.search(r"\bncu: (?:command )?not found|ncu.*No such file or directory", text):
        return trouble(Problem.PROFILER_FAILED, "ncu is not installed or not on the PATH")
    return None


def unexplained(text: str) -> Trouble | None:
    """The first ==ERROR== line as it stands; to be asked only where the report is of no use."""
    errors = _errors(text)
    return trouble(Problem.PROFILER_FAILED, errors[0] or "ncu gave no reason") if errors else None


def warnings(text: str) -> tuple[str, ...]:
    """What ncu warned of, without the standing note on clocks."""
    said = (found[1].strip() for line in _talk(text) if (found := _WARNING.search(line)))
    return tuple(dict.fromkeys(line for line in said if not line.startswith("Note: Running with")))


def available_kernels(text: str) -> tuple[str, ...]:
    """The list that ncu prints where a filter matched nothing."""
    _, heading, rest = text.partition("Available Kernels:")
    names = []
    for line in rest.strip().splitlines() if heading else ():
        found = _LISTED.fullmatch(line.strip())
        if not found:
            break
        names.append(found[1].strip())
    return tuple(names)


def _errors(text: str) -> list[str]:
    return [found[1].strip() for line in _talk(text) if (found := _ERROR.search(line))]


def _talk(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith('"')]


def _metrics(errors: list[str]) -> tuple[str, ...]:
    names: list[str] = []
    for line in errors:
        if found := _UNAVAILABLE.search(line):
            names += [name.strip() for name in found[1].split(",")]
        elif found := _NO_METRIC.search(line):
            names.append(found[1])
    return tuple(names)
