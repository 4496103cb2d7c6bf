"""What a contributor meets first: the lock file, the Makefile, CI."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from cutegen_git.hands.toolchain import CUDA_WHEELS

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def _pins() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in (ROOT / "requirements" / "dev.txt").read_text().splitlines():
        if line and not line.startswith(("#", "-")):
            name, version = re.split("==", line.split(";")[0].strip())
            found.setdefault(_plain(name), []).append(version)
    return found


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_direct_dependency_is_locked_to_one_version() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["dev"]]
    wanted += [need for name in ("llm", "judge", "cuda") for need in extras[name]]
    names = {_plain(re.split(r"[<>=!~;\s\[]", need)[0]) for need in wanted}
    assert names <= set(_pins())


def test_malicious_litellm_is_neither_locked_nor_allowed() -> None:
    assert not set(_pins()["litellm"]) & {"1.82.7", "1.82.8"}
    (litellm,) = PROJECT["project"]["optional-dependencies"]["llm"]
    assert "!=1.82.7" in litellm
    assert "!=1.82.8" in litellm


def test_lock_covers_the_oldest_python_apart_where_versions_differ() -> None:
    lines = (ROOT / "requirements" / "dev.txt").read_text().splitlines()
    for name, versions in _pins().items():
        if len(versions) == 2:
            markers = {line.split(";")[1].strip() for line in lines if _plain(line.split("==")[0]) == name}
            assert markers == {"python_version >= '3.11'", "python_version < '3.11'"}, name
        assert len(versions) <= 2


def test_doctor_installs_what_the_extra_cuda_names() -> None:
    extra = {need.split(";")[0].strip() for need in PROJECT["project"]["optional-dependencies"]["cuda"]}
    assert extra == set(CUDA_WHEELS)


def test_make_without_a_target_is_help() -> None:
    said = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in ("setup", "demo", "test", "check"):
        assert f"make {target}" in said


@pytest.mark.parametrize("target", ["setup", "test", "check", "demo"])
def test_target_plans_without_error(target: str) -> None:
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_ci_may_only_read_and_pins_its_actions() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert "permissions:\n  contents: read\n" in workflow
    for used in re.findall(r"uses: (\S+)", workflow):
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", used), used
    assert ".ci/run" in workflow
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
