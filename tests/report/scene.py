"""Small task repositories with attempts, verdicts, claims and paths, written by Project as in a real run."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from desk import REFERENCE, TASK

from cutegen_git.app.project import Project, notes_ref
from cutegen_git.hands.repo import Identity, Repo
from cutegen_git.words.attempt import Attempt, Commit, Spend
from cutegen_git.words.verdict import Outcome, Resources, Timing, Verdict

AT = 1_760_000_000
MODEL = Identity("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5@cutegen.invalid")
RUNNERS = """
[runners]
rtx4090-lab = { device = "rtx4090" }
h200-lab = { device = "h200" }
"""
FACTS = {
    "Gpu": "NVIDIA GeForce RTX 4090",
    "Driver": "580.95.05",
    "Torch": "2.9.0+cu130",
    "Clocks": "graphics 2520 MHz, memory 10501 MHz, locked no",
    "Noise": "0.21 %",
    "Method": "timing 1, 5 processes",
    "Nvcc": "13.0.48",
    "Cutlass": "4.2.1",
    "Code": "sm_89",
    "Error-Budget-Used": "0.18",
    "Precision": "float32, accumulate float32",
    "Workloads": "N67108864",
}
KERNEL = """#include <cuda_runtime.h>

__global__ void add(const float* x, const float* y, float* z, int64_t n) {{
  // {note}
  int64_t i = (blockIdx.x * int64_t(blockDim.x) + threadIdx.x) * {width};
  for (int k = 0; k < {width}; ++k)
    if (i + k < n) z[i + k] = x[i + k] + y[i + k];
}}

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {{
  add<<<unsigned((a.N + 255) / 256), 256, 0, stream>>>(a.x, a.y, a.z, a.N);
  return cudaGetLastError();
}}
"""
BASE_US = 1412.6


def timing(speedup: float, spread: float = 0.012) -> Timing:
    """Against a fixed torch."""
    us = BASE_US / speedup
    return Timing(speedup, speedup * (1 - spread), speedup * (1 + spread), us, us + 6.1, "eager", BASE_US)


@dataclass
class Scene:
    """A task that grows."""

    project: Project
    at: int = AT

    @classmethod
    def new(cls, folder: Path, toml: str = TASK + RUNNERS) -> Scene:
        toml = toml.replace("1048576", "67108864")
        Repo.create(
            folder, {"task.toml": toml.encode(), "reference.py": REFERENCE.encode()}, "add\n", AT
        ).close()
        return cls(Project.open(folder))

    @property
    def folder(self) -> Path:
        return self.project.repo.root

    def attempt(self, subject: str, parent: Commit | None = None, **fields: object) -> Commit:
        """An attempt whose kernel differs from all others, unless `outcome` says that nothing applied."""
        self.at += 97
        label = self.project.next_label()
        note, width = str(fields.pop("note", subject)), int(str(fields.pop("width", label.number)))
        attempt = Attempt(
            label=label,
            path="base",
            move="optimise" if parent else "generate",
            subject=subject,
            parent_attempt=parent.attempt.label if parent else None,
            model=MODEL.name,
            spend=Spend(4210 + 37 * label.number, 913, 0.0263, 11.5),
            task=self.project.task_hash,
        )
        attempt = dataclasses.replace(attempt, **fields)  # type: ignore[arg-type]
        text = KERNEL.format(note=note, width=width)
        files: Mapping[str, bytes | None] = {} if attempt.outcome else {"kernel/kernel.cu": text.encode()}
        start = parent.id if parent else self.project.main
        return self.project.add_attempt(attempt, start, files, author=MODEL, at=self.at)

    def judge(self, commit: Commit, outcome: Outcome = Outcome.PASSED, **fields: object) -> Verdict:
        """A verdict in the runner's notes; a claim too where it has a timing and `tag` is not False."""
        self.at += 13
        feedback, tag = str(fields.pop("feedback", "")), bool(fields.pop("tag", True))
        verdict = Verdict(
            outcome=outcome,
            device="rtx4090",
            runner="rtx4090-lab",
            commit=commit.id,
            kernel_tree=commit.kernel_tree,
            task=commit.attempt.task,
            code="sm_89",
            at=self.at,
            resources=Resources(40, 16384, 0),
            seconds={"build": 6.2, "check": 3.1, "time": 9.9},
        )
        verdict = dataclasses.replace(verdict, **fields)  # type: ignore[arg-type]
        line = self.project.record(verdict, {}, feedback)
        if verdict.timing and tag and self.project.believes(verdict.runner):
            self.project.claim(commit, verdict, line, FACTS, self.at)
        return verdict

    def promote(self, commit: Commit) -> None:
        """Path and main moved to an attempt."""
        judged = self.project.history().at(commit.id)
        assert judged is not None
        path = commit.attempt.path
        self.project.advance(
            judged, path, message=f"{commit.attempt.label}: {commit.attempt.subject}\n", at=self.at
        )


