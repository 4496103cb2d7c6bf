"""Looks at what needs or concerns a GPU: the card, torch, the profiler, the sanitizer."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from cutegen_git.devices.gpu.driver import Found, find_gpu
from cutegen_git.hands import process

from .doctor_finding import Finding, State

PROBE_S = 20.0
COUNTERS_FIX = (
    "ERR_NVGPUCTRPERM: echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | "
    "sudo tee /etc/modprobe.d/nvidia-profiling.conf, then restart the machine; or run as root"
)
DRIVER_PARAMETERS = Path("/proc/driver/nvidia/params")


def look() -> Found | str:
    """The GPU, or why there is none."""
    return find_gpu()


def gpu(found: Found | str, home: str | None) -> Finding:
    """The card that judges here, and whether its verdicts move main."""
    if isinstance(found, str):
        matters = "kernels are timed on a GPU; without one the emulator checks them, and `verify --pending` elsewhere measures"
        return Finding(
            "GPU", State.MISSING, found, matters, "use a Linux machine with an NVIDIA GPU and driver"
        )
    card = found.device
    text = f"{card.name} ({card.slug}), sm_{card.sm}, {card.memory_bytes / 1024**3:.0f} GiB, driver {card.driver}"
    if home is not None and home != card.slug:
        matters = f"this task's home device is {home}: verdicts of {card.slug} are kept, and do not move main"
        return Finding(
            "GPU", State.NOTE, text, matters, f'set [target] device = "{card.slug}", or verify on {home}'
        )
    return Finding("GPU", State.OK, text)


def torch(found: Found | str, version_file: Path | None = None) -> Finding:
    """torch and the CUDA it was built for, from its files: importing it takes seconds."""
    matters = "the judge computes references and baselines with it"
    try:
        version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        return Finding("torch", State.MISSING, "not installed", matters, "pip install 'cutegen-git[judge]'")
    cuda = _torch_cuda(version_file)
    if cuda is not None:
        return Finding("torch", State.OK, f"{version}, CUDA {cuda}")
    if isinstance(found, str):
        return Finding("torch", State.OK, f"{version}, without CUDA (there is no GPU here)")
    fix = "pip install --force-reinstall torch, from an index with CUDA builds (PyPI has them for Linux)"
    return Finding("torch", State.MISSING, f"{version} is built without CUDA", matters, fix)


def _torch_cuda(version_file: Path | None) -> str | None:
    spec = importlib.util.find_spec("torch")
    if version_file is None and spec is not None and spec.origin is not None:
        version_file = Path(spec.origin).parent / "version.py"
    if version_file is None or not version_file.is_file():
        return None
    cuda = re.search(r"^cuda\b[^=\n]*=\s*['\"]([\d.]+)['\"]", version_file.read_text(), re.MULTILINE)
    return cuda[1] if cuda else None


def compute_mode(found: Found | str, environment: Mapping[str, str]) -> Finding | None:
    """Whether several processes may use the card at once: judge and candidate are two."""
    smi = shutil.which("nvidia-smi", path=environment.get("PATH"))
    if isinstance(found, str) or smi is None:
        return None
    query = [smi, f"--id={found.pci_bus}", "--query-gpu=compute_mode", "--format=csv,noheader"]
    done = process.run(query, timeout_s=PROBE_S)
    mode = done.text().strip()
    if not done.ok or mode in ("", "Default"):
        return None
    matters = "judge and candidate are two processes on one card"
    fix = f"sudo nvidia-smi --id={found.pci_bus} --compute-mode=DEFAULT"
    return Finding("compute mode", State.MISSING, mode, matters, fix)


def ncu(found: Found | str, environment: Mapping[str, str], parameters: Path = DRIVER_PARAMETERS) -> Finding:
    """Nsight Compute and the permission to read counters."""
    path = _tool("ncu", environment, ("/opt/nvidia/nsight-compute/*/ncu",))
    matters = "profiles a stable kernel for the model; without it the compiler's facts stand alone"
    if path is None:
        fix = "install Nsight Compute 2025.3 or newer (https://developer.nvidia.com/nsight-compute)"
        return Finding("ncu", State.NOTE, "not installed", matters, fix)
    done = process.run([path, "--version"], timeout_s=PROBE_S)
    version = re.search(r"Version ([\d.]+)", done.text())
    text = f"{version[1] if version else 'unknown version'} ({path})"
    if not isinstance(found, str) and not may_read_counters(parameters):
        return Finding("ncu", State.NOTE, f"{text}, counters not allowed", matters, COUNTERS_FIX)
    return Finding("ncu", State.OK, text)


def may_read_counters(parameters: Path = DRIVER_PARAMETERS) -> bool:
    """The driver's own answer; root always may."""
    if os.geteuid() == 0:
        return True
    try:
        return not re.search(r"^RmProfilingAdminOnly:\s*1", parameters.read_text(), re.MULTILINE)
    except OSError:
        return True


def sanitizer(found: Found | str, environment: Mapping[str, str]) -> Finding:
    """compute-sanitizer, which looks for out-of-bounds accesses and races before a promotion."""
    path = _tool("compute-sanitizer", environment, ("/usr/local/cuda*/compute-sanitizer/compute-sanitizer",))
    if path is not None:
        return Finding("compute-sanitizer", State.OK, str(path))
    matters = "looks for out-of-bounds accesses and races before a kernel is promoted"
    fix = "install it with the CUDA toolkit (Debian, Ubuntu: apt-get install cuda-sanitizer-13-0, NVIDIA's repository)"
    return Finding("compute-sanitizer", State.NOTE, "not installed", matters, fix)


def _tool(name: str, environment: Mapping[str, str], places: tuple[str, ...]) -> Path | None:
    on_path = shutil.which(name, path=environment.get("PATH"))
    if on_path is not None:
        return Path(on_path)
    places = (f"/usr/local/cuda*/bin/{name}", *places)
    found = sorted(file for place in places for file in Path("/").glob(place.lstrip("/")))
    return found[-1] if found else None
