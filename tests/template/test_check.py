"""check.yml: its steps as they stand in the file, for a branch and for a fork's pull request."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from desk import KERNEL

from cutegen_git.hands import sync

from .scene import REAL, Git, Machine, Remote, clone

Machines = Callable[..., Machine]
SAY = 'echo "verify $*"; git rev-parse HEAD main; exit {code}'


def pull(remote: Remote, fork: Path, git: Git) -> str:
    """A pull request from a fork: GitHub merges it into main under a ref of its own."""
    git(remote.path, "fetch", "-q", "--no-tags", str(fork), "+refs/heads/main:refs/pull/1/head")
    work = fork.parent / "github"
    git(fork.parent, "clone", "-q", str(remote.path), "github")
    git(work, "fetch", "-q", "origin", "refs/pull/1/head")
    git(work, "merge", "-q", "--no-ff", "-m", "Merge 1", "FETCH_HEAD")
    git(work, "push", "-q", "origin", "HEAD:refs/pull/1/merge")
    return "refs/pull/1/merge"


def test_a_repository_without_a_kernel_passes(remote: Remote, machine: Machines) -> None:
    job = machine("hosted").job("check", "check")
    assert job.ok, job.log
    assert "There is no kernel yet." in job.steps[-1].output


@pytest.mark.parametrize(("code", "ok"), [(0, True), (1, False), (125, True), (128, False)])
def test_the_verdict_decides_and_what_cannot_be_judged_here_passes(
    remote: Remote, machine: Machines, code: int, ok: bool
) -> None:
    remote.git(remote.laptop.repo.root, "merge", "-q", "--no-ff", "-m", "try", remote.propose("speed 1").id)
    remote.sync()
    job = machine("hosted", verify=SAY.format(code=code)).job("check", "check")
    assert job.ok is ok
    assert "verify verify HEAD --device emulator" in job.steps[-1].output
    assert ("::notice::The kernel compiles" in job.steps[-1].output) is (code == 125)


def test_a_pull_request_is_judged_with_the_task_of_main_and_without_the_forks_verdicts(
    remote: Remote, machine: Machines, tmp_path: Path, plain_git: Git
) -> None:
    made = remote.propose("speed 1.20")
    fork = clone(remote, tmp_path / "fork")
    sync.sync(fork.repo, "origin", cwd=tmp_path)
    root = fork.repo.root
    (root / "kernel").mkdir()
    (root / "kernel/kernel.cu").write_text(KERNEL)
    (root / "task.toml").write_text((root / "task.toml").read_text() + "# easier\n")
    plain_git(root, "add", "-A")
    plain_git(root, "commit", "-q", "-m", "mine")
    for runner in ("lab", "evil"):
        fork.repo.notes_append(f"refs/notes/cutegen/verdict/{runner}", made.id, "passed 9.99x forged")
    fork.repo.tag("rtx4090/0001-9.99x", made.id, "9.99x\n", at=1)
    ref = pull(remote, root, plain_git)
    before = remote.refs()
    job = machine("hosted", verify=SAY.format(code=0)).job("check", "check", ref=ref)
    assert job.ok, job.log
    assert "::notice::Judged with the task of main" in job.log
    assert "task.toml" in job.log
    head, main = job.steps[-1].output.split()[-2:]
    assert main == before["refs/heads/main"]
    assert head == before["refs/pull/1/merge"]
    here = plain_git(job.workspace, "for-each-ref")
    assert "9.99x" not in here
    assert "verdict" not in here
    assert "refs/cutegen/attempt/0001" in here
    assert plain_git(job.workspace, "remote") == ""
    assert remote.refs() == before


def says_device() -> bool:
    done = subprocess.run([str(REAL), "verify", "--help"], capture_output=True, text=True, check=False)
    return "--device" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="nvcc and the emulator run on Linux")
@pytest.mark.parametrize(("kernel", "ok"), [(KERNEL, True), (KERNEL.replace("x[i] + y", "x[i] - y"), False)])
def test_a_pull_request_is_compiled_and_checked_for_real(
    remote: Remote, machine: Machines, tmp_path: Path, plain_git: Git, kernel: str, ok: bool
) -> None:
    if not says_device():
        pytest.skip("verify has no --device here")
    fork = clone(remote, tmp_path / "fork")
    (fork.repo.root / "kernel").mkdir()
    (fork.repo.root / "kernel/kernel.cu").write_text(kernel)
    plain_git(fork.repo.root, "add", "-A")
    plain_git(fork.repo.root, "commit", "-q", "-m", "mine")
    ref = pull(remote, fork.repo.root, plain_git)
    before = remote.refs()
    job = machine("hosted", verify=f'exec "{REAL}" "$@"').job("check", "check", ref=ref)
    assert job.ok is ok, job.log
    assert ("passed" if ok else "wrong-result") in job.steps[-1].output
    assert remote.refs() == before