def small(folder: Path) -> Scene:
    """Seven attempts of each kind: broken, repaired, better, idle, hostile, unmeasured, faster."""
    scene = Scene.new(folder)
    first = scene.attempt("simplest kernel: one thread an element")
    scene.judge(
        first, Outcome.BUILD_ERROR, why='expected a ";"', feedback="kernel/kernel.cu:7: error: expected a ;"
    )
    fixed = scene.attempt("end the statement", first, move="fix")
    scene.judge(fixed, timing=timing(0.81))
    scene.promote(fixed)
    vector = scene.attempt(
        "load and store 16 bytes a thread",
        fixed,
        body="Bottleneck: four load instructions where one would do.\nChange: float4.\nExpected: 20 % less time.",
    )
    scene.judge(vector, timing=timing(1.02, 0.006), resources=Resources(32, 0, 0))
    scene.promote(vector)
    scene.attempt("explain the kernel", vector, outcome="no-diff")
    wrong = scene.attempt("skip the bounds test", vector)
    scene.judge(wrong, Outcome.WRONG_RESULT, why="N=1001: 25 of 1001 elements differ, first at [1000]")
    scene.attempt("prefetch with cp.async", vector)
    best = scene.attempt("persistent blocks, streaming stores", vector)
    digest = "add, grid 128 x block 256\nthroughput: memory throughput 91.2 %"
    scene.project.repo.notes_replace(notes_ref("profile", "rtx4090-lab"), best.id, digest)
    scene.judge(best, timing=timing(1.13, 0.004), resources=Resources(38, 0, 0))
    scene.promote(best)
    return scene


def large(folder: Path, count: int = 200) -> Scene:
    """Many attempts on three paths, with a wandering but rising speedup."""
    scene = Scene.new(folder)
    paths = ("base", "tiling", "async-copy")
    heads: dict[str, tuple[Commit, float]] = {}
    broken: Commit | None = None
    for number in range(1, count + 1):
        path = paths[(number // 7) % 3]
        held = heads.get(path)
        parent, move = (broken, "fix") if broken else (held[0], "optimise") if held else (None, "generate")
        path = parent.attempt.path if parent else path
        commit = scene.attempt(f"idea {number} of {path}: wider tiles", parent, path=path, move=move)
        kind = (number * 7919) % 11
        if kind < 3 and number < count:
            scene.judge(
                commit, (Outcome.BUILD_ERROR, Outcome.WRONG_RESULT, Outcome.RACE)[kind], why="it broke"
            )
            broken = commit if kind == 0 else None
            continue
        broken = None
        rise = 0.35 + 1.2 * (1 - math.exp(-number / 70)) + 0.1 * paths.index(path)
        value = rise * (1 + 0.09 * math.sin(number * 2.3))
        scene.judge(commit, timing=timing(value, 0.01 + 0.02 * (number % 3 == 0)), tag=number % 10 == 0)
        best = heads.get(commit.attempt.path)
        if best is None or value > best[1]:
            heads[commit.attempt.path] = (commit, value)
    winner = max(heads.values(), key=lambda item: item[1])[0]
    scene.promote(winner)
    return scene


def unjudged(folder: Path) -> Scene:
    """Two attempts that nobody has looked at."""
    scene = Scene.new(folder)
    scene.attempt("second idea", scene.attempt("first idea"))
    return scene


SUBJECTS = (
    "<script>alert(1)</script>",
    "</details></section> \u05e9\u05dc\u05d5\u05dd \u202eevil",
    "a|b `tick` @everyone #1 http://x.invalid [l](http://x.invalid)",
)
BODY = "</details></pre><img src=x onerror=alert(2)>\n\n**Bold** @everyone\n```\n# out"
NOTE = "</pre></details><script>alert(3)</script> \u202e \x1b[31m ```````"
WHY = "N=1001: </p><b onclick=alert(4)>"
FEEDBACK = "</pre><script>alert(5)</script>"


def hostile(folder: Path) -> Scene:
    """What a model or a stranger may write, everywhere it is shown; the last wins on both of two devices."""
    scene = Scene.new(folder)
    first = scene.attempt(SUBJECTS[0], body=BODY, note=NOTE, path="<b>")
    scene.judge(first, timing=timing(1.2), feedback=FEEDBACK)
    second = scene.attempt(SUBJECTS[1], first, model='evil"><svg onload=alert(6)>')
    scene.judge(second, Outcome.WRONG_RESULT, why=WHY)
    third = scene.attempt(SUBJECTS[2], first)
    scene.judge(third, timing=timing(9.5), runner="stranger")
    scene.attempt("talk", first, outcome="[x](http://x.invalid) <u>")
    last = scene.attempt("honest", first, body=BODY, note=NOTE)
    scene.judge(last, timing=timing(0.7), device="h200", runner="h200-lab")
    scene.judge(last, timing=timing(1.31, 0.02))
    scene.judge(last, timing=timing(8.0), runner="stranger")
    return scene
