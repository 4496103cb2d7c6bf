"""A bench without a GPU that says what the kernel's first line says; everything around it is the real thing.

`// speed 1.43`, `// wrong-result`, `// infrastructure`, `// unsupported`. Run as a program, it is `verify --pending`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cutegen_git.app import verify
from cutegen_git.app.bench import Bench, Judging
from cutegen_git.app.project import Project
from cutegen_git.hands import machine
from cutegen_git.words.attempt import Commit
from cutegen_git.words.verdict import Outcome, Timing, Verdict

DEVICE = "rtx4090"


class StandIn(Bench):
    """Judges by reading. It opens nothing."""

    def __post_init__(self) -> None:
        self.gpu, self.no_device = None, "it only reads"
        self.here = DEVICE
        self.runner = machine.runner_name(DEVICE, machine.environment())

    def judge(self, commit: Commit, incumbent: Commit | None = None) -> Judging:
        word, _, rest = (
            self.project.kernel_files(commit.id)["kernel.cu"].decode().partition("\n")[0][3:].partition(" ")
        )
        outcome = Outcome.PASSED if word == "speed" else Outcome(word)
        speed = float(rest) if word == "speed" else 0.0
        timing = (
            Timing(speed, speed * 0.99, speed * 1.01, 100 / speed, 110 / speed, "eager", 100.0)
            if speed
            else None
        )
        return Judging(
            Verdict(
                outcome,
                DEVICE,
                self.runner,
                commit.id,
                commit.kernel_tree,
                self.project.task_hash,
                "sm_89",
                machine.now_s(),
                why="" if speed else "it says so",
                timing=timing,
                seconds={"time": 1.0},
            ),  # fmt: skip
            feedback="" if speed else "it says so",
            samples={"attempt": [100, 101]} if speed else {},
        )


def pending(folder: Path) -> int:
    """`verify --pending` in the folder; its exit code."""
    project = Project.open(folder)
    bench = StandIn(project, lambda text: None)
    with project.repo.lock(wait_s=5.0):
        wanted = verify.targets(project, [], pending=True, here=bench.here)
        done = [verify.verify_one(project, bench, commit) for commit in wanted]
        verify.follow(project, bench)
    if not all(item.verdict.outcome.is_about_kernel for item in done):
        return 125
    return int(any(item.verdict.outcome is not Outcome.PASSED for item in done))


if __name__ == "__main__":
    sys.exit(pending(Path.cwd()))
