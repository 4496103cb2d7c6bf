"""The questions that we ask of a profile, and the names under which Nsight Compute answers them.

One question has several names: the metric's, its older or newer form, and the display name of the details page.
An answer in a unit that does not fit the question is no answer.
"""

from __future__ import annotations

import re

from .ncu_records import Profile

# What a report should always hold; `explain-profile` lists the absent ones under `missing`.
HEADLINE = (
    "duration_ns",
    "dram_bytes",
    "dram_throughput_pct",
    "sm_throughput_pct",
    "achieved_occupancy_pct",
    "registers_per_thread",
    "static_smem_bytes",
)

_LSU = "l1tex__t_{}_pipe_lsu_mem_{}_op_{}.sum"
_SASS = "smsp__sass_inst_executed_op_{}.sum"
_BANK = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"

# field: (unit, names); the first name that is there in that unit counts. "" takes counts of whatever noun.
FIELDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "duration_ns": ("ns", ("gpu__time_duration.sum", "gpu__time_duration.avg", "Duration")),
    "dram_bytes": ("byte", ("dram__bytes.sum",)),
    "dram_read_bytes": ("byte", ("dram__bytes_read.sum",)),
    "dram_write_bytes": ("byte", ("dram__bytes_write.sum",)),
    "dram_throughput_pct": (
        "%",
        (
            "dram__throughput.avg.pct_of_peak_sustained_elapsed",
            "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
            "DRAM Throughput",
            "SOL DRAM",
        ),
    ),
    "sm_throughput_pct": (
        "%",
        (
            "sm__throughput.avg.pct_of_peak_sustained_elapsed",
            "Compute (SM) Throughput",
            "SM Throughput",
            "SM [%]",
            "SOL SM",
        ),
    ),
    "memory_throughput_pct": (
        "%",
        (
            "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
            "Memory Throughput",
            "Memory [%]",
            "SOL Memory",
        ),
    ),
    "achieved_occupancy_pct": (
        "%",
        ("sm__warps_active.avg.pct_of_peak_sustained_active", "Achieved Occupancy"),
    ),
    "theoretical_occupancy_pct": ("%", ("sm__maximum_warps_per_active_cycle_pct", "Theoretical Occupancy")),
    "registers_per_thread": ("", ("launch__registers_per_thread", "Registers Per Thread")),
    "static_smem_bytes": ("byte", ("launch__shared_mem_per_block_static", "Static Shared Memory Per Block")),
    "dynamic_smem_bytes": (
        "byte",
        ("launch__shared_mem_per_block_dynamic", "Dynamic Shared Memory Per Block"),
    ),
    "l1_hit_pct": ("%", ("l1tex__t_sector_hit_rate.pct", "L1/TEX Hit Rate")),
    "l2_hit_pct": ("%", ("lts__t_sector_hit_rate.pct", "L2 Hit Rate")),
    "global_load_sectors": ("", (_LSU.format("sectors", "global", "ld"),)),
    "global_load_requests": ("", (_LSU.format("requests", "global", "ld"),)),
    "global_store_sectors": ("", (_LSU.format("sectors", "global", "st"),)),
    "global_store_requests": ("", (_LSU.format("requests", "global", "st"),)),
    "cp_async_requests": ("", ("sm__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts.sum",)),
    "cp_async_access_sectors": (
        "",
        ("sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access.sum",),
    ),
    "cp_async_bypass_sectors": (
        "",
        ("sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum",),
    ),
    "shared_load_conflicts": ("", (_BANK.format("ld"),)),
    "shared_load_requests": ("", (_SASS.format("shared_ld"), "sass__inst_executed_shared_loads")),
    "shared_store_conflicts": ("", (_BANK.format("st"),)),
    "shared_store_requests": ("", (_SASS.format("shared_st"), "sass__inst_executed_shared_stores")),
    "ldmatrix_conflicts": ("", ("smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum",)),
    "ldmatrix_requests": ("", (_SASS.format("ldsm"),)),
    "local_load_sectors": ("", (_LSU.format("sectors", "local", "ld"),)),
    "local_store_sectors": ("", (_LSU.format("sectors", "local", "st"),)),
    "local_loads": ("", (_SASS.format("local_ld"), "sass__inst_executed_local_loads")),
    "local_stores": ("", (_SASS.format("local_st"), "sass__inst_executed_local_stores")),
    "local_spill_requests": ("", ("derived__local_spilling_requests", "Local Memory Spilling Requests")),
    "eligible_warps": ("", ("smsp__warps_eligible.avg.per_cycle_active", "Eligible Warps Per Scheduler")),
    "active_warps": ("", ("smsp__warps_active.avg.per_cycle_active", "Active Warps Per Scheduler")),
    "issue_pct": ("%", ("smsp__issue_active.avg.pct_of_peak_sustained_active", "One or More Eligible")),
    "issue_per_cycle": ("", ("smsp__issue_active.avg.per_cycle_active", "Issued Warp Per Scheduler")),
    "waves": ("", ("launch__waves_per_multiprocessor", "Waves Per SM")),
    "limit_blocks": ("", ("launch__occupancy_limit_blocks", "Block Limit SM")),
    "limit_registers": ("", ("launch__occupancy_limit_registers", "Block Limit Registers")),
    "limit_shared_mem": ("", ("launch__occupancy_limit_shared_mem", "Block Limit Shared Mem")),
    "limit_warps": ("", ("launch__occupancy_limit_warps", "Block Limit Warps")),
    "limit_barriers": ("", ("launch__occupancy_limit_barriers", "Block Limit Barriers")),
}

_STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+?)_per_issue_active\.ratio|Stall (.+)|(Selected)")
_SAMPLED = re.compile(r"smsp__pcsamp_warps_issue_stalled_(\w+?)(?<!_not_issued)")
_PIPE = re.compile(
    r"sm__(?:inst_executed_pipe_(\w+?)|pipe_(\w+?)_cycles_active)\.avg\.pct_of_peak_sustained_active"
)
# Parts of another pipe, or counters of one sort of instruction in it.
_PART = re.compile(r"_(op|pred|type|cmd|mem|ops)_|_realtime|_v2|fmaheavy|fmalite|_op$")


def get(profile: Profile, name: str) -> float | None:
    """The answer to one of `FIELDS` in base units; None where the report has none."""
    unit, names = FIELDS[name]
    for metric in names:
        for key in (metric, f"{metric} [{unit}]"):
            reading = profile.metrics.get(key)
            if reading and _fits(reading.unit, unit):
                return reading.value
    return None


def _fits(unit: str, wanted: str) -> bool:
    return unit.partition("/")[0] == wanted if wanted == "byte" else not wanted or unit == wanted


def stalls(profile: Profile) -> dict[str, float]:
    """Percent of a warp's time between two instructions, by reason ("long_scoreboard"); selected is issuing."""
    for pattern in (_STALL, _SAMPLED):
        found: dict[str, float] = {}
        for metric, reading in profile.metrics.items():
            match = pattern.fullmatch(metric)
            if match:
                reason = next(part for part in match.groups() if part)
                found.setdefault(reason.strip().lower().replace(" ", "_"), reading.value)
        total = sum(found.values())
        if total > 0 and "selected" in found:  # without it the sum is not the whole
            return {reason: 100 * value / total for reason, value in found.items()}
    return {}


def pipes(profile: Profile) -> dict[str, float]:
    """Percent of peak by pipe ("tensor", "fma", "lsu"), the greater of instructions and busy cycles."""
    found: dict[str, float] = {}
    for metric, reading in profile.metrics.items():
        match = _PIPE.fullmatch(metric)
        if match and reading.unit == "%" and not _PART.search(match[1] or match[2]):
            name = match[1] or match[2]
            found[name] = max(found.get(name, 0.0), reading.value)
    return found
