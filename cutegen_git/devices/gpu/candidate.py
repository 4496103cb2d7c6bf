"""A candidate's library behind the runner: packs Args, gives it workspace and packed weights, and calls it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from cutegen_git.core.shapes import ITEM_BYTES
from cutegen_git.judge.protocol import Call, FieldKind, Layout, Trouble
from cutegen_git.words.task import Task
from cutegen_git.words.verdict import Outcome

from .child import Child
from .memory import GpuBuffer, Memory

CALL_LIMIT_S = 10.0  # one launch; judged kernels take milliseconds
HOLD_LIMIT_NS = 1_000_000_000  # a launch that synchronises gets stuck behind the hold for this long
WORKSPACE_LIMIT_BYTES = 16 << 30
_STUCK = "launch() waits for its own stream (it synchronises, copies to the host or allocates); it must only enqueue work"


@dataclass
class GpuCandidate:
    """Implements judge.protocol.Candidate."""

    child: Child
    memory: Memory
    layout: Layout
    task: Task
    exports: frozenset[str]
    seat: int  # two candidates may be alive at once: each has its own workspace and packed weights
    _mapped: set[int] = field(default_factory=set)
    _ready: set[tuple[tuple[str, int], ...]] = field(default_factory=set)  # axes whose setup has run
    _extra: dict[FieldKind, GpuBuffer] = field(default_factory=dict)

    def __enter__(self) -> GpuCandidate:
        return self

    def __exit__(self, *_: object) -> None:
        self.child.close()

    def call(self, call: Call) -> Trouble | None:
        trouble = self._prepare(call)
        return trouble or self._ask("launch")

    def call_held(self, call: Call, look: Callable[[], str]) -> Trouble | None:
        reply = self._say(f"held {HOLD_LIMIT_NS}", CALL_LIMIT_S)
        if isinstance(reply, Trouble):
            return reply
        if reply[:1] == ["expired"]:
            return Trouble(Outcome.WORK_OUTSIDE_STREAM, _STUCK)
        early = look()
        trouble = self._ask("release")
        if trouble or not early:
            return trouble
        return Trouble(Outcome.WORK_OUTSIDE_STREAM, early)

    def time(self, call: Call, count: int) -> tuple[int, ...] | Trouble:
        reply = self._say(f"time {count} {HOLD_LIMIT_NS}", CALL_LIMIT_S + 5)
        if isinstance(reply, Trouble):
            return reply
        if reply[:1] == ["expired"]:
            return Trouble(Outcome.WORK_OUTSIDE_STREAM, _STUCK)
        return _numbers(reply[1:], count)

    def time_calls(self, call: Call, count: int) -> tuple[int, ...] | Trouble:
        reply = self._say(f"calls {count}", CALL_LIMIT_S + 5)
        return reply if isinstance(reply, Trouble) else _numbers(reply, count)

    def batch_s(self, call: Call, count: int) -> float | Trouble:
        start = time.perf_counter()
        reply = self._say(f"batch {count}", CALL_LIMIT_S + 5)
        return reply if isinstance(reply, Trouble) else time.perf_counter() - start

    def damage(self) -> str:
        for kind, buffer in self._extra.items():
            if said := buffer.damage():
                return f"{kind.value}: {said}"
        return ""

    def advice(self) -> Sequence[str]:
        return ()  # a GPU keeps what it saw to itself

    def _prepare(self, call: Call) -> Trouble | None:
        """Everything before launch, in the order that the ABI promises."""
        self._extra.clear()
        trouble = self._send(call)
        if trouble is None and "workspace_bytes" in self.exports:
            trouble = self._give_workspace(call)
        key = tuple(sorted(call.axes.items()))
        if trouble is None and "setup" in self.exports and key not in self._ready:
            trouble = self._ask("setup")
            self._ready.add(key)
        if trouble is None and "prepare" in self.exports:
            trouble = self._pack_weights(call)
        return trouble

    def _give_workspace(self, call: Call) -> Trouble | None:
        reply = self._say("workspace", CALL_LIMIT_S)
        if isinstance(reply, Trouble):
            return reply
        size = _number(reply)
        if not 0 <= size <= WORKSPACE_LIMIT_BYTES:
            return Trouble(Outcome.LAUNCH_FAILED, f"workspace_bytes() asks for {size} bytes")
        if size:
            self._extra[FieldKind.WORKSPACE] = self.memory.room(f"workspace {self.seat}", size)
        return self._send(call)

    def _pack_weights(self, call: Call) -> Trouble | None:
        """Room for twice the constant tensors and 1 MiB: the ABI has no function that says how much."""
        weights = [spec for spec in self.task.signature.tensors() if spec.constant]
        size = sum(call.buffers[spec.name].tensor.numel() * ITEM_BYTES[spec.dtype] for spec in weights)
        buffer = self._extra[FieldKind.PACKED] = self.memory.room(f"packed {self.seat}", 2 * size + (1 << 20))
        trouble = self._send(call)
        return trouble or self._ask(f"prepare {buffer.arena.slot} {buffer.start}")

    def _send(self, call: Call) -> Trouble | None:
        """Gives the process this call's Args."""
        pointers = []
        for member in self.layout.pointers():
            buffer = self._extra.get(member.kind) or _gpu(call.buffers).get(member.name)
            if buffer is None:
                continue
            if trouble := self._map(buffer):
                return trouble
            pointers.append(f"{member.offset} {buffer.arena.slot} {buffer.start}")
        data = self.layout.pack(call.axes, call.scalars).hex()
        return self._ask(f"args {data} {' '.join(pointers)}")

    def _map(self, buffer: GpuBuffer) -> Trouble | None:
        if buffer.arena.slot in self._mapped:
            return None
        self._mapped.add(buffer.arena.slot)
        return self._ask(f"map {buffer.arena.slot} {buffer.arena.handle.hex()}")

    def _say(self, line: str, limit_s: float) -> list[str] | Trouble:
        self.memory.settle()
        return self.child.ask(line, limit_s)

    def _ask(self, line: str) -> Trouble | None:
        reply = self._say(line, CALL_LIMIT_S)
        return reply if isinstance(reply, Trouble) else None


def _gpu(buffers: Mapping[str, object]) -> dict[str, GpuBuffer]:
    return {name: buffer for name, buffer in buffers.items() if isinstance(buffer, GpuBuffer)}


def _number(words: list[str]) -> int:
    return int(words[0]) if words and words[0].isdigit() else -1


def _numbers(words: list[str], count: int) -> tuple[int, ...] | Trouble:
    """Times that a process reports. What cannot be times is the candidate's doing."""
    times = tuple(int(word) for word in words if word.isdigit())
    if len(times) != count or min(times) <= 0:
        return Trouble(Outcome.TIMING_SUSPICIOUS, "the process reports times that cannot be")
    return times
