"""The digest says what was measured, in few lines, and what changed; it is silent on all else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cutegen_git.core.feedback.ncu import SECTIONS, Profile, Reading, digest, explain, metrics_for
from cutegen_git.core.feedback.ncu_digest import bytes_text, count_text, time_text
from cutegen_git.core.feedback.ncu_fields import FIELDS, get, pipes, stalls

RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # shared machines are slow
CORPUS = Path(__file__).parents[1] / "corpus" / "G3"
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"


def full() -> Profile:
    result = explain((CORPUS / "03-raw-page-full-set" / "ncu.txt").read_text(), exit_code=0)
    assert isinstance(result, Profile)
    return result


def made(**metrics: Reading) -> Profile:
    return Profile("k(int)", 1, "", "", "", metrics)


def with_fields(**values: float) -> Profile:
    found = {FIELDS[name][1][0]: Reading(value, FIELDS[name][0]) for name, value in values.items()}
    return Profile("k(int)", 1, "", "", "", found)


def test_full_set_gives_every_line_of_the_contract() -> None:
    assert digest(full(), compulsory_bytes=50331648).splitlines() == [
        "gemm_ref, grid (256, 256, 1) x block (16, 16, 1)",
        "time: 21.96 ms",
        "device memory: 319.79x the compulsory 50.33 MB, 16.10 GB moved, 16.03 GB read, 69.68 MB written",
        "of peak: SM 84.2 %, memory 94.9 %, DRAM 15.2 %",
        "cache hits: L1 1.9 %, L2 41.0 %",
        "32-byte sectors per request (a full warp needs 4 for 4-byte accesses, 16 for 16-byte): "
        "4.0 per load, 4.0 per store",
        "shared-memory bank conflicts: 0.00 per load, 1.03 per store",
        "local memory: none",
        "pipes, share of peak: lsu 84.3 %, fma 11.7 %, adu 9.5 %, alu 2.7 %, tensor 0.0 %",
        "each scheduler issues: an instruction in 34.5 % of cycles, 2.11 eligible warps, 15.90 active warps",
        "stalls, share of a warp's time: "
        "mio_throttle 38 % (queue of shared memory and special instructions full), "
        "long_scoreboard 24 % (data from global or local memory), barrier 17 % (__syncthreads)",
        "waves: 62.06 per SM, the last wave is 6 % full, up to 1 % lost to it",
        "occupancy: achieved 99.4 %, theoretical 100.0 %, "
        "limited to 8 blocks per SM by registers and warps (block size)",
        "each block: 32 registers a thread, 2176 bytes of static shared memory, "
        "0 bytes of dynamic shared memory",
    ]


def test_change_against_the_parent_stands_beside_each_number() -> None:
    new = with_fields(duration_ns=80e3, dram_bytes=2e6, l2_hit_pct=50, limit_registers=4, waves=2.5)
    old = with_fields(duration_ns=100e3, dram_bytes=4e6, l2_hit_pct=50, limit_registers=3)
    text = digest(new, parent=old, compulsory_bytes=1_000_000)
    assert "time: 80.00 us (was 100.00 us), -20.0 %" in text
    assert "2.00x (was 4.00x) the compulsory 1.00 MB, 2.00 MB (was 4.00 MB) moved" in text
    assert "L2 50.0 %\n" in text
    assert "limited to 4 blocks per SM by registers (was 3 blocks per SM by registers)" in text
    assert "waves: 2.50 per SM, the last wave is 50 % full, up to 17 % lost to it" in text


def test_profile_without_metrics_is_one_line() -> None:
    assert digest(made()) == "k"
    assert digest(made(), parent=full(), compulsory_bytes=10).count("\n") == 0


def test_real_zero_is_said_and_a_missing_one_is_not() -> None:
    assert "SM 0.0 %" in digest(with_fields(sm_throughput_pct=0))
    assert digest(with_fields(dram_bytes=0)).endswith("0 B moved")
    assert "conflicts" not in digest(with_fields(shared_load_conflicts=7))
    assert "conflicts" not in digest(with_fields(shared_load_conflicts=0, shared_load_requests=0))


def test_read_and_written_bytes_stand_for_absent_total() -> None:
    text = digest(with_fields(dram_read_bytes=3e6, dram_write_bytes=1e6), compulsory_bytes=2_000_000)
    assert "2.00x the compulsory 2.00 MB" in text
    assert "compulsory" not in digest(with_fields(dram_read_bytes=3e6), compulsory_bytes=2_000_000)


def test_local_memory_is_counted_with_its_traffic() -> None:
    text = digest(
        with_fields(local_loads=1e6, local_stores=5e5, local_load_sectors=4e6, local_store_sectors=0)
    )
    assert "local memory: 1.00 M loads, 500.00 k stores, 128.00 MB" in text


def test_small_grid_is_called_small() -> None:
    assert "only 14 % of the block slots are used" in digest(with_fields(waves=0.14))
    assert digest(with_fields(waves=3)).endswith("waves: 3.00 per SM")


def test_unit_that_does_not_fit_is_no_answer() -> None:
    assert get(made(**{"gpu__time_duration.sum": Reading(5, "")}), "duration_ns") is None
    assert get(made(**{"Memory Throughput": Reading(5, "byte/s")}), "memory_throughput_pct") is None
    both = {"Memory Throughput": Reading(5, "byte/s"), "Memory Throughput [%]": Reading(7, "%")}
    assert get(made(**both), "memory_throughput_pct") == 7


def test_shares_need_the_whole() -> None:
    barrier = {STALL.format("barrier"): Reading(3, "inst")}
    assert stalls(made(**barrier)) == {}
    whole = stalls(made(**barrier, **{STALL.format("selected"): Reading(1, "inst")}))
    assert whole == {"barrier": 75, "selected": 25}


def test_parts_of_a_pipe_are_not_pipes() -> None:
    assert set(pipes(full())) == {
        "adu",
        "alu",
        "cbu",
        "fma",
        "fp64",
        "lsu",
        "shared",
        "tensor",
        "tex",
        "tma",
    } | {
        "uniform",
        "xu",
    }


@RELAXED
@given(
    st.dictionaries(st.sampled_from(sorted(FIELDS)), st.integers(0, 10**15).map(lambda value: value / 100)),
    st.booleans(),
)
def test_digest_is_short_and_never_fails(values: dict[str, float], with_parent: bool) -> None:
    one = with_fields(**values)
    text = digest(one, parent=full() if with_parent else None, compulsory_bytes=1000)
    assert len(text.splitlines()) <= 25
    assert not re.search(r"\b(nan|inf|None)\b", text)


@pytest.mark.parametrize("sm", [89, 90])
def test_every_question_of_the_digest_is_asked(sm: int) -> None:
    asked = metrics_for(sm)
    from_sections = re.compile(
        r"launch__(waves|occupancy_limit)|sm__maximum_warps|derived__local_spilling|smsp__issue"
    )
    for _, names in FIELDS.values():
        assert any(name in asked for name in names) or from_sections.match(names[0])
    assert all(asked.values())
    assert SECTIONS == ("LaunchStats", "Occupancy")


def test_hopper_units_are_not_asked_of_ada() -> None:
    hopper = set(metrics_for(90)) - set(metrics_for(89))
    assert hopper
    assert all("gmma" in name or "tma" in name for name in hopper)


def test_numbers_are_scaled_for_reading() -> None:
    assert bytes_text(16_068_164_096) == "16.07 GB"
    assert bytes_text(999) == "999 B"
    assert time_text(151_938) == "151.94 us"
    assert count_text(12_300_000) == "12.30 M"
