"""The workflow files: what actionlint says, and what they must never lose."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from desk import REFERENCE, TASK

from cutegen_git.app import new_files
from cutegen_git.app.new_files import WORKFLOWS, files, pinned
from cutegen_git.core import taskfile

from .actions import load

CHECK, MEASURE = f"{WORKFLOWS}check.yml", f"{WORKFLOWS}measure.yml"
UNIT = "contrib/cutegen-git-runner@.service"


def made(toml: str = TASK) -> dict[str, str]:
    found = files(taskfile.parse(toml), REFERENCE.encode(), origin="a test", notes=[])
    return {path: data.decode() for path, data in found.items()}


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="actionlint is not installed")
def test_actionlint_finds_nothing(tmp_path: Path) -> None:
    for path in (CHECK, MEASURE):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(made()[path])
        (tmp_path / ".github" / "actionlint.yaml").write_text(
            "self-hosted-runner: {labels: [gpu, rtx4090]}\n"
        )
    words = ["actionlint", "-config-file", ".github/actionlint.yaml", CHECK, MEASURE]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
@pytest.mark.parametrize("path", [CHECK, MEASURE])
def test_shellcheck_finds_nothing(path: str) -> None:
    for step in steps(load(made()[path])):
        if "run" in step:
            words = ["shellcheck", "--shell=bash", "-"]
            done = subprocess.run(words, input=step["run"], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", [CHECK, MEASURE])
def test_actions_are_pinned_and_checkouts_keep_no_token(path: str) -> None:
    for step in steps(load(made()[path])):
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", step["uses"])
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
            assert step["with"]["fetch-depth"] == 0
        assert "${{" not in step.get("run", "")
    assert re.search(r"uses: \S+ # v\d+\.\d+\.\d+\n", made()[path])
    assert "secrets." not in made()[path]


def test_a_fork_triggers_nothing_that_may_write() -> None:
    check = load(made()[CHECK])
    assert set(check["on"]) == {"push", "pull_request"}
    assert check["permissions"] == {"contents": "read"}
    assert all("permissions" not in job for job in check["jobs"].values())
    assert all(str(job["runs-on"]).startswith("ubuntu-") for job in check["jobs"].values())


def test_kernels_run_where_the_token_cannot_write() -> None:
    measure = load(made()[MEASURE])
    assert set(measure["on"]) == {"push", "workflow_dispatch"}
    assert measure["on"]["push"] == {"branches": ["main", "path/**"]}
    assert measure["permissions"] == {"contents": "read"}
    judging, publishing = measure["jobs"]["measure"], measure["jobs"]["publish"]
    assert judging["runs-on"] == ["self-hosted", "gpu", "rtx4090"]
    assert judging["concurrency"] == {"group": "measure-rtx4090", "cancel-in-progress": False}
    assert "permissions" not in judging
    assert publishing["permissions"] == {"contents": "write"}
    assert not any("verify" in step.get("run", "").split() for step in publishing["steps"])


def test_the_home_device_names_runner_and_group() -> None:
    measure = load(made(TASK.replace('device = "rtx4090"', 'device = "h200"'))[MEASURE])
    assert measure["jobs"]["measure"]["runs-on"] == ["self-hosted", "gpu", "h200"]
    assert measure["env"]["DEVICE"] == "h200"


class Installed:
    """An installed distribution as pip leaves it."""

    def __init__(self, came: str | None) -> None:
        self.came = came

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.came


@pytest.mark.parametrize(
    ("came", "said"),
    [
        (None, "cutegen-git[judge,cuda]==0.1.0"),
        (
            '{"url": "file:///home/me/cutegen", "dir_info": {"editable": true}}',
            "cutegen-git[judge,cuda]==0.1.0",
        ),
        (
            '{"url": "https://me:pass@host/c.git", "vcs_info": {"vcs": "git", "commit_id": "1234abc"}}',
            "cutegen-git[judge,cuda] @ git+https://host/c.git@1234abc",
        ),
        (
            '{"url": "ssh://git@host/c.git", "vcs_info": {"commit_id": "1234abc"}}',
            "cutegen-git[judge,cuda]==0.1.0",
        ),
    ],
)
def test_new_pins_the_very_tool(came: str | None, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_files.metadata, "distribution", lambda name: Installed(came))
    assert pinned() == said
    assert load(made()[CHECK])["env"]["TOOL"] == said


def test_nothing_of_the_template_is_left_unfilled() -> None:
    for path, text in made().items():
        assert "@tool@" not in text, path
        assert "@device@" not in text, path


def test_the_unit_is_hardened() -> None:
    lines = made()[UNIT].splitlines()
    for wanted in (
        "User=cutegen", "NoNewPrivileges=yes", "ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes",
        "CapabilityBoundingSet=", "DevicePolicy=closed", "KillMode=mixed", "Restart=on-failure",
    ):  # fmt: skip
        assert wanted in lines
    assert "ExecStart=/opt/cutegen-git/bin/cutegen-git verify --pending --watch --device gpu" in lines


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "cutegen-git-runner@gemm.service"
    unit.write_text(made()[UNIT].replace("/opt/cutegen-git/bin/cutegen-git", "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert unit.name not in done.stderr
