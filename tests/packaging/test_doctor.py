from __future__ import annotations

import json
import shutil
import sys
from importlib import metadata
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from cutegen_git.app import doctor, doctor_gpu, doctor_probes
from cutegen_git.app.doctor import Examination, Role
from cutegen_git.app.doctor_finding import Finding, State
from cutegen_git.commands.doctor import register
from cutegen_git.devices.gpu.driver import Found
from cutegen_git.hands import toolchain
from cutegen_git.hands.cache import Cache
from cutegen_git.words.device import Device

CARD = Found(
    Device("rtx4090", "NVIDIA GeForce RTX 4090", 89, 24 * 1024**3, 72 * 1024**2, 128, "580"), "0:1", "/"
)


def _doctor(*arguments: str) -> Result:
    app = typer.Typer()
    app.callback()(lambda: None)
    register(app)
    return CliRunner().invoke(app, ["doctor", *arguments])


def _found(name: str) -> Finding:
    return Finding(name, State.MISSING, "gone", "matters", "do this")


def test_every_finding_that_is_not_ok_says_why_it_matters_and_the_fix() -> None:
    record = json.loads(_doctor("--json").stdout)
    assert set(record) == {"usable", "roles", "findings"}
    assert set(record["roles"]) == {"propose", "verify", "review"}
    for finding in record["findings"]:
        assert finding["found"]
        assert finding["state"] == "ok" or (finding["matters"] and finding["fix"]), finding


def test_table_ends_with_what_each_role_can_do() -> None:
    result = _doctor()
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()[-3:]] == ["propose", "verify", "review"]


def test_values_of_keys_are_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-very-secret")
    for arguments in ((), ("--json",)):
        output = _doctor(*arguments).output
        assert "ANTHROPIC_API_KEY" in output
        assert "very-secret" not in output


def test_machine_without_git_is_unusable_and_exits_128(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = _doctor()
    assert result.exit_code == 128
    assert "install git" in result.stdout


def test_old_git_is_missing(tmp_path: Path) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\necho git version 2.30.2\n")
    (tmp_path / "git").chmod(0o755)
    assert doctor_probes.git({"PATH": str(tmp_path)}).state is State.MISSING


def test_machine_without_tools_still_gets_its_report(tmp_path: Path) -> None:
    found = doctor.examine(
        {"PATH": str(tmp_path), "CUTEGEN_GIT_NVCC": "/nowhere/nvcc"}, Cache(tmp_path / "cache")
    )
    states = {finding.name: finding.state for finding in found.findings}
    assert states["git"] is states["nvcc"] is states["CUTLASS"] is states["host compiler"] is State.MISSING
    assert not found.usable


@pytest.mark.parametrize(
    ("missing", "role", "says"),
    [
        ((), Role.VERIFY, "ready"),
        (("GPU",), Role.VERIFY, "not complete: no GPU; the emulator checks, nothing is timed"),
        (("nvcc", "GPU"), Role.VERIFY, "not complete: no nvcc, no GPU; offline verification works"),
        (("litellm",), Role.PROPOSE, "not complete: no litellm; replay and handoff work"),
        (("GPU", "litellm"), Role.REVIEW, "ready"),
    ],
)
def test_role_says_what_it_lacks_and_what_works(missing: tuple[str, ...], role: Role, says: str) -> None:
    assert Examination(tuple(_found(name) for name in missing)).says(role) == says


def test_malicious_litellm_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: "1.82.7")
    finding = doctor_probes.litellm()
    assert finding.state is State.MISSING
    assert "malicious" in finding.found
    assert "replace every key" in finding.fix


def test_torch_without_cuda_is_missing_only_where_there_is_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: "2.13.0")
    version = tmp_path / "version.py"
    version.write_text("cuda: Optional[str] = None\n")
    assert doctor_gpu.torch("no GPU", version).state is State.OK
    assert doctor_gpu.torch(CARD, version).state is State.MISSING
    version.write_text("cuda: Optional[str] = '13.0'\n")
    assert doctor_gpu.torch(CARD, version).found.endswith("CUDA 13.0")


def test_gpu_that_is_not_the_home_device_is_noted() -> None:
    assert doctor_gpu.gpu(CARD, "rtx4090").state is State.OK
    finding = doctor_gpu.gpu(CARD, "h200")
    assert finding.state is State.NOTE
    assert "do not move main" in finding.matters


def test_restricted_counters_name_the_drivers_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    (tmp_path / "params").write_text("RmProfilingAdminOnly: 1\n")
    (tmp_path / "ncu").write_text("#!/bin/sh\necho Version 2025.3.1.0\n")
    (tmp_path / "ncu").chmod(0o755)
    finding = doctor_gpu.ncu(CARD, {"PATH": str(tmp_path)}, tmp_path / "params")
    assert finding.state is State.NOTE
    assert "ERR_NVGPUCTRPERM" in finding.fix
    (tmp_path / "params").write_text("RmProfilingAdminOnly: 0\n")
    assert doctor_gpu.ncu(CARD, {"PATH": str(tmp_path)}, tmp_path / "params").state is State.OK


def test_exclusive_compute_mode_is_reported(tmp_path: Path) -> None:
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho Exclusive_Process\n")
    smi.chmod(0o755)
    finding = doctor_gpu.compute_mode(CARD, {"PATH": str(tmp_path)})
    assert finding is not None
    assert "--compute-mode=DEFAULT" in finding.fix


def test_cache_is_shown_with_place_and_size(tmp_path: Path) -> None:
    found = doctor_probes.cache_folder(Cache(tmp_path / "cache"))
    assert str(tmp_path / "cache") in found.found
    assert "0 MiB of at most 4.0 GiB" in found.found


def test_fix_fetches_cutlass_and_reports_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = Cache.default().get("cutlass", toolchain.CUTLASS_SHA256)
    if real is None:
        pytest.skip("no CUTLASS in the cache to stand in for the network")
    monkeypatch.setenv("CUTEGEN_GIT_CACHE", str(tmp_path))
    shutil.copytree(real, tmp_path / "cutlass" / toolchain.CUTLASS_SHA256[:2] / toolchain.CUTLASS_SHA256)
    result = _doctor("--fix", "--json")
    assert result.exit_code == 0
    states = {item["name"]: item["state"] for item in json.loads(result.stdout)["findings"]}
    assert states["CUTLASS"] == "ok"


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces and cgroups are Linux's")
def test_limits_of_the_system_are_reported(tmp_path: Path) -> None:
    found = doctor_probes.cgroups(tmp_path)
    assert found is not None
    assert found.state is State.NOTE
