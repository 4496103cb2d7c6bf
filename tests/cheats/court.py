"""Judges exhibits with the real session on one device, one session a task, without the guard: each line of defence alone."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from cheats.manifest import Exhibit
from cheats.tasks import TASKS

from cutegen_git.hands import build as builder
from cutegen_git.hands.build import Build, Library
from cutegen_git.hands.cache import Cache
from cutegen_git.hands.toolchain import Toolchain
from cutegen_git.judge import reference
from cutegen_git.judge.protocol import DeviceHandle, Trouble
from cutegen_git.judge.session import Session
from cutegen_git.words.verdict import Outcome


@dataclass(frozen=True, slots=True)
class Row:
    """One exhibit as it was judged."""

    exhibit: Exhibit
    found: Outcome
    wanted: tuple[Outcome, ...]
    why: str
    seconds: float
    speedup: float | None = None

    @property
    def is_right(self) -> bool:
        return self.found in self.wanted

    def cells(self) -> tuple[str, ...]:
        speed = f"{self.speedup:.2f}x" if self.speedup else ""
        return (
            "" if self.is_right else "WRONG", self.exhibit.name, self.exhibit.task, self.found.value, speed,
            f"{self.seconds:.1f} s", " ".join(self.why.split())[:110],
        )  # fmt: skip


@dataclass
class Court:
    """Sessions by task on one device, and what they said."""

    device: DeviceHandle
    make: Callable[[Exhibit], Build | Trouble]
    cache: Path
    sessions: dict[str, Session] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)

    def session(self, task: str) -> Session:
        if task not in self.sessions:
            described, form = TASKS[task]
            loaded = reference.load(form, described)
            made = Session(described, loaded, self.device, cache_dir=self.cache, say=lambda _: None)
            self.sessions[task] = made
        return self.sessions[task]

    def judge(self, exhibit: Exhibit, wanted: tuple[Outcome, ...]) -> Row:
        started = time.monotonic()
        made = self.make(exhibit)
        if isinstance(made, Trouble):
            row = Row(exhibit, made.outcome, wanted, made.why, time.monotonic() - started)
        else:
            found = self.session(exhibit.task).judge(
                made, commit=exhibit.name, secret=secrets.token_bytes(16)
            )
            speedup = found.timing.speedup if found.timing else None
            row = Row(exhibit, found.outcome, wanted, found.why, time.monotonic() - started, speedup)
        self.rows.append(row)
        return row

    def table(self) -> str:
        """All rows so far, as markdown."""
        head = ("", "exhibit", "task", "outcome", "speed", "judging", "why")
        lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
        lines += [f"| {' | '.join(cell.replace('|', '/') for cell in row.cells())} |" for row in self.rows]
        right = sum(row.is_right for row in self.rows)
        return "\n".join((*lines, "", f"{right} of {len(self.rows)} as expected on {self.device.facts.name}"))


def built_side_by_side(
    exhibits: Iterable[Exhibit], tools: Toolchain, cache: Cache, sm: int | None, workers: int
) -> Mapping[str, Build]:
    """Every exhibit compiled by nvcc, by name."""

    def one(item: Exhibit) -> tuple[str, Build]:
        task, _ = TASKS[item.task]
        return item.name, builder.build(task, item.sources(), toolchain=tools, cache=cache, target_sm=sm)

    with ThreadPoolExecutor(max(1, workers)) as pool:
        return dict(pool.map(one, exhibits))


def or_trouble(built: Build) -> Build | Trouble:
    """The build, or its error as a judge says it."""
    errors = [line for line in built.log.splitlines() if "error" in line]
    return built if built.ok else Trouble(Outcome.BUILD_ERROR, (errors or [built.log])[0])


def unbuilt() -> Build:
    """What an emulator's build asks for and does not look into: one library, no static sizes."""
    return Build(True, (Library({}, Path("none"), (), ()),), "sm_89", "", 0, 0.0, False)
