"""measure.yml: its steps are run as they stand in the file, against a bare repository, by machines of our own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cutegen_git.app.project import Project
from cutegen_git.core import log
from cutegen_git.hands import sync
from cutegen_git.hands.repo import TOOL
from cutegen_git.words.attempt import Attempt, Label

from .actions import Job
from .scene import Git, Machine, Remote, clone, handed_on, make_remote

Machines = Callable[..., Machine]
CLAIM = "refs/cutegen/runner/lab"


@pytest.fixture
def hosted(machine: Machines) -> Machine:
    return machine("hosted", has_gpu=False)


def publish(hosted: Machine, job: Job) -> Job:
    return hosted.job("measure", "publish", handed_on(job))


def test_what_is_pending_is_measured_tagged_promoted_and_pushed(
    remote: Remote, machine: Machines, hosted: Machine
) -> None:
    first, second, third = (remote.propose(line) for line in ("speed 1.20", "wrong-result", "speed 1.43"))
    measured = machine("lab", runner="lab").job("measure", "measure")
    assert measured.ok, measured.log
    assert remote.tags() == []  # this job cannot write
    published = publish(hosted, measured)
    assert published.ok, published.log
    assert remote.tags() == ["rtx4090/0001-1.20x", "rtx4090/0003-1.43x"]
    assert remote.note("lab", first.id).startswith("passed 1.20x device=rtx4090")
    assert remote.note("lab", second.id).startswith("wrong-result device=rtx4090")
    assert remote.git(remote.path, "rev-parse", "main^2").strip() == third.id
    assert remote.refs("refs/heads/path")["refs/heads/path/base"] == third.id
    assert "t0ken" not in measured.log + published.log
    remote.sync()
    best = Project.open(remote.laptop.repo.root).history().best("rtx4090")
    assert best is not None
    assert best.commit == third


def test_where_nothing_is_pending_nothing_is_published(remote: Remote, machine: Machines) -> None:
    job = machine("lab", runner="lab").job("measure", "measure")
    assert job.ok, job.log
    assert job.outputs()["needs.measure.outputs.news"] == ""


def test_the_tool_is_installed_as_new_pinned_it(remote: Remote, machine: Machines, hosted: Machine) -> None:
    remote.propose("speed 1.20")
    lab = machine("lab", runner="lab")
    publish(hosted, lab.job("measure", "measure"))
    assert (lab.home / "installed").read_text() == "pip install --quiet cutegen-git[judge,cuda]==0.1.0\n"
    assert (hosted.home / "installed").read_text() == "pip install --quiet cutegen-git==0.1.0\n"


def test_two_runners_at_once_lose_nothing(remote: Remote, machine: Machines, hosted: Machine) -> None:
    made = remote.propose("speed 1.20")
    jobs = [machine(name, runner=name).job("measure", "measure") for name in ("lab", "den")]
    ends = [publish(hosted, job) for job in jobs]
    assert all(job.ok for job in (*jobs, *ends)), ends[-1].log
    assert all(remote.note(name, made.id).startswith("passed 1.20x") for name in ("lab", "den"))
    assert remote.git(remote.path, "rev-parse", "main^2").strip() == made.id


def test_a_second_machine_of_the_same_name_is_refused_before_it_measures(
    remote: Remote, machine: Machines, hosted: Machine
) -> None:
    remote.propose("speed 1.20")
    assert publish(hosted, machine("one", runner="lab").job("measure", "measure")).ok
    remote.propose("speed 1.30")
    job = machine("two", runner="lab").job("measure", "measure")
    assert not job.ok
    assert job.steps[-1].name == "See whether this runner may measure"
    assert "::error::Another machine measures as lab." in job.steps[-1].output
    again = machine("one-again", runner="lab")
    (again.home / "machine-id").write_text("one\n")
    assert again.job("measure", "measure").ok


def test_of_two_machines_that_take_one_name_at_the_same_time_one_is_refused(
    remote: Remote, machine: Machines, hosted: Machine
) -> None:
    remote.propose("speed 1.20")
    one, two = (machine(name, runner="lab").job("measure", "measure") for name in ("one", "two"))
    assert publish(hosted, one).ok
    before = remote.refs()
    second = publish(hosted, two)
    assert not second.ok
    assert second.steps[-1].name == "Push"
    assert "Another machine measures as lab: nothing is published" in second.steps[-1].output
    assert remote.refs() == before


def test_a_runner_that_main_does_not_list_is_told_the_line(remote: Remote, machine: Machines) -> None:
    remote.propose("speed 1.20")
    job = machine("new", runner="attic").job("measure", "measure")
    assert not job.ok
    assert 'attic = { device = "rtx4090" }' in job.steps[-1].output
    nameless = machine("nameless").job("measure", "measure")
    assert "Verdicts of rtx4090-" in nameless.steps[-1].output


def test_a_lost_gpu_is_said_before_a_verdict_is_written(remote: Remote, machine: Machines) -> None:
    remote.propose("speed 1.20")
    job = machine("lab", runner="lab", has_gpu=False).job("measure", "measure")
    assert not job.ok
    assert "Failed to initialize NVML" in job.steps[-1].output
    assert "The GPU does not answer" in job.steps[-1].output


def test_an_attempt_that_cannot_be_judged_keeps_no_other_from_being_published(
    remote: Remote, machine: Machines, hosted: Machine
) -> None:
    remote.propose("infrastructure")
    remote.propose("speed 1.20")
    job = machine("lab", runner="lab").job("measure", "measure")
    assert "::warning::Some attempts could not be judged" in job.log
    assert publish(hosted, job).ok
    assert remote.tags() == ["rtx4090/0002-1.20x"]


def forged(remote: Remote, tmp_path: Path) -> Project:
    """A fork whose owner writes verdicts and claims as he likes."""
    fork = clone(remote, tmp_path / "fork")
    sync.sync(fork.repo, "origin", cwd=tmp_path)
    [commit] = fork.attempts()
    repo = fork.repo
    for runner in ("lab", "evil"):
        repo.notes_append(f"refs/notes/cutegen/verdict/{runner}", commit.id, "passed 9.99x forged")
    repo.tag("rtx4090/0001-9.99x", commit.id, "9.99x\n", at=1)
    return fork


def bundle(git: Git, fork: Project, job: Job, *refs: str) -> dict[str, str]:
    """What a job would hand on, with another file in place of its own."""
    file = job.folder / "forged"
    git(fork.repo.root, "bundle", "create", "-q", str(file), *refs)
    return {**handed_on(job), "artifact": str(file)}


@pytest.mark.parametrize(
    ("ref", "why"),
    [
        ("refs/notes/cutegen/verdict/evil", "refs/notes/cutegen/verdict/evil is not this runner's"),
        ("refs/tags/v1", "refs/tags/v1 is not this runner's"),
        ("refs/tags/h200/0001-9.99x", "refs/tags/h200/0001-9.99x is not this runner's"),
        ("refs/cutegen/attempt/0009", "refs/cutegen/attempt/0009 is not this runner's"),
        ("refs/heads/path/base", "refs/heads/path/base would go to a commit that is no attempt"),
        ("refs/tags/rtx4090/0001-8.00x", "refs/tags/rtx4090/0001-8.00x is not on its attempt"),
        ("refs/heads/main", "main would get a commit that merges nothing"),
    ],
)
def test_a_runner_that_was_taken_over_can_write_nothing_but_its_own_verdicts(
    remote: Remote, machine: Machines, hosted: Machine, tmp_path: Path, plain_git: Git, ref: str, why: str
) -> None:
    remote.propose("speed 1.20")
    job = machine("lab", runner="lab").job("measure", "measure")
    fork = forged(remote, tmp_path)
    (fork.repo.root / "task.toml").write_text("format = 2\n")
    plain_git(fork.repo.root, "commit", "-q", "-am", "easier")
    if ref.startswith("refs/tags/rtx4090"):
        plain_git(fork.repo.root, "tag", "-a", "-m", "8", ref.removeprefix("refs/tags/"))
    elif not ref.endswith(("main", "evil")):
        plain_git(fork.repo.root, "update-ref", ref, "main")
    before = remote.refs()
    end = hosted.job("measure", "publish", bundle(plain_git, fork, job, ref))
    assert not end.ok, end.log
    assert f"::error::Nothing is published: {why}" in end.steps[-1].output
    assert remote.refs() == before


def test_main_gets_only_what_was_measured(
    remote: Remote, machine: Machines, hosted: Machine, tmp_path: Path, plain_git: Git
) -> None:
    made = remote.propose("speed 1.20")
    job = machine("lab", runner="lab").job("measure", "measure")
    fork = forged(remote, tmp_path)
    plain_git(fork.repo.root, "merge", "-q", "--no-commit", "--no-ff", made.id)
    (fork.repo.root / "kernel/kernel.cu").write_text("// another\n")
    plain_git(fork.repo.root, "commit", "-q", "-am", "0001: fast")
    end = hosted.job("measure", "publish", bundle(plain_git, fork, job, "refs/heads/main"))
    assert "main would get a kernel that was not measured" in end.steps[-1].output
    assert "rtx4090" not in str(remote.tags())


def test_an_attempt_that_brings_another_workflow_does_not_reach_main(
    remote: Remote, machine: Machines, hosted: Machine
) -> None:
    laptop = remote.laptop.repo
    base = laptop.resolve("main") or ""
    tree = laptop.tree_with(
        base, {"kernel/kernel.cu": b"// speed 2.00\n", ".github/workflows/check.yml": b"on: push\n"}
    )
    attempt = Attempt(Label(1), "base", "generate", "fast", task=remote.laptop.task_hash)
    own = laptop.commit(tree, [base], log.render_commit(attempt), author=TOOL, at=1_700_000_001)
    remote.git(laptop.root, "update-ref", "refs/cutegen/attempt/0001", own)
    remote.sync()
    job = machine("lab", runner="lab").job("measure", "measure")
    before = remote.git(laptop.root, "show", "main:.github/workflows/check.yml")
    end = publish(hosted, job)
    assert end.ok, end.steps[-1].output
    remote.sync()
    assert remote.git(laptop.root, "show", "main:kernel/kernel.cu") == "// speed 2.00\n"
    assert remote.git(laptop.root, "show", "main:.github/workflows/check.yml") == before


def test_a_fork_that_was_never_merged_is_not_believed(
    remote: Remote, machine: Machines, hosted: Machine, tmp_path: Path, plain_git: Git
) -> None:
    made = remote.propose("speed 1.20")
    fork = forged(remote, tmp_path)
    plain_git(
        remote.path, "fetch", "-q", "--no-tags", str(fork.repo.root), "+refs/heads/main:refs/pull/1/head"
    )
    job = machine("lab", runner="lab").job("measure", "measure")
    assert publish(hosted, job).ok
    assert remote.tags() == ["rtx4090/0001-1.20x"]
    assert "forged" not in remote.note("lab", made.id)


def test_a_verdict_that_a_writer_pushed_under_a_name_of_his_own_does_not_count(
    remote: Remote, machine: Machines, hosted: Machine, tmp_path: Path, plain_git: Git
) -> None:
    made = remote.propose("speed 1.20")
    forged(remote, tmp_path)
    ref = "refs/notes/cutegen/verdict/evil"
    plain_git(tmp_path / "fork", "push", "-q", "origin", ref)
    remote.sync()
    project = Project.open(remote.laptop.repo.root)
    assert project.verdicts() == {}
    job = machine("lab", runner="lab").job("measure", "measure")
    assert job.outputs()["needs.measure.outputs.news"] == "true"
    assert publish(hosted, job).ok
    assert remote.tags() == ["rtx4090/0001-1.20x"]
    assert remote.note("lab", made.id).startswith("passed 1.20x")


def test_lists_that_are_missing_are_no_reason_to_believe(tmp_path: Path, plain_git: Git) -> None:
    (tmp_path / "bare").mkdir()
    remote = make_remote(tmp_path / "bare", plain_git, listed="")
    remote.propose("speed 1.20")
    job = Machine(tmp_path / "machines" / "x", remote, runner="lab").job("measure", "measure")
    assert not job.ok
    assert "[runners]" in job.steps[-1].output
