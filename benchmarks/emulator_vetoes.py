"""What the emulator says of kernels whose verdict on a GPU is known: the variants of tests/judge. Needs no GPU.

    python benchmarks/emulator_vetoes.py > benchmarks/emulator_vetoes.md

Each variant is a correct kernel with one edit; its expected outcome is what an H200 said. Both correct kernels are judged too.
Exit code 1 if the emulator passes a kernel that is wrong for a reason that it can see, or refuses a correct one.
"""

from __future__ import annotations

import platform
import secrets
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "judge"))

import judge_affine
import judge_gemm
import torch
from judge_gemm import Variant

from cutegen_git.devices.emulator.device import EmulatorDevice
from cutegen_git.devices.emulator.trouble import kind_of
from cutegen_git.hands import toolchain
from cutegen_git.hands.build import Build, Library, static_sizes
from cutegen_git.judge import reference
from cutegen_git.judge.protocol import Trouble
from cutegen_git.judge.session import Session
from cutegen_git.words.task import Task
from cutegen_git.words.verdict import Outcome

# A launch on the emulator is a process of its own with one stream, and only check sizes are run.
NOT_SEEN = {
    "side stream": "streams are not ordered apart",
    "default stream": "streams are not ordered apart",
    "synchronises": "the host waits anyway",
    "computes once": "nothing lives from call to call",
    "depends on the clock": "its clock counts alike in every run",
}
UNCONFIRMED = {"16-byte loads at any size"}  # expected, but no GPU has run it in this form


@dataclass(frozen=True, slots=True)
class Row:
    """One variant, judged."""

    task: str
    name: str
    expected: Outcome  # on an H200
    found: Outcome
    why: str
    seconds: float

    @property
    def is_false_pass(self) -> bool:
        can_be_seen = self.expected is not Outcome.PASSED and self.name not in NOT_SEEN
        return can_be_seen and self.found is Outcome.PASSED

    @property
    def is_false_refusal(self) -> bool:
        return self.expected is Outcome.PASSED and self.found not in (Outcome.PASSED, Outcome.UNSUPPORTED)


def judged(session: Session, device: EmulatorDevice, variant: Variant) -> tuple[Outcome, str]:
    """The outcome and its reason."""
    task = session.task
    libraries = tuple(Library(static, Path("none"), (), ()) for static in static_sizes(task))
    unbuilt = Build(True, libraries, "sm_89", "", 0, 0.0, False)
    made = device.build(task, {"kernel.cu": variant.source()}, unbuilt)
    if isinstance(made, Trouble):
        return made.outcome, made.why
    found = session.judge(made, commit=variant.name, secret=secrets.token_bytes(16))
    return found.outcome, found.why


def rows(task: Task, form: bytes, variants: Sequence[Variant], device: EmulatorDevice) -> Iterator[Row]:
    session = Session(
        task, reference.load(form, task), device, cache_dir=device.folder / "judge", say=lambda _: None
    )
    for variant in variants:
        started = time.monotonic()
        found, why = judged(session, device, variant)
        row = Row(task.name, variant.name, variant.outcome, found, why, time.monotonic() - started)
        print(f"{row.task}: {row.name}: {row.found.value} ({row.seconds:.0f} s)", file=sys.stderr, flush=True)
        yield row


def table(found: Sequence[Row]) -> str:
    head = ("task", "variant", "H200", "emulator", "rule", "s", "why, or why it is not seen")
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in found:
        hidden = NOT_SEEN.get(row.name, "") if row.found is Outcome.PASSED else ""
        why = " ".join((row.why or hidden).split()).replace("|", "/")[:150]
        expected = row.expected.value + (" (expected)" if row.name in UNCONFIRMED else "")
        cells = (
            row.task,
            row.name,
            expected,
            row.found.value,
            kind_of(row.why) or "",
            f"{row.seconds:.0f}",
            why,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def confusion(found: Sequence[Row]) -> str:
    """How often which outcome of an H200 met which of the emulator."""
    counts = Counter((row.expected.value, row.found.value) for row in found)
    across = sorted({outcome for _, outcome in counts})
    lines = [f"| H200 \\ emulator | {' | '.join(across)} |", f"|{'---|' * (len(across) + 1)}"]
    for expected in sorted({outcome for outcome, _ in counts}):
        cells = (str(counts[expected, outcome] or "") for outcome in across)
        lines.append(f"| {expected} | {' | '.join(cells)} |")
    return "\n".join(lines)


def summary(found: Sequence[Row]) -> str:
    wrong = [row for row in found if row.expected is not Outcome.PASSED and row.name not in NOT_SEEN]
    refused = sum(row.found.is_about_kernel and row.found is not Outcome.PASSED for row in wrong)
    same = sum(row.found is row.expected for row in wrong)
    good = [row for row in found if row.expected is Outcome.PASSED]
    return (
        f"{len(wrong)} kernels are wrong for a reason that can be seen here: {refused} refused, {same} of them with the H200's "
        f"outcome, {sum(row.is_false_pass for row in found)} passed.\n"
        f"{len(good)} kernels are right: {sum(row.is_false_refusal for row in found)} refused."
    )


def versions(tools: toolchain.Toolchain) -> str:
    gcc = subprocess.run(
        ["g++", "--version"], capture_output=True, text=True, check=True
    ).stdout.splitlines()[0]
    python, name = platform.python_version(), " ".join(tools.identity.split()[:2])
    return f"{gcc}; torch {torch.__version__}; Python {python}; {name}"


def main() -> int:
    torch.set_num_threads(1)
    tools = toolchain.find()
    right = (Variant("correct", Outcome.PASSED),), (Variant("correct", Outcome.PASSED, file="affine_ok.cu"),)
    with tempfile.TemporaryDirectory() as folder:
        device = EmulatorDevice(tools, Path(folder))
        gemm = rows(judge_gemm.task(), judge_gemm.REFERENCE, (*right[0], *judge_gemm.VARIANTS), device)
        affine = rows(
            judge_affine.task(), judge_affine.REFERENCE, (*right[1], *judge_affine.VARIANTS), device
        )
        found = [*affine, *gemm]
    parts = (
        "# Vetoes of the emulator against an H200",
        versions(tools),
        table(found),
        confusion(found),
        summary(found),
    )
    print("\n\n".join(parts))
    return int(any(row.is_false_pass or row.is_false_refusal for row in found))


if __name__ == "__main__":
    sys.exit(main())
