"""A profile as the few lines that help a model, with the parent's numbers in brackets where they differ.

Only facts whose metrics are there are said: an absent line means "not measured".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil
from typing import NamedTuple

from .ncu_fields import get, pipes, stalls
from .ncu_names import short_name
from .ncu_records import Profile

_TOP_STALLS, _TOP_PIPES = 3, 4
_TINY_PCT = 0.05

# What a warp waits for, in the words of the kernel's author.
_WAITS = {
    "barrier": "__syncthreads",
    "branch_resolving": "a branch target",
    "dispatch_stall": "the dispatcher",
    "drain": "stores to drain at exit",
    "gmma": "wgmma",
    "imc_miss": "constant cache",
    "lg_throttle": "queue of global and local accesses full",
    "long_scoreboard": "data from global or local memory",
    "math_pipe_throttle": "a busy arithmetic pipe",
    "membar": "a memory fence",
    "mio_throttle": "queue of shared memory and special instructions full",
    "no_instruction": "instruction fetch",
    "short_scoreboard": "data from shared memory or a special function",
    "sleeping": "nanosleep",
    "tex_throttle": "texture queue full",
    "wait": "a fixed latency between dependent instructions",
}
_LIMITS = {
    "limit_registers": "registers",
    "limit_shared_mem": "shared memory",
    "limit_warps": "warps (block size)",
    "limit_blocks": "blocks per SM",
    "limit_barriers": "barriers",
}


class _Fact(NamedTuple):
    key: str  # finds the same fact in the parent
    value: str
    before: str = ""  # words around the value, not repeated for the parent
    after: str = ""

    def say(self, old: str | None) -> str:
        was = f" (was {old})" if old is not None and old != self.value else ""
        return f"{self.before}{self.value}{was}{self.after}"


_Line = Callable[[Profile, int | None], Iterator[_Fact]]


def digest(profile: Profile, *, parent: Profile | None = None, compulsory_bytes: int | None = None) -> str:
    """At most 25 lines; `compulsory_bytes` is what the task has to read and write once."""
    lines = [_title(profile, with_parent=parent is not None)]
    for name, line in _LINES:
        old = {fact.key: fact.value for fact in line(parent, compulsory_bytes)} if parent else {}
        facts = [fact.say(old.get(fact.key)) for fact in line(profile, compulsory_bytes)]
        if facts:
            lines.append(f"{name}: {', '.join(facts)}{_change(profile, parent) if name == 'time' else ''}")
    return "\n".join(lines)


def _title(profile: Profile, *, with_parent: bool) -> str:
    shape = f", grid {profile.grid} x block {profile.block}" if profile.grid and profile.block else ""
    launches = f", over {profile.launches} launches" if profile.launches > 1 else ""
    legend = '; "was" is the parent' if with_parent else ""
    return f"{short_name(profile.kernel)}{shape}{launches}{legend}"


def _change(profile: Profile, parent: Profile | None) -> str:
    new, old = get(profile, "duration_ns"), get(parent, "duration_ns") if parent else None
    return f", {100 * (new / old - 1):+.1f} %" if new and old else ""


def _time(profile: Profile, _: int | None) -> Iterator[_Fact]:
    value = get(profile, "duration_ns")
    if value is not None:
        yield _Fact("time", time_text(value))


def _dram(profile: Profile, compulsory: int | None) -> Iterator[_Fact]:
    read, written = get(profile, "dram_read_bytes"), get(profile, "dram_write_bytes")
    total = get(profile, "dram_bytes")
    if total is None and read is not None and written is not None:
        total = read + written
    if total is not None and compulsory:
        yield _Fact("ratio", f"{total / compulsory:.2f}x", after=f" the compulsory {bytes_text(compulsory)}")
    for key, value, word in (
        ("total", total, "moved"),
        ("read", read, "read"),
        ("write", written, "written"),
    ):
        if value is not None:
            yield _Fact(key, bytes_text(value), after=f" {word}")


def _throughput(profile: Profile, _: int | None) -> Iterator[_Fact]:
    yield from _percents(
        profile, sm_throughput_pct="SM", memory_throughput_pct="memory", dram_throughput_pct="DRAM"
    )


def _caches(profile: Profile, _: int | None) -> Iterator[_Fact]:
    yield from _percents(profile, l1_hit_pct="L1", l2_hit_pct="L2")


def _percents(profile: Profile, **names: str) -> Iterator[_Fact]:
    for name, word in names.items():
        value = get(profile, name)
        if value is not None:
            yield _Fact(name, f"{value:.1f} %", f"{word} ")


def _global(profile: Profile, _: int | None) -> Iterator[_Fact]:
    for word in ("load", "store"):
        ratio = _ratio(profile, f"global_{word}_sectors", f"global_{word}_requests")
        if ratio is not None:
            yield _Fact(word, f"{ratio:.1f}", after=f" per {word}")
    requests = get(profile, "cp_async_requests")
    access, bypass = get(profile, "cp_async_access_sectors"), get(profile, "cp_async_bypass_sectors")
    if requests and access is not None and bypass is not None:
        yield _Fact("cp.async", f"{(access + bypass) / requests:.1f}", after=" per cp.async")


def _ratio(profile: Profile, above: str, below: str) -> float | None:
    numerator, denominator = get(profile, above), get(profile, below)
    return numerator / denominator if numerator is not None and denominator else None


def _banks(profile: Profile, _: int | None) -> Iterator[_Fact]:
    names = (("load", "shared_load"), ("store", "shared_store"), ("ldmatrix", "ldmatrix"))
    for word, name in names:
        ratio = _ratio(profile, f"{name}_conflicts", f"{name}_requests")
        if ratio is not None:
            yield _Fact(word, f"{ratio:.2f}", after=f" per {word}")


def _local(profile: Profile, _: int | None) -> Iterator[_Fact]:
    loads, stores = get(profile, "local_loads"), get(profile, "local_stores")
    sectors = [get(profile, "local_load_sectors"), get(profile, "local_store_sectors")]
    spills = get(profile, "local_spill_requests")
    if loads is not None and stores is not None:
        yield _Fact(
            "use", f"{count_text(loads)} loads, {count_text(stores)} stores" if loads + stores else "none"
        )
    if any(sectors):
        yield _Fact("bytes", bytes_text(32 * sum(one or 0 for one in sectors)))
    if spills is not None and (spills or loads is None):
        yield _Fact("spills", f"{count_text(spills)} spill requests" if spills else "no spills")


def _pipes(profile: Profile, _: int | None) -> Iterator[_Fact]:
    found = sorted(pipes(profile).items(), key=lambda item: -item[1])
    shown = dict(item for item in found[:_TOP_PIPES] if item[1] >= _TINY_PCT)
    # An idle tensor pipe is a finding in itself.
    shown.update((name, value) for name, value in found if name == "tensor")
    for name, value in shown.items():
        yield _Fact(name, f"{value:.1f} %", f"{name} ")


def _schedulers(profile: Profile, _: int | None) -> Iterator[_Fact]:
    issue, per_cycle = get(profile, "issue_pct"), get(profile, "issue_per_cycle")
    issue = 100 * per_cycle if issue is None and per_cycle is not None else issue
    eligible, active = get(profile, "eligible_warps"), get(profile, "active_warps")
    if issue is not None:
        yield _Fact("issue", f"{issue:.1f} %", "an instruction in ", " of cycles")
    if eligible is not None:
        yield _Fact("eligible", f"{eligible:.2f}", after=" eligible warps")
    if active is not None:
        yield _Fact("active", f"{active:.2f}", after=" active warps")


def _stalls(profile: Profile, _: int | None) -> Iterator[_Fact]:
    # A warp that is issuing or not chosen is ready: nothing is lost to these two.
    ready = ("selected", "not_selected")
    found = {
        name: value for name, value in stalls(profile).items() if name not in ready and value >= _TINY_PCT
    }
    for name, value in sorted(found.items(), key=lambda item: -item[1])[:_TOP_STALLS]:
        waits = _WAITS.get(name)
        yield _Fact(name, f"{value:.0f} %", f"{name} ", f" ({waits})" if waits else "")


def _waves(profile: Profile, _: int | None) -> Iterator[_Fact]:
    waves = get(profile, "waves")
    if waves is None:
        return
    yield _Fact("waves", f"{waves:.2f}", after=" per SM")
    if 0 < waves < 1:
        yield _Fact("filled", f"{100 * waves:.0f} %", "only ", " of the block slots are used")
    elif waves > 1 and ceil(waves) - waves >= 0.01:
        yield _Fact("tail", f"{100 * (waves % 1):.0f} %", "the last wave is ", " full")
        yield _Fact("loss", f"{100 * (1 - waves / ceil(waves)):.0f} %", "up to ", " lost to it")


def _occupancy(profile: Profile, _: int | None) -> Iterator[_Fact]:
    yield from _percents(profile, achieved_occupancy_pct="achieved", theoretical_occupancy_pct="theoretical")
    limits = {word: value for name, word in _LIMITS.items() if (value := get(profile, name))}
    if limits:
        least = min(limits.values())
        names = " and ".join(word for word, value in limits.items() if value == least)
        yield _Fact("limit", f"{least:.0f} blocks per SM by {names}", "limited to ")


def _resources(profile: Profile, _: int | None) -> Iterator[_Fact]:
    registers = get(profile, "registers_per_thread")
    if registers is not None:
        yield _Fact("registers", f"{registers:.0f}", after=" registers a thread")
    for name, word in (("static_smem_bytes", "static"), ("dynamic_smem_bytes", "dynamic")):
        value = get(profile, name)
        if value is not None:
            yield _Fact(name, f"{value:.0f}", after=f" bytes of {word} shared memory")


_LINES: tuple[tuple[str, _Line], ...] = (
    ("time", _time),
    ("device memory", _dram),
    ("of peak", _throughput),
    ("cache hits", _caches),
    ("32-byte sectors per request (a full warp needs 4 for 4-byte accesses, 16 for 16-byte)", _global),
    ("shared-memory bank conflicts", _banks),
    ("local memory", _local),
    ("pipes, share of peak", _pipes),
    ("each scheduler issues", _schedulers),
    ("stalls, share of a warp's time", _stalls),
    ("waves", _waves),
    ("occupancy", _occupancy),
    ("each block", _resources),
)


def bytes_text(value: float) -> str:
    """`1.50 GB`, decimal prefixes as ncu uses them."""
    return _scaled(value, ("B", "kB", "MB", "GB", "TB"))


def time_text(value_ns: float) -> str:
    """`151.94 us`."""
    return _scaled(value_ns, ("ns", "us", "ms", "s"))


def count_text(value: float) -> str:
    """`12.30 M`."""
    return _scaled(value, ("", "k", "M", "G", "T")).rstrip()


def _scaled(value: float, units: tuple[str, ...]) -> str:
    power = 0
    while abs(value) >= 1000 and power < len(units) - 1:
        value, power = value / 1000, power + 1
    return f"{value:.2f} {units[power]}" if power else f"{value:.0f} {units[0]}"
