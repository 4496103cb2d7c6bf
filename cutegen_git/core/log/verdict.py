"""A verdict <-> its line in refs/notes/cutegen/verdict/<runner>.

A line reads well under plain `git log --notes='cutegen/verdict/*'` and has at most 600 bytes:

    passed 0.93x device=h200 ci=0.92..0.94 us=2880.1 ... commit=<id> kernel=<tree> task=<hash> id=<hash>

The first word is the outcome; a second word `0.93x` repeats the speedup for people and is not parsed.
"""

from __future__ import annotations

import hashlib
import json
import re

from cutegen_git.words.verdict import Outcome, Resources, Timing, Verdict

LINE_BYTES = 600
_PAIR = re.compile(r'([a-z_]+)=("(?:[^"\\]|\\.)*"|\S*)')
_BARE = re.compile(r"[^\s\"=][^\s\"]*")


def render_verdict(verdict: Verdict) -> str:
    """The line, without a newline. `why` is cut until the line fits; nothing else ever is."""
    why = " ".join(verdict.why.split())
    while True:
        body = _body(verdict, why)
        line = f"{body} id={_hash(body)}"
        excess = len(line.encode()) - LINE_BYTES
        if excess <= 0 or not why:
            return line
        why = why[: max(0, len(why) - max(1, excess // 4) - 1)].rstrip()


def verdict_id(line: str) -> str:
    """The id that a line carries; "" if it carries none."""
    found = re.search(r" id=([0-9a-f]{12})$", line)
    return found[1] if found else ""


def parse_verdict(line: str) -> Verdict | None:
    """The verdict; None for a line that is damaged, of a later format, or altered after it was written."""
    body, _, claimed = line.strip().rpartition(" id=")
    if not body or _hash(body) != claimed:
        return None
    pairs = {key: json.loads(value) if value.startswith('"') else value for key, value in _PAIR.findall(body)}
    try:
        return Verdict(
            outcome=Outcome(body.split(" ", 1)[0]),
            device=pairs["device"],
            runner=pairs["runner"],
            commit=pairs["commit"],
            kernel_tree=pairs["kernel"],
            task=pairs["task"],
            code=pairs["code"],
            at=int(pairs["at"]),
            why=pairs.get("why", ""),
            timing=_timing(pairs) if "speedup" in pairs else None,
            resources=_resources(pairs["res"]) if "res" in pairs else None,
            seconds={
                key: float(value)
                for key, value in (item.split(":") for item in pairs.get("s", "").split(",") if item)
            },
            judge=int(pairs["judge"]),
        )
    except (KeyError, ValueError):
        return None


def _body(verdict: Verdict, why: str) -> str:
    words = [verdict.outcome.value]
    pairs: list[tuple[str, str]] = [("device", verdict.device)]
    if verdict.timing:
        timing = verdict.timing
        words.append(f"{timing.speedup:.2f}x")
        pairs += [
            ("speedup", repr(timing.speedup)),
            ("ci", f"{timing.low!r}..{timing.high!r}"),
            ("us", repr(timing.device_us)),
            ("call_us", repr(timing.call_us)),
            ("base", timing.baseline),
            ("base_us", repr(timing.baseline_us)),
        ]
    pairs += [("why", why)] if why else []
    if verdict.resources:
        res = verdict.resources
        pairs.append(("res", f"{res.registers}r,{res.smem_bytes}s,{res.spill_bytes}b"))
    pairs += [("code", verdict.code)]
    if verdict.seconds:
        pairs.append(("s", ",".join(f"{phase}:{seconds!r}" for phase, seconds in verdict.seconds.items())))
    pairs += [
        ("judge", str(verdict.judge)),
        ("at", str(verdict.at)),
        ("runner", verdict.runner),
        ("commit", verdict.commit),
        ("kernel", verdict.kernel_tree),
        ("task", verdict.task),
    ]
    return " ".join(words + [f"{key}={_quote(value)}" for key, value in pairs])


def _timing(pairs: dict[str, str]) -> Timing:
    low, _, high = pairs["ci"].partition("..")
    return Timing(
        speedup=float(pairs["speedup"]),
        low=float(low),
        high=float(high),
        device_us=float(pairs["us"]),
        call_us=float(pairs["call_us"]),
        baseline=pairs["base"],
        baseline_us=float(pairs["base_us"]),
    )


def _resources(text: str) -> Resources:
    registers, smem, spill = text.split(",")
    return Resources(int(registers[:-1]), int(smem[:-1]), int(spill[:-1]))


def _quote(value: str) -> str:
    return value if _BARE.fullmatch(value) else json.dumps(value, ensure_ascii=False)


def _hash(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:12]
