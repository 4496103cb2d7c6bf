"""A claim <-> the message of its annotated tag, refs/tags/<gpu>/<label>-<n.nn>x (design judge.md, section 7).

The message alone tells a reader without notes what was claimed and on what.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cutegen_git.words.attempt import FORMAT, Label
from cutegen_git.words.verdict import Timing, Verdict

from . import trailers


@dataclass(frozen=True, slots=True)
class Claim:
    """A stated speedup with what it rests on."""

    label: Label
    device: str  # slug
    timing: Timing
    verdict: str  # id of the verdict line
    task: str  # task hash
    kernel_tree: str
    judge: int
    facts: Mapping[str, str] = field(default_factory=dict)  # Driver, Clocks, Nvcc, Torch, ...: for readers


def tag_name(label: Label, verdict: Verdict) -> str:
    """The full ref name of the claim. The verdict must have a timing."""
    if verdict.timing is None:
        raise ValueError("a verdict without a timing claims nothing")
    return f"refs/tags/{verdict.device}/{label}-{verdict.timing.speedup:.2f}x"


def render_claim(claim: Claim) -> str:
    """The message, ending in one newline."""
    timing = claim.timing
    sentence = (
        f"{claim.label} is {timing.speedup:.2f}x as fast as torch {timing.baseline} on {claim.device} "
        f"(95 % interval {timing.low:.2f} to {timing.high:.2f})"
    )
    pairs = [
        ("Format", str(FORMAT)),
        ("Claim", str(claim.label)),
        ("Speedup", f"{timing.speedup!r} {timing.low!r}..{timing.high!r}"),
        ("Device-Time", f"{timing.device_us!r} us"),
        ("Call-Time", f"{timing.call_us!r} us"),
        ("Baseline", f"{timing.baseline_us!r} us {timing.baseline}"),
        ("Device", claim.device),
        *((key, value) for key, value in claim.facts.items() if key not in _OWN),
        ("Judge", str(claim.judge)),
        ("Task", claim.task),
        ("Kernel-Tree", claim.kernel_tree),
        ("Verdict", claim.verdict),
    ]
    return f"{sentence}\n\n{trailers.render(pairs)}\n"


_OWN = ("Format", "Claim", "Speedup", "Device-Time", "Call-Time", "Baseline", "Device", "Judge", "Task", "Kernel-Tree", "Verdict")  # fmt: skip


def parse_claim(message: str) -> Claim | None:
    """The claim in a tag's message, signed or not; None if it is not one of ours."""
    _, found = trailers.split(message.partition("\n-----BEGIN SSH SIGNATURE-----\n")[0])
    label = Label.parse(found.get("Claim", ""))
    if label is None:
        return None
    try:
        speedup, _, interval = found["Speedup"].partition(" ")
        low, _, high = interval.partition("..")
        base_us, _, baseline = found["Baseline"].partition(" us ")
        timing = Timing(
            float(speedup), float(low), float(high), _us(found["Device-Time"]), _us(found["Call-Time"]), baseline, float(base_us)
        )  # fmt: skip
        facts = {key: value for key, value in found.items() if key not in _OWN}
        return Claim(
            label, found["Device"], timing, found["Verdict"], found["Task"], found["Kernel-Tree"], int(found["Judge"]), facts
        )  # fmt: skip
    except (KeyError, ValueError):
        return None


def _us(text: str) -> float:
    return float(text.removesuffix(" us"))
