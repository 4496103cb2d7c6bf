"""What this machine can do, what lacks, why that matters and the exact fix. Imports neither torch nor litellm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path

from cutegen_git.core import taskfile
from cutegen_git.hands import toolchain
from cutegen_git.hands.cache import Cache
from cutegen_git.words.errors import CutegenError

from . import doctor_gpu, doctor_probes
from .doctor_finding import Finding, State

Say = Callable[[str], None]
FIXABLE = ("nvcc", "CUTLASS")  # what `mend` can bring; the rest is the user's to decide


class Role(str, Enum):
    """The three parts, which install apart."""

    PROPOSE = "propose"
    VERIFY = "verify"
    REVIEW = "review"


NEEDS: Mapping[Role, tuple[str, ...]] = {
    Role.PROPOSE: ("Python", "git", "litellm", "model keys"),
    Role.VERIFY: ("Python", "git", "nvcc", "CUTLASS", "host compiler", "torch", "GPU"),
    Role.REVIEW: ("Python", "git"),
}
WITHOUT: Mapping[Role, str] = {
    Role.PROPOSE: "replay and handoff work",
    Role.VERIFY: "offline verification works",
    Role.REVIEW: "",
}


@dataclass(frozen=True, slots=True)
class Examination:
    """All findings, and what follows from them."""

    findings: tuple[Finding, ...]

    def missing(self, role: Role) -> tuple[str, ...]:
        """What the role needs and this machine lacks."""
        lacking = {finding.name for finding in self.findings if finding.state is State.MISSING}
        return tuple(name for name in NEEDS[role] if name in lacking)

    def says(self, role: Role) -> str:
        """The role's state in one line."""
        lacking = self.missing(role)
        if not lacking:
            return "ready"
        rest = f"; {WITHOUT[role]}" if WITHOUT[role] else ""
        if role is Role.VERIFY and set(lacking) <= {"GPU", "torch"}:
            rest = "; the emulator checks, nothing is timed"
        return f"not complete: no {', no '.join(lacking)}{rest}"

    @property
    def usable(self) -> bool:
        """False where not even a review is possible."""
        return not self.missing(Role.REVIEW)

    def record(self) -> dict[str, object]:
        """For --json."""
        return {
            "usable": self.usable,
            "roles": {role.value: self.says(role) for role in Role},
            "findings": [{**asdict(finding), "state": finding.state.value} for finding in self.findings],
        }


def examine(environment: Mapping[str, str], cache: Cache, folder: Path | None = None) -> Examination:
    """Looks at everything; never raises for what it finds. `folder` may hold a task, whose home device counts."""
    gpu = doctor_gpu.look()
    findings = [
        doctor_probes.python(),
        doctor_probes.git(environment),
        doctor_probes.nvcc(environment),
        doctor_probes.cutlass(environment, cache),
        doctor_probes.host_compiler(environment),
        doctor_gpu.torch(gpu),
        doctor_gpu.gpu(gpu, _home_device(folder)),
        doctor_gpu.compute_mode(gpu, environment),
        doctor_gpu.ncu(gpu, environment),
        doctor_gpu.sanitizer(gpu, environment),
        doctor_probes.litellm(),
        doctor_probes.keys(environment),
        doctor_probes.cache_folder(cache),
        doctor_probes.network_namespace(environment),
        doctor_probes.cgroups(),
    ]
    return Examination(tuple(finding for finding in findings if finding is not None))


def mend(before: Examination, environment: Mapping[str, str], cache: Cache, say: Say) -> Sequence[str]:
    """Installs what can be installed without asking; the names of what it installed. Raises if that fails."""
    lacking = {finding.name for finding in before.findings if finding.state is State.MISSING}
    done: list[str] = []
    if "nvcc" in lacking:
        toolchain.install_cuda(say)
        done.append("nvcc")
    if "CUTLASS" in lacking:
        toolchain.fetch_cutlass(cache, say)
        done.append("CUTLASS")
    return done


def _home_device(folder: Path | None) -> str | None:
    if folder is None or not (folder / "task.toml").is_file():
        return None
    try:
        return taskfile.parse((folder / "task.toml").read_text()).device
    except (CutegenError, OSError, UnicodeDecodeError):
        return None  # `verify` will say what is wrong with it
