"""Looks at what needs no GPU: Python, git, the tool chain, the model's side, the cache, the operating system."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from cutegen_git.hands import process, toolchain
from cutegen_git.hands.cache import Cache
from cutegen_git.hands.model.choose import KEYS
from cutegen_git.words.errors import CutegenError

from .doctor_finding import Finding, State

OLDEST_GIT = (2, 38)
MALICIOUS_LITELLM = ("1.82.7", "1.82.8")  # BerriAI/litellm issue 24518
PROBE_S = 20.0
_COMPILES = "without it no kernel is compiled; log, show and sync work"


def python() -> Finding:
    """The version was checked by pip; here it is for bug reports."""
    where = "in a virtual environment" if sys.prefix != sys.base_prefix else "no virtual environment"
    return Finding("Python", State.OK, f"{platform.python_version()} on {sys.platform}, {where}")


def git(environment: Mapping[str, str]) -> Finding:
    """The version of git on PATH."""
    name, matters = "git", "every attempt, verdict and claim is in git"
    fix = "install git 2.38 or newer (Debian, Ubuntu: apt-get install git; https://git-scm.com/downloads)"
    path = shutil.which("git", path=environment.get("PATH"))
    if path is None:
        return Finding(name, State.MISSING, "not on PATH", matters, fix)
    said = process.run([path, "--version"], timeout_s=PROBE_S).text()
    numbers = re.search(r"(\d+)\.(\d+)(?:\.\d+)*", said)
    if numbers is None or (int(numbers[1]), int(numbers[2])) < OLDEST_GIT:
        return Finding(name, State.MISSING, f"{said.strip()} is too old", matters, fix)
    return Finding(name, State.OK, numbers[0])


def nvcc(environment: Mapping[str, str]) -> Finding:
    """nvcc and CUDA's runtime library, as a build would find them."""
    if not sys.platform.startswith("linux"):
        fix = "compile on Linux (WSL2 will do); here log, show, report and offline verification work"
        return Finding("nvcc", State.NOTE, f"NVIDIA has no nvcc wheel for {sys.platform}", _COMPILES, fix)
    try:
        path, version = toolchain.find_nvcc(None, environment)
        toolchain.cuda_dirs(path)
    except CutegenError as error:
        return _lacks("nvcc", error, _COMPILES)
    return Finding("nvcc", State.OK, f"{version} ({path})")


def cutlass(environment: Mapping[str, str], cache: Cache) -> Finding:
    """CUTLASS's headers, which CuTe is part of."""
    try:
        include, version, _ = toolchain.find_cutlass(None, cache, environment)
    except CutegenError as error:
        return _lacks("CUTLASS", error, "without CuTe's headers no CuTe kernel is compiled")
    return Finding("CUTLASS", State.OK, f"{version} ({include})")


def host_compiler(environment: Mapping[str, str]) -> Finding:
    """g++, which nvcc calls for the host's half."""
    try:
        path, version = toolchain.find_host_compiler(environment)
    except CutegenError as error:
        return _lacks("host compiler", error, "nvcc compiles the host's half of a kernel with it")
    return Finding("host compiler", State.OK, f"g++ {version} ({path})")


def _lacks(name: str, error: CutegenError, matters: str) -> Finding:
    what, _, fix = str(error).partition("; ")
    return Finding(name, State.MISSING, what, matters, fix or what)


def litellm() -> Finding:
    """litellm's version, without importing it."""
    matters = "asks models; without it refine works with --model handoff and --model replay:SOURCE"
    fix = "pip install 'cutegen-git[llm]'"
    try:
        version = metadata.version("litellm")
    except metadata.PackageNotFoundError:
        return Finding("litellm", State.MISSING, "not installed", matters, fix)
    if version in MALICIOUS_LITELLM:
        found = f"{version} was a malicious upload (BerriAI/litellm issue 24518)"
        fix = f"pip install --upgrade {fix.removeprefix('pip install ')}, then replace every key on this machine"
        return Finding("litellm", State.MISSING, found, matters, fix)
    return Finding("litellm", State.OK, version)


def keys(environment: Mapping[str, str]) -> Finding:
    """Names of the variables that hold a key; never a value."""
    names = sorted({name for variables in KEYS.values() for name in variables if environment.get(name)})
    if names:
        return Finding("model keys", State.OK, ", ".join(names))
    matters = "a provider wants a key; handoff, replay and servers of your own do not"
    return Finding(
        "model keys", State.MISSING, "none set", matters, "export ANTHROPIC_API_KEY=… (or another's)"
    )


def cache_folder(cache: Cache) -> Finding:
    """Where the cache is and how large."""
    found = f"{cache.root}, {_size(cache.size_bytes())} of at most {_size(cache.limit_bytes)}"
    place = next(folder for folder in (cache.root, *cache.root.parents) if folder.exists())
    if not os.access(place, os.W_OK):
        fix = "name a folder that can be written: export CUTEGEN_GIT_CACHE=DIR"
        return Finding(
            "cache", State.NOTE, f"{found}, not writable", "every build would start from nothing", fix
        )
    return Finding("cache", State.OK, f"{found}; may be deleted at any time")


def network_namespace(environment: Mapping[str, str]) -> Finding | None:
    """Whether a candidate can be run without a network."""
    if not sys.platform.startswith("linux"):
        return None
    name, matters = "network namespace", "without it a candidate can reach the network while it is judged"
    unshare = shutil.which("unshare", path=environment.get("PATH"))
    if unshare is None:
        return Finding(name, State.NOTE, "no unshare", matters, "install util-linux")
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    if process.run([unshare, *user, "--net", "true"], timeout_s=PROBE_S).ok:
        return Finding(name, State.OK, "works")
    fix = "allow it (sysctl -w kernel.apparmor_restrict_unprivileged_userns=0), or judge in a container without network"
    return Finding(name, State.NOTE, "not allowed", matters, fix)


def cgroups(root: Path = Path("/sys/fs/cgroup")) -> Finding | None:
    """Whether a candidate's memory and processes can be limited as a group."""
    if not sys.platform.startswith("linux"):
        return None
    if (root / "cgroup.controllers").is_file() and os.access(root / "cgroup.procs", os.W_OK):
        return Finding("cgroups", State.OK, "version 2, writable")
    matters = "a candidate's memory is watched instead of limited; its verdicts say so"
    return Finding(
        "cgroups", State.NOTE, "not writable", matters, "run verify under `systemd-run --user --scope`"
    )


def _size(count: int) -> str:
    return f"{count / 1024**3:.1f} GiB" if count >= 1024**3 else f"{count / 1024**2:.0f} MiB"
