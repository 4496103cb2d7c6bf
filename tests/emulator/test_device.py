"""What the device adds to a run: where programs are kept, and how a run's end is said to the judge."""

from __future__ import annotations

import pytest

from cutegen_git.devices.emulator import device, runtime
from cutegen_git.devices.emulator.report import Report, sentence
from cutegen_git.devices.emulator.run import EmulatorRun, RunStatus
from cutegen_git.devices.emulator.trouble import trouble_of
from cutegen_git.words.verdict import Outcome


def test_program_is_built_again_when_the_emulator_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    before = device.program_key("nvcc", "header", {"kernel.cu": b"x"})
    assert before == device.program_key("nvcc", "header", {"kernel.cu": b"x"})
    monkeypatch.setattr(device, "engine_hash", lambda: b"another emulator")
    assert device.program_key("nvcc", "header", {"kernel.cu": b"x"}) != before


def test_program_key_keeps_names_and_contents_apart() -> None:
    keys = {
        device.program_key("nvcc", "header", files)
        for files in ({"a": b"bc"}, {"ab": b"c"}, {"a": b"", "b": b"c"}, {"a": b"b", "c": b""})
    }
    assert len(keys) == 4


def test_engine_hash_covers_native_files(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    seen = runtime.engine_hash()
    native = runtime.NATIVE
    assert {path.name for path in native.rglob("*.h")} >= {"rt.h", "cooperative_groups.h"}
    monkeypatch.setattr(runtime, "NATIVE", native / "shim")  # its parent holds no Python files
    assert runtime.engine_hash() != seen


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("oob-global", Outcome.OUT_OF_BOUNDS),
        ("use-after-free", Outcome.OUT_OF_BOUNDS),
        ("input-written", Outcome.INPUT_MODIFIED),
        ("deadlock", Outcome.TIMEOUT),
        ("misaligned", Outcome.CRASHED),
        ("trap", Outcome.CRASHED),
        ("assert", Outcome.CRASHED),
        ("stack-overflow", Outcome.CRASHED),
        ("crash", Outcome.CRASHED),
        ("launch-limit", Outcome.LAUNCH_FAILED),
        ("barrier-divergence", Outcome.LAUNCH_FAILED),
        ("barrier-exited", Outcome.LAUNCH_FAILED),
        ("warp-exited", Outcome.LAUNCH_FAILED),
        ("mask-without-caller", Outcome.LAUNCH_FAILED),
    ],
)
def test_veto_has_the_outcome_that_a_gpus_verdict_would_have(kind: str, outcome: Outcome) -> None:
    veto = Report(kind, "veto", "k", "kernel.cu", 7, (0, 0, 0), (3, 0, 0), "", -1, 1, "here")
    trouble = trouble_of(EmulatorRun(RunStatus.STOPPED, 0, (veto,), None, confined=("calls",)))
    assert trouble
    assert trouble.outcome is outcome
    assert trouble.why == f"[{kind}] {sentence(veto)}"
