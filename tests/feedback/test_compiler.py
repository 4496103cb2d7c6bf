"""Compiler output becomes the first real error with the user's line, and the resources of every kernel."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from cutegen_git.core.feedback.compiler import BuildReport, explain
from cutegen_git.core.feedback.compiler_parse import messages
from cutegen_git.core.feedback.compiler_ptxas import plain_name
from cutegen_git.core.feedback.compiler_text import LIMIT
from cutegen_git.core.feedback.compiler_types import shorten

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CASES = sorted(path for path in (Path(__file__).parents[1] / "corpus" / "G2").iterdir() if path.is_dir())
NOT_FIELDS = {"title", "why_hard", "command", "sources", "origin", "exit_code", "output_chars"}


def read(case: Path, *, with_source: bool) -> tuple[BuildReport, dict[str, Any]]:
    facts = tomllib.loads((case / "expected.toml").read_text())
    source = case / "kernel.cu"
    sources = {"kernel.cu": source.read_text()} if with_source and source.exists() else None
    report = explain((case / "output.txt").read_text(), exit_code=facts["exit_code"], sources=sources)
    return report, {key: value for key, value in facts.items() if key not in NOT_FIELDS}


@pytest.mark.parametrize("with_source", [False, True], ids=["output-only", "with-source"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_report_has_every_expected_field(case: Path, with_source: bool) -> None:
    report, want = read(case, with_source=with_source)
    got = report.as_json()
    assert len(report.feedback) <= want.pop("feedback_max_chars")
    for part in want.pop("feedback_must_contain"):
        assert part in report.feedback
    for kernel in want.pop("kernels", []):
        assert kernel in got["kernels"]
    for name, value in want.items():
        if isinstance(value, dict):
            assert {key: got[name].get(key) for key in value} == value
        elif isinstance(value, list):
            assert sorted(got[name]) == sorted(value)
        else:
            assert got[name] == value


def test_the_users_line_is_shown_with_a_caret() -> None:
    source = "__global__ void k(float* y) {\n  y[0] = missing;\n}\n"
    output = (
        'kernel/kernel.cu(2): error: identifier "missing" is undefined\n    y[0] = missing;\n           ^\n\n'
    )
    text = explain(output, exit_code=2, sources={"kernel/kernel.cu": source}).feedback
    assert text.split("\n") == [
        'kernel/kernel.cu:2: error: identifier "missing" is undefined',
        "    y[0] = missing;",
        "           ^",
    ]


def test_a_build_folder_in_front_of_the_name_is_taken_off() -> None:
    output = '/tmp/build_1/kernel/kernel.cu(2): error: identifier "x" is undefined\n'
    report = explain(output, exit_code=2, sources={"kernel/kernel.cu": "a\nb\n"})
    assert report.user_location is not None
    assert report.user_location.file == "kernel/kernel.cu"
    assert "/tmp" not in report.feedback


def test_a_timeout_is_neither_success_nor_a_fault_of_the_machine() -> None:
    report = explain("", exit_code=None)
    assert (report.status, report.category.value, report.blame) == ("timeout", "timeout", "kernel")
    assert "in time" in report.feedback


@pytest.mark.parametrize(
    ("output", "category", "blame"),
    [
        ("kernel.cu(2): Error: Formal parameter space overflowed (40008 bytes required, max 32764 bytes allowed)"
         " in function _Z1k3BigPf", "ptxas_parameter_space", "kernel"),
        ("a.cu:1:10: fatal error: nothere.h: No such file or directory", "missing_header", "kernel"),
        ("k.cu:2: error: unterminated #if\n    2 | #if 1\n", "syntax_error", "kernel"),
        ("k.cu(2): error: function \"k\" has already been defined (previous definition at line 1)", "compile_error", "kernel"),
        ("ptxas /tmp/x.ptx, line 32; error   : Not a name of any known instruction: 'frob'\n"
         "ptxas fatal   : Ptx assembly aborted due to errors", "ptxas_syntax", "kernel"),
        ("ptxas /tmp/x.ptx, line 28; error   : Arguments mismatch for instruction 'fma'", "ptxas_syntax", "kernel"),
        ("x.cpp:(.text+0x10): multiple definition of `f()'; /tmp/a.o:a.cpp:(.text+0x100): first defined here\n"
         "collect2: error: ld returned 1 exit status", "link_duplicate", "kernel"),
        ("nvlink error   : Multiple definition of '_Z1fv' in '/tmp/b.o', first defined in '/tmp/a.o'", "link_duplicate", "kernel"),
        ("nvcc fatal   : Unknown option '--foo'", "toolchain", "environment"),
        ("Assembler messages:\nFatal error: can't create /x/y.o: No such file or directory", "toolchain", "environment"),
        ("nvcc error   : 'ptxas' died due to signal 11 (Invalid memory reference)", "compiler_crash", "environment"),
        ("nvcc error   : 'cudafe++' died due to signal 15 (Termination signal)", "compiler_killed", "environment"),
        ("Killed", "compiler_killed", "environment"),
        ("fatbinary fatal   : Could not open output file 'x.fatbin'", "toolchain", "environment"),
    ],
)  # fmt: skip
def test_kind_and_blame(output: str, category: str, blame: str) -> None:
    report = explain(output, exit_code=1)
    assert (report.category.value, report.blame, report.error_count) == (category, blame, 1)


def test_an_error_among_warnings_is_found_and_the_warnings_are_left_out() -> None:
    warning = (
        'k.cu({}): warning #177-D: variable "v" was declared but never referenced\n    int v;\n        ^\n\n'
    )
    output = (
        "".join(warning.format(n) for n in range(50)) + 'k.cu(99): error: identifier "q" is undefined\n\n'
    )
    output += "".join(warning.format(n) for n in range(100, 150))
    report = explain(output, exit_code=1)
    assert (report.error_count, report.warning_lines, report.distinct_warnings) == (1, 100, 100)
    assert "k.cu:99" in report.feedback
    assert "177" not in report.feedback


def test_identical_errors_are_folded() -> None:
    one = 'k.cu(3): error: identifier "q" is undefined\n\n'
    report = explain(one * 40, exit_code=1)
    assert report.error_count == 40
    assert report.feedback.count("identifier") == 1
    assert "39 more" in report.feedback


def test_a_header_that_a_header_misses_is_traced_to_the_include() -> None:
    output = "In file included from kernel/kernel.cu:7:\n/opt/x/include/lib.hpp:2:10: fatal error: no.h: No such file or directory\n"
    report = explain(output, exit_code=1)
    assert report.user_location is not None
    assert (report.user_location.file, report.user_location.line) == ("kernel/kernel.cu", 7)


def test_windows_line_ends_change_nothing() -> None:
    case = next(case for case in CASES if case.name.startswith("02"))
    text = (case / "output.txt").read_text()
    assert explain(text.replace("\n", "\r\n"), exit_code=1) == explain(text, exit_code=1)


def test_warnings_that_matter_are_shown_on_success() -> None:
    output = 'k.cu(3): warning #549-D: variable "u" is used before its value is set\n    y = u;\n        ^\n'
    assert "used before its value" in explain(output, exit_code=0).feedback


def test_feedback_never_exceeds_its_limit() -> None:
    output = "".join(f"k.cu({n}): error: {'x' * 3000} {n}\n    {'y' * 5000}\n    ^\n" for n in range(200))
    assert len(explain(output, exit_code=1).feedback) <= LIMIT


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("cute::Layout<cute::tuple<cute::_4, cute::C<32>>, cute::tuple<cute::_32, cute::_1>>", "(4,32):(32,1)"),
        ("cute::Layout<cute::C<8>, cute::C<1>>", "8:1"),
        ("cute::Copy_Atom<cute::UniversalCopy<float>, cutlass::half_t>", "Copy_Atom<UniversalCopy<float>, half_t>"),
        ("cute::tuple<cute::Underscore, int>", "(_,int)"),
        ("std::vector<int> and 1 < 2", "std::vector<int> and 1 < 2"),
        ("cute::tuple<cute::C<1>", "(1)"),
    ],
)  # fmt: skip
def test_cute_types_are_written_short(text: str, short: str) -> None:
    assert shorten(text) == short


def test_types_nested_without_end_do_not_break_the_report() -> None:
    text = 'k.cu(1): error: class "' + "cute::tuple<" * 5000 + '" has no member "x"'
    assert len(explain(text, exit_code=1).feedback) <= LIMIT


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("_Z9gemm_tileILi128ELi128EEvPKfS1_Pfii", "gemm_tile"),
        ("_ZN3ops7rmsnormIfEEvPT_", "ops::rmsnorm"),
        ("_ZN12_GLOBAL__N_13fooEv", "foo"),
        ("plain", "plain"),
        ("_ZTV3Foo", "_ZTV3Foo"),
    ],
)
def test_kernel_names_are_readable(mangled: str, name: str) -> None:
    assert plain_name(mangled) == name


def test_any_text_is_read_without_an_exception() -> None:
    for case in CASES:
        text = (case / "output.txt").read_text()
        for cut in range(0, min(len(text), 4000), 97):
            explain(text[cut:], exit_code=1)
            explain(text[:cut], exit_code=1)
            messages(text[cut : cut + 500])
