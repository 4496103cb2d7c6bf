"""What ncu says goes to the right class, whatever surrounds it."""

from __future__ import annotations

import pytest

from cutegen_git.core.feedback.ncu import Blame, Problem, Profile, Trouble, explain
from cutegen_git.core.feedback.ncu_names import is_kernel, short_name

HEADER = (
    '"ID","Process ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Unit","Metric Value"\n'
)


def table(*rows: tuple[str, str, str, str, str]) -> str:
    """Rows of launch, kernel, metric, unit, value."""
    return HEADER + "".join(
        f'"{launch}","480","{kernel}","(1, 1, 1)","(1, 1, 1)","{metric}","{unit}","{value}"\n'
        for launch, kernel, metric, unit, value in rows
    )


GOOD = table(("0", "k(int)", "gpu__time_duration.sum", "ns", "1,500"))


def problem(text: str, code: int | None = 0, target: str | None = None) -> Problem:
    result = explain(text, exit_code=code, target=target)
    assert isinstance(result, Trouble), result
    return result.problem


@pytest.mark.parametrize(
    ("line", "code", "expected"),
    [
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", 1, Problem.NO_PERMISSION),
        ("....50%==ERROR== ERR_NVGPUCTRPERM", 0, Problem.NO_PERMISSION),
        ("==ERROR== Profiling failed because a driver resource was unavailable.", 9, Problem.PROFILER_BUSY),
        ("==ERROR== Unable to access the following 1 metrics: a__b.sum.", 9, Problem.METRICS_UNAVAILABLE),
        ("==ERROR== Failed to find metric a__b.sum", 1, Problem.METRICS_UNAVAILABLE),
        ("==ERROR== './k' does not exist or is not an executable.", 1, Problem.TARGET_NOT_FOUND),
        ("==ERROR== LaunchFailed", 9, Problem.KERNEL_CRASHED),
        ("==ERROR== an illegal memory access was encountered", 9, Problem.KERNEL_CRASHED),
        ("==ERROR== The application returned an error code (1).", 1, Problem.APPLICATION_FAILED),
        (
            "==ERROR== Failed to initialize the profiler: LibraryNotLoaded",
            1,
            Problem.PROFILER_FAILED,
        ),
        (
            "==ERROR== Profiling is not supported on device 0. To find out supported GPUs",
            1,
            Problem.PROFILER_FAILED,
        ),
        ("==ERROR== Something that nobody has seen", 1, Problem.PROFILER_FAILED),
        ("bash: line 1: ncu: command not found", 127, Problem.PROFILER_FAILED),
        ("==WARNING== No kernels were profiled.", 0, Problem.NO_KERNELS),
        ("hello from the program", 0, Problem.NO_KERNELS),
        (" \n\n", 0, Problem.NO_OUTPUT),
    ],
)
def test_class_of_a_line(line: str, code: int, expected: Problem) -> None:
    assert problem(line, code) is expected
    if line.strip():
        assert (
            problem(f"==PROF== Connected to process 480 (/opt/a)\n{line}\nmedian 0.15 ms\n", code) is expected
        )


@pytest.mark.parametrize(
    "sign", ["ERR_NVGPUCTRPERM - no permission", "LaunchFailed", "driver resource was unavailable"]
)
def test_table_beside_an_error_is_not_taken_for_a_success(sign: str) -> None:
    assert isinstance(explain(f"==ERROR== {sign}\n{GOOD}", exit_code=9), Trouble)
    assert isinstance(explain(f"{GOOD}==ERROR== {sign}\n", exit_code=0), Trouble)


def test_cause_goes_before_its_consequence() -> None:
    text = "==ERROR== Failed to profile\n==ERROR== The application returned an error code (9).\n==ERROR== LaunchFailed"
    assert problem(text, 9) is Problem.KERNEL_CRASHED


