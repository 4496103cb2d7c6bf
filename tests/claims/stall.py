"""A task with one claim on it, made from samples as a run makes it, and ways to tamper with it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from desk import KERNEL, REFERENCE, TASK

from cutegen_git.app.bench_facts import rounded
from cutegen_git.app.project import Project, notes_ref
from cutegen_git.core import log, stats
from cutegen_git.hands.repo import Identity, Repo
from cutegen_git.words.attempt import Attempt, Commit, Label
from cutegen_git.words.verdict import Outcome, Verdict

AT = 1_700_000_000
RUNNERS = '[runners]\nrtx4090-lab = {{ device = "rtx4090"{} }}\n'
MODEL = Identity("a model", "model@cutegen.invalid")


def samples_of(speedup: float, *, seed: int = 1, processes: int = 3, blocks: int = 6) -> dict[str, list[int]]:
    """Samples of a kernel that is so much faster, with noise of a real card."""
    dice = random.Random(seed)
    found: dict[str, list[int]] = {}
    for process in range(processes):
        level = 1 + dice.gauss(0, 0.003)
        for block in range(blocks):
            place = f"N1048576/{process}/{block}"
            found[f"attempt/{place}"] = [int(100_000 * level * (1 + dice.gauss(0, 0.002))) for _ in range(10)]
            found[f"baseline:eager/{place}"] = [
                int(100_000 * speedup * (1 + dice.gauss(0, 0.002))) for _ in range(10)
            ]
            found[f"mhz:attempt/{place}"] = [2520, 2520]
            found[f"mhz:baseline:eager/{place}"] = [2520, 2520]
        found[f"call/N1048576/{process}/0"] = [int(110_000 * (1 + dice.gauss(0, 0.01))) for _ in range(5)]
    return found


@dataclass
class Stall:
    """An open task with one attempt."""

    project: Project
    commit: Commit

    @classmethod
    def new(cls, folder: Path, key: str = "") -> Stall:
        toml = TASK + RUNNERS.format(f', key = "{key.strip()}"' if key else "")
        Repo.create(
            folder, {"task.toml": toml.encode(), "reference.py": REFERENCE.encode()}, "add\n", AT
        ).close()
        project = Project.open(folder)
        attempt = Attempt(Label(1), "base", "generate", "one thread an element", task=project.task_hash)
        commit = project.add_attempt(
            attempt, project.main, {"kernel/kernel.cu": KERNEL.encode()}, author=MODEL, at=AT + 1
        )
        return cls(project, commit)

    def verdict(self, speedup: float | None, *, seed: int = 1, runner: str = "rtx4090-lab") -> Verdict:
        timing = rounded(stats.decide(samples_of(speedup, seed=seed))) if speedup else None
        return Verdict(
            outcome=Outcome.PASSED if timing else Outcome.WRONG_RESULT,
            device="rtx4090",
            runner=runner,
            commit=self.commit.id,
            kernel_tree=self.commit.kernel_tree,
            task=self.project.task_hash,
            code="sm_89",
            at=AT + 2,
            why="" if timing else "z is wrong",
            timing=timing,
        )

    def claim(self, speedup: float = 1.43, change: Callable[[Verdict], Verdict] = replace) -> str:
        """The short name of a claim with verdict and samples, unsigned; `change` edits the verdict first."""
        verdict = change(self.verdict(speedup))
        self.write(verdict, samples_of(speedup))
        name, message = self.claim_of(verdict)
        self.project.repo.tag(name, self.commit.id, message, at=AT + 3)
        return name

    def write(self, verdict: Verdict, samples: Mapping[str, Sequence[int]]) -> None:
        """Notes as anybody can write them: without a key, whoever the runner is."""
        line = log.render_verdict(verdict)
        text = json.dumps({"verdict": log.verdict_id(line), "ns": samples})
        repo, commit = self.project.repo, self.commit.id
        repo.notes_append(notes_ref("samples", verdict.runner), commit, text)
        repo.notes_append(notes_ref("verdict", verdict.runner), commit, line)

    def claim_of(self, verdict: Verdict) -> tuple[str, str]:
        """Short name and message of the tag that claims what a verdict found."""
        assert verdict.timing is not None
        label, id = self.commit.attempt.label, log.verdict_id(log.render_verdict(verdict))
        claim = log.Claim(
            label, verdict.device, verdict.timing, id, verdict.task, verdict.kernel_tree, verdict.judge, {"Driver": "580"}
        )  # fmt: skip
        return log.tag_name(label, verdict).removeprefix("refs/tags/"), log.render_claim(claim)

    def reopen(self) -> None:
        self.project = Project.open(self.project.repo.root)
