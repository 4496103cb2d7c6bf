"""What the emulator saw in one kernel, as records, and as the few lines that a model reads."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

ORDER = (
    "oob-global", "oob-shared", "oob-wild", "misaligned", "barrier-divergence", "deadlock", "launch-limit",
    "race-shared", "pending-shared", "uninit-shared", "race-global", "uninit-global",
)  # fmt: skip
ADVICE = {
    "oob-global": "out of bounds of a tensor",
    "oob-shared": "out of bounds of shared memory",
    "oob-wild": "stray pointer",
    "misaligned": "misaligned access",
    "barrier-divergence": "threads of one warp wait at different barriers",
    "barrier-exited": "some threads had returned before a barrier",
    "deadlock": "no thread can go on",
    "launch-limit": "launch refused",
    "race-shared": "data race in shared memory (a barrier is missing)",
    "race-global": "data race in device memory",
    "pending-shared": "data of a cp.async touched before its wait",
    "uninit-shared": "shared memory read before it was written",
    "uninit-global": "device memory read before it was written",
    "input-written": "an input is written",
    "host-access": "host code touches device memory",
    "warp-exited": "a mask names lanes that have returned",
    "order-dependent": "the result depends on the order of threads",
}


@dataclass(frozen=True, slots=True)
class Report:
    """One kind of event at one place, counted."""

    kind: str  # a key of ADVICE, or another short name
    severity: str  # "veto": the kernel is wrong for certain; "finding": advice
    kernel: str  # as it was launched
    file: str  # the user's file, empty where unknown
    line: int  # 0 where unknown
    block: tuple[int, int, int]  # of the first event
    thread: tuple[int, int, int]
    buffer: str  # name of the tensor or shared variable, or empty
    offset: int  # bytes from the start of the buffer; -1 where it has no meaning
    count: int  # events in all, over all orders
    detail: str  # one sentence
    other_line: int = 0  # of the access that this one races with
    orders: tuple[str, ...] = ()  # in which orders it was seen
    callers: tuple[int, ...] = ()  # lines of the calls that were inlined, from inside out

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def from_json(data: Mapping[str, Any]) -> Report:
    """The record that `to_json` wrote."""
    known: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
    return Report(**known)


# ---- places in the user's code ----------------------------------------------------------------------------------------


Frames = tuple[tuple[str, int], ...]


def places(program: Path, addresses: Iterable[int], user_files: Sequence[str]) -> dict[int, Frames]:
    """The user's (file, line) frames behind each return address, innermost first; inlined calls are frames too."""
    wanted = sorted({a for a in addresses if a})
    if not wanted:
        return {}
    command = ["addr2line", "-a", "-i", "-e", str(program), *(hex(a - 1) for a in wanted)]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found: dict[int, Frames] = {}
    address = 0
    for line in text.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            address = int(line, 16) + 1
            continue
        path, _, number = line.rpartition(":")
        name, digits = user_name(path, user_files), re.match(r"\d*", number)
        if name and digits:
            found[address] = (*found.get(address, ()), (name, int(digits.group() or 0)))
    return found


def user_name(path: str, user_files: Sequence[str]) -> str:
    """The user's name for a compiler's path, or nothing."""
    clean = str(PurePosixPath(path))
    for name in user_files:
        if clean == name or clean.endswith(f"/src/{name}"):
            return name
    return ""


def located(raw: Mapping[str, Any], where: Mapping[int, Frames], order: str) -> Report:
    """The record for one line of the program's output."""
    found = [frame for address in (raw["pc"], *raw["stack"]) for frame in where.get(address, ())]
    frames = found or [("", 0)]
    (file, line), *outer = frames
    others = where.get(raw["pc2"], ()) or (("", 0),)
    return Report(
        kind=raw["kind"],
        severity=raw["severity"],
        kernel=raw["kernel"],
        file=file,
        line=line,
        block=tuple(raw["block"]),
        thread=tuple(raw["thread"]),
        buffer=raw["buffer"],
        offset=raw["offset"],
        count=raw["count"],
        detail=raw["detail"],
        other_line=others[0][1],
        callers=tuple(n for _, n in outer if n != line)[:4],
        orders=(order,),
    )


def merged(reports: Iterable[Report]) -> tuple[Report, ...]:
    """One record per kind, place and buffer, however many orders and inlined copies showed it; the worst first."""
    table: dict[tuple[str, str, int, tuple[int, ...], str], Report] = {}
    for report in reports:
        key = (report.kind, report.file, report.line, report.callers, report.buffer)
        first = table.get(key)
        if first is None:
            table[key] = report
            continue
        severity = "veto" if "veto" in (first.severity, report.severity) else "finding"
        orders = (*first.orders, *(o for o in report.orders if o not in first.orders))
        table[key] = replace(first, count=first.count + report.count, severity=severity, orders=orders)
    return tuple(sorted(table.values(), key=rank))


def rank(report: Report) -> tuple[int, int, str, int]:
    known = ORDER.index(report.kind) if report.kind in ORDER else len(ORDER)
    return (0 if report.severity == "veto" else 1, known, report.file, report.line)


# ---- for the model ----------------------------------------------------------------------------------------------------


def feedback(reports: Sequence[Report], *, most: int = 6) -> str:
    """A few lines: what, where, who. Empty where there is nothing to say."""
    lines = [sentence(report) for report in sorted(reports, key=rank)[:most]]
    if len(reports) > most:
        lines.append(f"... and {len(reports) - most} more")
    return "\n".join(lines)


def sentence(report: Report) -> str:
    """One report in one line."""
    where = f"{report.file}:{report.line}" if report.line else report.kernel or "launch"
    what = ADVICE.get(report.kind, report.kind)
    parts = [f"{where}: {what}"]
    if report.buffer:
        parts.append(f"{report.buffer}, byte {report.offset}" if report.offset != -1 else report.buffer)
    parts.append(report.detail)
    if report.callers:
        parts.append(f"called from line {report.callers[0]}")
    if report.other_line and report.other_line != report.line:
        parts.append(f"the other access is at line {report.other_line}")
    block, thread = (",".join(map(str, v)) for v in (report.block, report.thread))
    times = f", {report.count} times" if report.count > 1 else ""
    return f"{'; '.join(parts)} (block {block}, thread {thread}{times})"