def test_failed_program_spoils_a_whole_table() -> None:
    assert problem(GOOD, 3) is Problem.APPLICATION_FAILED


@pytest.mark.parametrize("code", [None, 124, 137, 143, -9, -15])
def test_stopped_profiler_is_truncated(code: int | None) -> None:
    assert problem(GOOD, code) is Problem.TRUNCATED
    assert problem("==PROF== Connected to process 1 (/a)\n", code) is Problem.TRUNCATED
    assert problem("", code) is Problem.NO_OUTPUT


def test_words_of_the_kernel_do_not_make_an_error() -> None:
    text = GOOD.replace("k(int)", "LaunchFailed(==ERROR== LaunchFailed)")
    assert isinstance(explain(text, exit_code=0), Profile)


def test_unavailable_metrics_of_a_warning_are_a_warning() -> None:
    line = "==WARNING== Unable to access the following 2 metrics: ctc__a.sum, ctc__b.sum.\n"
    result = explain(line + GOOD, exit_code=0)
    assert isinstance(result, Profile)
    assert result.warnings == (line.removeprefix("==WARNING== ").strip(),)


def test_other_kernels_are_named_where_the_target_is_absent() -> None:
    result = explain(GOOD, exit_code=0, target="gemm")
    assert isinstance(result, Trouble)
    assert result.problem is Problem.NO_KERNELS
    assert result.blame is Blame.REQUEST
    assert result.available_kernels == ("k(int)",)


def test_permission_remedy_is_exact() -> None:
    result = explain("==ERROR== ERR_NVGPUCTRPERM", exit_code=1)
    assert isinstance(result, Trouble)
    assert "options nvidia NVreg_RestrictProfilingToAdminUsers=0" in result.remedy
    assert "--cap-add=SYS_ADMIN" in result.remedy
    assert result.blame is Blame.ENVIRONMENT


def test_median_counts_launches_and_leaves_missing_ones_out() -> None:
    values = ["268,000", "152,000", "151,000", "nan"]
    text = table(*((str(i), "k(int)", "gpu__time_duration.sum", "ns", v) for i, v in enumerate(values)))
    result = explain(text, exit_code=0)
    assert isinstance(result, Profile)
    assert result.launches == 4
    assert result.metrics["gpu__time_duration.sum"].value == 152000


def test_same_launch_number_of_two_processes_is_two_launches() -> None:
    result = explain(GOOD + GOOD.replace('"480"', '"481"').removeprefix(HEADER), exit_code=0)
    assert isinstance(result, Profile)
    assert result.launches == 2


GEMM = "void gemm_task::gemm_kernel<cute::TiledCopy<cute::C<4>>, (int)4>(int, const float *, T1)"


@pytest.mark.parametrize(
    "wanted",
    [
        "gemm_kernel",
        "gemm_task::gemm_kernel",
        "gemm_kernel<cute::TiledCopy<cute::C<4>>, 4>",
        "gemm_task::gemm_kernel<cute::TiledCopy<cute::C<4>>,(int)4>",
        GEMM,
    ],
)
def test_kernel_is_found_by_any_form_of_its_name(wanted: str) -> None:
    assert is_kernel(GEMM, wanted)


@pytest.mark.parametrize(
    "wanted", ["gemm", "kernel", "gemm_kernel2", "TiledCopy", "other::gemm_kernel", "gemm_kernel<"]
)
def test_part_of_a_name_is_another_kernel(wanted: str) -> None:
    assert not is_kernel(GEMM, wanted)


def test_mangled_anonymous_and_bare_names() -> None:
    assert is_kernel("_ZN9gemm_task11gemm_kernelEPKfi", "gemm_kernel")
    assert not is_kernel("_ZN9gemm_task11gemm_kernelEPKfi", "kernel")
    assert is_kernel("void (anonymous namespace)::k<(bool)1>(int)", "k")
    assert short_name(GEMM) == "gemm_kernel"
    assert short_name("zero") == "zero"
