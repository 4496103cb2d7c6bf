"""What this machine can find out about an attempt: build it, and judge it where a device is at hand.

A bench is opened once a run; the judge's session behind it keeps torch, inputs, references and baselines.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cutegen_git.core import abi
from cutegen_git.core.feedback.compiler import explain
from cutegen_git.core.history import NO_DEVICE
from cutegen_git.devices import gpu
from cutegen_git.hands import build as builder
from cutegen_git.hands import machine, toolchain
from cutegen_git.hands.cache import Cache
from cutegen_git.judge import guard, guard_cute
from cutegen_git.words.attempt import Commit
from cutegen_git.words.device import EMULATOR, Device
from cutegen_git.words.errors import ToolError
from cutegen_git.words.verdict import Outcome, Resources, Verdict

from .bench_facts import refuse, rounded, worst_resources
from .project import Project
from .where import emulator_missing

if TYPE_CHECKING:
    from cutegen_git.devices.emulator.device import EmulatorDevice
    from cutegen_git.devices.gpu.device import GpuDevice
    from cutegen_git.judge.protocol import DeviceHandle
    from cutegen_git.judge.session import Judgement, Session

Say = Callable[[str], None]
# What an emulator can show the line of.
EXPLAINED = (
    Outcome.WRONG_RESULT,
    Outcome.NON_FINITE_OUTPUT,
    Outcome.OUT_OF_BOUNDS,
    Outcome.UNINITIALISED_READ,
    Outcome.RACE,
    Outcome.CRASHED,
    Outcome.LAUNCH_FAILED,
    Outcome.NONDETERMINISTIC,
)
EXPLANATION_LINES = 12


@dataclass(frozen=True, slots=True)
class Judging:
    """A verdict with what stands beside it."""

    verdict: Verdict
    feedback: str = ""  # for the next prompt
    samples: Mapping[str, Sequence[int]] = field(default_factory=dict)  # nanoseconds by arm
    facts: Mapping[str, str] = field(default_factory=dict)  # for the tag's message


@dataclass(frozen=True, slots=True)
class _Finding:
    """What judging found, before it becomes a verdict with ids and dates."""

    outcome: Outcome
    why: str = ""
    code: str = "none"
    feedback: str = ""


@dataclass
class Bench:
    """Builds and judges for one project."""

    project: Project
    say: Say
    nvcc: Path | None = None
    cutlass: Path | None = None
    wanted: str = "auto"  # auto, gpu, emulator or none

    def __post_init__(self) -> None:
        self.gpu, self.no_device = self._find_gpu()
        self.here = self.gpu.facts.slug if self.gpu else self._without_gpu()
        self.runner = machine.runner_name(self.here, machine.environment())
        self._session: Session | None = None
        self._emulator: EmulatorDevice | None = None
        self._toolchain: toolchain.Toolchain | None = None
        self.cache = Cache.default()

    def _find_gpu(self) -> tuple[GpuDevice | None, str]:
        if self.wanted in ("emulator", "none"):
            return None, f"--device {self.wanted}"
        found, why = gpu.open_gpu()
        if found is None and self.wanted == "gpu":
            raise ToolError(["nvidia-smi"], None, "", "", why=f"--device gpu: {why}")
        return found, why

    def _without_gpu(self) -> str:
        """The emulator where it can run, else nothing."""
        if self.wanted == "none":
            return NO_DEVICE
        missing = emulator_missing()
        if missing and self.wanted == "emulator":
            raise ToolError(["emulator"], None, "", "", why=f"--device emulator: {missing}")
        return NO_DEVICE if missing else EMULATOR

    @property
    def facts(self) -> Device | None:
        """The device that judges here, where it is a real one."""
        return self.gpu.facts if self.gpu else None

    def judge(self, commit: Commit, incumbent: Commit | None = None) -> Judging:
        """The verdict on an attempt, not yet recorded. Never raises for a bad kernel."""
        sources = self.project.kernel_files(commit.id)
        refusal = refuse(sources, self.project.odd_kernel_files(commit.id))
        if refusal:
            return self._judging(commit, _Finding(Outcome.REJECTED_BEFORE_BUILD, refusal, feedback=refusal))
        if guarded := guard.check_sources(sources):
            finding = _Finding(guarded.outcome, guarded.text, feedback=guarded.feedback)
            return self._judging(commit, finding)
        self.say(f"{commit.attempt.label}: building for {self.project.task.arch}")
        try:
            built = self.build(sources)
        except ToolError as error:
            return self._judging(commit, _Finding(Outcome.INFRASTRUCTURE, str(error)))
        seconds = {"build": round(built.seconds, 1)}
        if not built.ok:
            report = explain(built.log, exit_code=built.exit_code, sources=_texts(sources))
            why = report.first_error.message if report.first_error else "nvcc failed"
            return self._judging(
                commit, _Finding(Outcome.BUILD_ERROR, why, feedback=report.feedback), seconds=seconds
            )
        for library in built.libraries:
            if guarded := guard.check_library(library.path):
                finding = _Finding(guarded.outcome, guarded.text, built.code, guarded.feedback)
                return self._judging(commit, finding, seconds=seconds)
        resources = worst_resources(built)
        if self.here == NO_DEVICE:
            finding = _Finding(Outcome.UNSUPPORTED, f"no GPU here: {self.no_device}", built.code)
            return self._judging(commit, finding, seconds=seconds, resources=resources)
        if self.here == EMULATOR:
            return self._emulated(commit, sources, built, seconds, resources)
        judged = self._on_device(commit, built, incumbent, seconds, resources)
        return (
            self._explained(judged, commit, sources, built) if judged.verdict.outcome in EXPLAINED else judged
        )

    def build(self, sources: Mapping[str, bytes]) -> builder.Build:
        """The library for this task and, where a device is here, for that device."""
        if self._toolchain is None:
            self._toolchain = self._tools()
        sm = self.gpu.facts.sm if self.gpu else None
        return builder.build(
            self.project.task,
            sources,
            toolchain=self._toolchain,
            cache=self.cache,
            target_sm=sm,
            say=self.say,
        )

    def _tools(self) -> toolchain.Toolchain:
        """nvcc and CuTe. CuTe's headers are fetched at the first need: 6 MB, once."""
        try:
            toolchain.find_cutlass(self.cutlass, self.cache)
        except toolchain.ToolMissing:
            toolchain.fetch_cutlass(self.cache, self.say)
        return toolchain.find(nvcc=self.nvcc, cutlass=self.cutlass)

    def _on_device(
        self,
        commit: Commit,
        built: builder.Build,
        incumbent: Commit | None,
        seconds: Mapping[str, float],
        resources: Resources | None,
    ) -> Judging:
        rival = self.build(self.project.kernel_files(incumbent.id)) if incumbent else None
        found = self.session().judge(
            built,
            commit=commit.id,
            secret=secrets.token_bytes(16),
            incumbent=rival if rival and rival.ok else None,
        )
        verdict = self._verdict(
            commit,
            _Finding(found.outcome, found.why, built.code),
            {**seconds, **{phase: round(spent, 1) for phase, spent in found.seconds.items()}},
            resources,
            found,
        )
        use = guard_cute.cute_use(self.project.kernel_files(commit.id))
        facts = {
            **self._toolchain_facts(),
            **found.facts,
            "Cute": use.line,
            "Code": built.code,
            **self._task_facts(),
        }
        return Judging(verdict, found.feedback, found.samples, facts)

    def _emulated(
        self,
        commit: Commit,
        sources: Mapping[str, bytes],
        built: builder.Build,
        seconds: Mapping[str, float],
        resources: Resources | None,
    ) -> Judging:
        self.say(f"{commit.attempt.label}: building for the emulator")
        begin = time.monotonic()
        program = self.emulator().build(self.project.task, sources, built)
        seconds = {**seconds, "emulate": round(time.monotonic() - begin, 1)}
        if not isinstance(program, builder.Build):
            finding = _Finding(program.outcome, program.why, EMULATOR)
            return self._judging(commit, finding, seconds=seconds, resources=resources)
        self.say(f"{commit.attempt.label}: checking on the emulator")
        found = self.session().judge(program, commit=commit.id, secret=secrets.token_bytes(16))
        spent = {**seconds, **{phase: round(value, 1) for phase, value in found.seconds.items()}}
        finding = _Finding(found.outcome, found.why, EMULATOR)
        return Judging(self._verdict(commit, finding, spent, resources, found), found.feedback)

    def _explained(
        self, judged: Judging, commit: Commit, sources: Mapping[str, bytes], built: builder.Build
    ) -> Judging:
        """The same verdict; the feedback also says what the emulator saw: line, thread, buffer."""
        if emulator_missing():
            return judged
        self.say(f"{commit.attempt.label}: {judged.verdict.outcome.value}; asking the emulator why")
        program = self.emulator().build(self.project.task, sources, built)
        if not isinstance(program, builder.Build):
            return judged
        found = self._new_session(self.emulator()).judge(
            program, commit=commit.id, secret=secrets.token_bytes(16)
        )
        lines = found.feedback.splitlines()[:EXPLANATION_LINES]
        if not lines:
            return judged
        said = "\n".join([f"On the CPU emulator ({found.outcome.value}):", *lines])
        return replace(judged, feedback=f"{judged.feedback}\n\n{said}".strip())

    @property
    def disagreements(self) -> Path:
        """Where cases lie in which a GPU passed what a rule of the emulator refused: that rule has no veto here."""
        return self.cache.root / "emulator" / "disagreements"

    def note_disagreement(self, commit: Commit, emulated: Verdict, gpu: Verdict) -> None:
        """Where the two differ the GPU wins, and the case is kept."""
        from cutegen_git.devices.emulator import disagreements, trouble

        kind = trouble.kind_of(emulated.why)
        if gpu.outcome is not Outcome.PASSED or emulated.outcome is Outcome.PASSED or kind is None:
            return
        sources = self.project.kernel_files(commit.id)
        header = abi.header(self.project.task, builder.static_sizes(self.project.task)[0])
        case = disagreements.Disagreement(
            kind, commit.kernel_tree, sources, header, emulated.why, gpu.outcome.value
        )
        place = disagreements.add(self.disagreements, case)
        self.say(
            f"{commit.attempt.label}: the GPU passed what the emulator refused ({kind}); kept in {place}"
        )

    def emulator(self) -> EmulatorDevice:
        """The emulator, opened at the first kernel."""
        if self._emulator is None:
            from cutegen_git.devices.emulator.device import EmulatorDevice

            assert self._toolchain is not None
            self._emulator = EmulatorDevice(
                self._toolchain, self.cache.root / "emulator", disagreements=self.disagreements
            )
        return self._emulator

    def session(self) -> Session:
        """The judge's session, opened at the first kernel that builds."""
        if self._session is None:
            self.say("opening the judge: torch and references (first kernel only)")
            self._session = self._new_session(self.gpu or self.emulator())
        return self._session

    def _new_session(self, device: DeviceHandle) -> Session:
        from cutegen_git.judge import reference
        from cutegen_git.judge.session import Session

        loaded = reference.load(self.project.reference, self.project.task)
        return Session(self.project.task, loaded, device, cache_dir=self.cache.root / "judge", say=self.say)

    def _judging(
        self,
        commit: Commit,
        finding: _Finding,
        *,
        seconds: Mapping[str, float] | None = None,
        resources: Resources | None = None,
    ) -> Judging:
        return Judging(self._verdict(commit, finding, seconds or {}, resources, None), finding.feedback)

    def _verdict(
        self,
        commit: Commit,
        finding: _Finding,
        seconds: Mapping[str, float],
        resources: Resources | None,
        found: Judgement | None,
    ) -> Verdict:
        return Verdict(
            outcome=finding.outcome,
            device=self.here,
            runner=self.runner,
            commit=commit.id,
            kernel_tree=commit.kernel_tree,
            task=self.project.task_hash,
            code=finding.code,
            at=machine.now_s(),
            why=finding.why,
            timing=rounded(found.timing) if found is not None and found.timing else None,
            resources=resources,
            seconds=seconds,
        )

    def _toolchain_facts(self) -> dict[str, str]:
        assert self._toolchain is not None
        return {"Nvcc": self._toolchain.version, "Cutlass": self._toolchain.cutlass_version}

    def _task_facts(self) -> dict[str, str]:
        task = self.project.task
        return {
            "Precision": f"{task.precision.policy}, accumulate {task.precision.accumulate}",
            "Workloads": " ".join(w.label() for w in task.workloads if w.role.value == "rank"),
        }


def _texts(sources: Mapping[str, bytes]) -> dict[str, str]:
    return {f"kernel/{name}": data.decode("utf-8", "replace") for name, data in sources.items()}
