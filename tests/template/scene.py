"""A task at a remote, machines that act on it, and what forks send."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from desk import KERNEL, REFERENCE, TASK

from cutegen_git.app.new_files import files
from cutegen_git.app.project import Project
from cutegen_git.core import taskfile
from cutegen_git.hands import sync
from cutegen_git.hands.repo import TOOL, Repo
from cutegen_git.words.attempt import Attempt, Commit

from .actions import Job, load

Git = Callable[..., str]
LISTED = '[runners]\nlab = { device = "rtx4090" }\nden = { device = "rtx4090" }\n'
STAND_IN = Path(__file__).with_name("stand_in.py")
REAL = shutil.which("cutegen-git", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@dataclass
class Remote:
    """A bare repository and the laptop that proposes to it."""

    path: Path
    laptop: Project
    git: Git
    origin: str | None = "origin"  # where the laptop pushes; None: it keeps what it makes

    def propose(self, first_line: str, *, kernel: str = KERNEL) -> Commit:
        """A new attempt, pushed."""
        label = self.laptop.next_label()
        base = [self.laptop.main, *self.laptop.repo.refs("refs/cutegen/attempt").values()][-1]
        attempt = Attempt(label, "base", "optimise", f"idea {label}", task=self.laptop.task_hash)
        made = self.laptop.add_attempt(
            attempt, base, {"kernel/kernel.cu": f"// {first_line}\n{kernel}".encode()}, author=TOOL, at=1_700_000_000
        )  # fmt: skip
        self.sync()
        return made

    def sync(self) -> None:
        if self.origin:
            sync.sync(self.laptop.repo, self.origin, cwd=self.laptop.repo.root)

    def refs(self, *patterns: str) -> dict[str, str]:
        """Full name -> id, at the remote."""
        lines = self.git(
            self.path, "for-each-ref", "--format=%(refname) %(objectname)", *patterns
        ).splitlines()
        return dict(line.split(" ") for line in lines)

    def tags(self) -> list[str]:
        return [name.removeprefix("refs/tags/") for name in self.refs("refs/tags")]

    def note(self, runner: str, commit: str) -> str:
        return self.git(self.path, "notes", f"--ref=cutegen/verdict/{runner}", "show", commit)


def make_remote(tmp_path: Path, git: Git, *, listed: str = LISTED) -> Remote:
    """A task made from the template, on a laptop, shared through a bare repository."""
    toml = TASK + listed
    content = files(taskfile.parse(toml), REFERENCE.encode(), origin="a test", notes=[])
    content["task.toml"] = toml.encode()
    Repo.create(tmp_path / "laptop", content, "add\n", 1_700_000_000).close()
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "origin.git")
    git(tmp_path / "origin.git", "config", "core.hooksPath", "/dev/null")  # a server's hooks are its own
    git(tmp_path / "laptop", "remote", "add", "origin", str(tmp_path / "origin.git"))
    remote = Remote(tmp_path / "origin.git", Project.open(tmp_path / "laptop"), git)
    remote.sync()
    return remote


def clone(remote: Remote, folder: Path) -> Project:
    remote.git(folder.parent, "clone", "-q", str(remote.path), folder.name)
    return Project.open(folder)


@dataclass
class Machine:
    """A machine that runs jobs, with the programs it finds on its PATH."""

    home: Path
    remote: Remote
    runner: str = ""
    has_gpu: bool = True
    verify: str = ""  # a program in place of `cutegen-git verify`

    def __post_init__(self) -> None:
        self.bin = self.home / "bin"
        self.bin.mkdir(parents=True)
        (self.home / "machine-id").write_text(f"{self.home.name}\n")
        verify = self.verify or f'exec "{sys.executable}" "{STAND_IN}"'
        self._program("cutegen-git", f'if [ "$1" = verify ]; then {verify}; fi\nexec "{REAL}" "$@"')
        self._program("pip", f'echo "pip $*" >> "{self.home}/installed"')
        self._program("python", f'exec "{sys.executable}" "$@"')
        self._program(
            "nvidia-smi", "echo NVIDIA" if self.has_gpu else "echo 'Failed to initialize NVML'; exit 9"
        )
        self._program(
            "python3", f'[ "$1 $2" = "-m venv" ] || exit 99\nmkdir -p "$3" && ln -s "{self.bin}" "$3/bin"'
        )
        self.jobs = 0

    def _program(self, name: str, text: str) -> None:
        (self.bin / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.bin / name).chmod(0o755)

    def environment(self) -> dict[str, str]:
        named = {"CUTEGEN_GIT_RUNNER": self.runner} if self.runner else {}
        keep = {key: os.environ[key] for key in ("PATH", "CUTEGEN_GIT_CACHE")}
        own = {
            "HOME": str(self.home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "MACHINE_ID": str(self.home / "machine-id"),
        }
        return {**keep, **own, **named, "PATH": f"{self.bin}{os.pathsep}{keep['PATH']}"}

    def job(
        self, workflow: str, name: str, context: Mapping[str, str] | None = None, *, ref: str = "main"
    ) -> Job:
        """The job as main's workflow file describes it, run to its end."""
        self.jobs += 1
        text = self.remote.git(self.remote.path, "show", f"main:.github/workflows/{workflow}.yml")
        uses = {
            "actions/checkout": lambda given, job: checkout(given.get("ref", ref), job, self.remote),
            "actions/setup-python": lambda given, job: None,
            "actions/upload-artifact": upload,
            "actions/download-artifact": download,
        }
        folder = self.home / f"job{self.jobs}"
        return Job(load(text), name, folder, self.environment(), uses, dict(context or {})).run()


def checkout(ref: str, job: Job, remote: Remote) -> None:
    """What actions/checkout does with fetch-depth 0 for a branch, or for refs/pull/N/merge."""
    git, work = remote.git, job.workspace
    branch = not ref.startswith("refs/")
    git(work, "init", "-q")
    git(work, "remote", "add", "origin", str(remote.path))
    more = [] if branch else [f"+{ref}:refs/remotes/{ref.removeprefix('refs/')}"]
    git(
        work,
        "fetch",
        "-q",
        "origin",
        "+refs/heads/*:refs/remotes/origin/*",
        "+refs/tags/*:refs/tags/*",
        *more,
    )
    if branch:
        git(work, "checkout", "-q", "--force", "-B", ref, f"refs/remotes/origin/{ref}")
    else:
        git(work, "checkout", "-q", "--force", f"refs/remotes/{ref.removeprefix('refs/')}")


def upload(given: Mapping[str, str], job: Job) -> None:
    shutil.copy(given["path"], job.folder / given["name"])
    job.context["artifact"] = str(job.folder / given["name"])


def download(given: Mapping[str, str], job: Job) -> None:
    shutil.copy(job.context["artifact"], Path(given["path"]) / "verdicts.bundle")


def handed_on(job: Job) -> dict[str, str]:
    """What a job gives to the jobs that need it."""
    artifact = {"artifact": job.context["artifact"]} if "artifact" in job.context else {}
    return {**job.outputs(), **artifact}


def plain(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(["git", *words], cwd=folder, env=env, capture_output=True, text=True, check=False)
