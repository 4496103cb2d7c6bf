"""Where a GPU and the emulator disagree the GPU wins, and the rule that refused refuses nothing from then on."""

from __future__ import annotations

import json
import secrets
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cutegen_git.devices.emulator.call import Role, Scalar
from cutegen_git.devices.emulator.disagreements import Disagreement, add, cases, kinds
from cutegen_git.devices.emulator.report import Report
from cutegen_git.devices.emulator.run import EmulatorRun, RunStatus
from cutegen_git.devices.emulator.trouble import demoted, kind_of, trouble_of
from cutegen_git.hands.build import Build, Library
from cutegen_git.words.errors import TaskError
from cutegen_git.words.task import Family, Signature, Task, TensorSpec, Workload
from cutegen_git.words.task import Role as Use
from cutegen_git.words.verdict import Outcome

from .conftest import Builder, call_kernel, header, tensor

if TYPE_CHECKING:
    from cutegen_git.devices.emulator.device import EmulatorDevice

# Reads one element behind its input and uses nothing of it.
SOURCE = """#include <cuda_runtime.h>
__global__ void twice(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * 64 + threadIdx.x;
  volatile float unused = i == 0 ? x[n] : 0.0f;
  if (i < n) y[i] = 2 * x[i] + 0 * (unused > 0);
}
extern "C" cudaError_t launch(const Args& a, cudaStream_t s) {
  twice<<<(a.N + 63) / 64, 64, 0, s>>>(a.X, a.Y, a.N);
  return cudaGetLastError();
}
"""
REFERENCE = b"""import torch


def inputs(axes, *, generator, device):
    return {"X": torch.randn(axes["N"], generator=generator, device=device)}


def reference(X):
    return 2 * X
"""
CASE = Disagreement("oob-global", "4b825dc6", {"kernel.cu": b"a\xffb"}, "struct Args;", "why", "passed")


def report(kind: str, severity: str = "veto") -> Report:
    return Report(kind, severity, "k", "kernel.cu", 5, (0, 0, 0), (1, 0, 0), "x", 4, 1, "read of 4 bytes")


def ended(status: RunStatus, *reports: Report) -> EmulatorRun:
    return EmulatorRun(status, 0, reports, None, confined=("calls",))


# ---- the store ------------------------------------------------------------------------------------------------------


def test_case_is_kept_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "store"
    add(folder, CASE)
    assert cases(folder) == (CASE,)


def test_same_rule_on_the_same_kernel_is_one_case(tmp_path: Path) -> None:
    first, again = add(tmp_path, CASE), add(tmp_path, replace(CASE, gpu_outcome="wrong-result"))
    other = add(tmp_path, replace(CASE, kind="misaligned"))
    assert first == again != other
    assert [case.gpu_outcome for case in cases(tmp_path)] == ["passed", "wrong-result"]
    assert kinds(tmp_path) == {"oob-global", "misaligned"}


def test_deleting_a_case_gives_the_veto_back(tmp_path: Path) -> None:
    add(tmp_path, CASE).unlink()
    assert kinds(tmp_path) == kinds(tmp_path / "never made") == frozenset()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2}', json.dumps({"format": 1, "kind": 3})])
def test_file_that_is_no_case_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "odd.json").write_text(text)
    with pytest.raises(TaskError, match=r"odd\.json"):
        kinds(tmp_path)


# ---- what a demoted rule does -----------------------------------------------------------------------------------------


def test_refusal_names_its_rule() -> None:
    trouble = trouble_of(ended(RunStatus.OK, report("oob-global")))
    assert trouble
    assert trouble.why.startswith("[oob-global] kernel.cu:5: out of bounds of a tensor;")
    assert kind_of(f"{trouble.why} (M=1)") == "oob-global"


@pytest.mark.parametrize(
    "why", ["", "launch returned CUDA error 1", "z[0]: got 1", "[3] x", "[a b] c", "x [oob-global] "]
)
def test_other_refusals_have_no_rule(why: str) -> None:
    assert kind_of(why) is None


def test_demoted_veto_is_advice_and_the_result_decides() -> None:
    found = demoted(ended(RunStatus.OK, report("oob-global")), {"oob-global"})
    assert trouble_of(found) is None
    (advice,) = found.reports
    assert advice.severity == "finding"
    assert "GPU" in advice.detail


def test_other_vetoes_still_refuse() -> None:
    found = demoted(ended(RunStatus.OK, report("oob-global"), report("misaligned")), {"oob-global"})
    trouble = trouble_of(found)
    assert trouble
    assert kind_of(trouble.why) == "misaligned"


@pytest.mark.parametrize("status", [RunStatus.STOPPED, RunStatus.CRASHED, RunStatus.LAUNCH_ERROR])
def test_run_that_a_demoted_rule_cut_short_says_nothing(status: RunStatus) -> None:
    trouble = trouble_of(demoted(ended(status, report("oob-wild")), {"oob-wild"}))
    assert trouble
    assert trouble.outcome is Outcome.UNSUPPORTED
    assert kind_of(trouble.why) is None


def test_findings_are_left_as_they_are() -> None:
    found = ended(RunStatus.LAUNCH_ERROR, report("race-shared", "finding"))
    trouble = trouble_of(demoted(found, {"race-shared"}))
    assert trouble
    assert trouble.outcome is Outcome.LAUNCH_FAILED


# ---- with a real kernel -----------------------------------------------------------------------------------------------


def test_values_of_a_run_with_a_demoted_veto_can_be_looked_at(builder: Builder) -> None:
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    built = builder(SOURCE, header("const float* X; float* Y; int64_t N;"))
    found = call_kernel(
        built, [tensor("X", x, Role.INPUT), tensor("Y", y, Role.OUTPUT), Scalar("N", "int64", 64)]
    )
    assert trouble_of(found)
    assert trouble_of(demoted(found, {"oob-global"})) is None
    assert np.array_equal(y, 2 * x)


def test_session_passes_what_a_gpu_passed(device: EmulatorDevice, tmp_path: Path) -> None:
    from cutegen_git.judge import reference
    from cutegen_git.judge.session import Session

    signature = Signature(
        (TensorSpec("X", "float32", ("N",)),), (TensorSpec("Y", "float32", ("N",)),), ("N",)
    )
    loads = (Workload({"N": 100}, Use.CHECK), Workload({"N": 128}, Use.RANK))
    task = Task("twice", Family.ELEMENTWISE, "sm_89", "rtx4090", signature, loads)
    files = {"kernel.cu": SOURCE.encode()}
    unbuilt = Build(True, (Library({}, tmp_path, (), ()),), "sm_89", "", 0, 0.0, False)
    made = device.build(task, files, unbuilt)
    assert isinstance(made, Build), made
    session = Session(task, reference.load(REFERENCE, task), device, cache_dir=tmp_path, say=lambda _: None)
    refused = session.judge(made, commit="a", secret=secrets.token_bytes(16))
    assert (refused.outcome, kind_of(refused.why)) == (Outcome.OUT_OF_BOUNDS, "oob-global")
    assert "calls" in refused.facts["Confined"].split()
    assert device.disagreements
    add(device.disagreements, Disagreement("oob-global", "tree", files, "", refused.why, "passed"))
    passed = session.judge(made, commit="b", secret=secrets.token_bytes(16))
    assert passed.outcome is Outcome.PASSED, passed.why
    assert "kernel.cu:4: out of bounds of a tensor" in passed.feedback
