"""What to ask Nsight Compute for. One metric that a chip does not have ends the whole run (exit code 9), so the
list is made for the chip; names were checked with `ncu --query-metrics --chips ad102,gh100` (2025.3).
"""

from __future__ import annotations

# Sections that hold what --metrics cannot name: waves, block limits, theoretical occupancy.
SECTIONS = ("LaunchStats", "Occupancy")

_STALLS = (
    "barrier branch_resolving dispatch_stall drain imc_miss lg_throttle long_scoreboard math_pipe_throttle membar "
    "mio_throttle misc no_instruction not_selected selected short_scoreboard sleeping tex_throttle wait"
).split()

# Each with the question that it answers.
_COMMON: dict[str, str] = {
    "gpu__time_duration.sum": "how long did it take (at the profiler's clocks: never a timing)",
    "dram__bytes_read.sum": "how many bytes came from device memory",
    "dram__bytes_write.sum": "how many went there",
    "dram__bytes.sum": "both; over the compulsory bytes it tells what was moved twice",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "is device memory the limit",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "are the SMs the limit",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": "is any part of the memory path the limit",
    "l1tex__t_sector_hit_rate.pct": "does L1 help",
    "lts__t_sector_hit_rate.pct": "does L2 help",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "sectors per request of loads: coalescing and width",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": "(its denominator)",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": "the same of stores",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": "(its denominator)",
    "sm__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts.sum": "is cp.async in use",
    "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access.sum": "cp.async through L1 (.ca)",
    "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum": "cp.async past L1 (.cg, 16 bytes)",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": "bank conflicts of shared loads",
    "smsp__sass_inst_executed_op_shared_ld.sum": "(their requests)",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum": "bank conflicts of shared stores",
    "smsp__sass_inst_executed_op_shared_st.sum": "(their requests)",
    "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum": "bank conflicts of ldmatrix: swizzle",
    "smsp__sass_inst_executed_op_ldsm.sum": "(its requests); 0 in a tensor-core kernel is worth a question",
    "smsp__sass_inst_executed_op_local_ld.sum": "local memory: spills, or arrays indexed at run time",
    "smsp__sass_inst_executed_op_local_st.sum": "(its stores)",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum": "what local loads cost",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum": "what local stores cost",
    "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active": "integer and logic pipe: address arithmetic",
    "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active": "float pipe",
    "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active": "load and store pipe",
    "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active": "exp, rsqrt, conversions",
    "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active": "a double by mistake (1/64 rate on sm_89)",
    "sm__inst_executed_pipe_uniform.avg.pct_of_peak_sustained_active": "uniform datapath",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active": "tensor cores",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "achieved occupancy",
    "smsp__warps_active.avg.per_cycle_active": "warps that a scheduler can choose from",
    "smsp__warps_eligible.avg.per_cycle_active": "those of them that are ready",
    "smsp__issue_active.avg.pct_of_peak_sustained_active": "share of cycles that issue an instruction",
    "launch__registers_per_thread": "what limits occupancy",
    "launch__shared_mem_per_block_static": "(shared memory known at compile time)",
    "launch__shared_mem_per_block_dynamic": "(shared memory chosen at launch)",
    **{
        f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio": f"time lost to {reason}"
        for reason in _STALLS
    },
}

# gh100 only: wgmma and the tensor memory accelerator do not exist on sm_89.
_HOPPER: dict[str, str] = {
    "smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio": "time lost waiting for wgmma",
    "sm__inst_executed_pipe_tma.avg.pct_of_peak_sustained_active": "tensor memory accelerator",
}


def metrics_for(sm: int) -> dict[str, str]:
    """Metric names to ask for on a compute capability (89, 90), each with the question that it answers."""
    return {**_COMMON, **(_HOPPER if sm == 90 else {})}
