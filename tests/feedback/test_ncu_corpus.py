"""Every output of the corpus gives the expected class, numbers and absences, through the command as well."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from cutegen_git.commands import explain_profile
from cutegen_git.core.feedback.ncu import Profile, digest, explain

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CORPUS = Path(__file__).parents[1] / "corpus" / "G3"
CASES = sorted(path for path in CORPUS.iterdir() if path.is_dir())


def run(*arguments: str, stdin: bytes | None = None) -> tuple[int, str]:
    app = typer.Typer()
    app.callback()(lambda: None)
    explain_profile.register(app)
    result = CliRunner().invoke(app, ["explain-profile", *arguments], input=stdin)
    return result.exit_code, result.output


def expected(case: Path) -> dict[str, Any]:
    return tomllib.loads((case / "expected.toml").read_text())


def read(name: str) -> str:
    (case,) = CORPUS.glob(f"{name}-*")
    return (case / "ncu.txt").read_text()


def profile(name: str, target: str | None = None) -> Profile:
    result = explain(read(name), exit_code=0, target=target)
    assert isinstance(result, Profile)
    return result


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_case_is_read_as_expected(case: Path) -> None:
    want = expected(case)
    code, output = run(
        str(case / "ncu.txt"),
        "--rc",
        str(want["exit_code"]),
        "--target",
        want.get("target_kernel", ""),
        "--json",
    )
    assert code == 0
    got = json.loads(output)
    for name in ("outcome", "error_class", "blame", "target_launches"):
        if name in want:
            assert got[name] == want[name]
    for name in ("missing", "unavailable_metrics", "available_kernels"):
        if name in want:
            assert sorted(got[name]) == sorted(want[name])
    for name, value in want.get("metrics", {}).items():
        tolerance = want.get("relative_tolerance", 1e-6)
        assert got["metrics"][name] == (
            value if isinstance(value, str) else pytest.approx(value, rel=tolerance)
        )
    for name in want.get("missing", ()):
        assert name not in got["metrics"]


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_windows_line_ends_and_a_leading_mark_change_nothing(case: Path) -> None:
    want = expected(case)
    text = (case / "ncu.txt").read_text()
    arguments = {"exit_code": want["exit_code"], "target": want.get("target_kernel")}
    assert explain(text.replace("\n", "\r\n"), **arguments) == explain(text, **arguments)


def test_layouts_of_one_kernel_agree() -> None:
    layouts = [profile(name, "gemm_ref") for name in ("01", "02", "03", "04", "10", "11", "12", "16")]
    for one in layouts:
        text = digest(one)
        assert "gemm_ref" in text
        assert "time: 21.9" in text or "time: 22.0" in text
    assert {one.cc for one in layouts} == {"9.0"}
    assert {(one.grid, one.block) for one in layouts} == {("(256, 256, 1)", "(16, 16, 1)")}


def test_longest_kernel_is_explained_where_none_is_named() -> None:
    assert profile("01").kernel.startswith("gemm_ref(")
    assert profile("18").kernel.startswith("gather_rows(")


def test_text_output_is_the_digest_and_the_change() -> None:
    (new,), (old,) = CORPUS.glob("03-*"), CORPUS.glob("02-*")
    code, output = run(
        str(new / "ncu.txt"), "--parent", str(old / "ncu.txt"), "--compulsory-bytes", "50331648"
    )
    assert code == 0
    assert "319.79x (was 319.25x) the compulsory 50.33 MB" in output


def test_text_output_of_a_trouble_names_the_remedy() -> None:
    (case,) = CORPUS.glob("19-*")
    code, output = run(str(case / "ncu.txt"), "--rc", "1")
    assert code == 0
    assert output.startswith("no-permission: ERR_NVGPUCTRPERM")
    assert "NVreg_RestrictProfilingToAdminUsers=0" in output
    assert "CAP_SYS_ADMIN" in output


def test_stdin_timeout_and_broken_bytes_are_taken() -> None:
    (case,) = CORPUS.glob("13-*")
    raw = (case / "ncu.txt").read_bytes()
    assert '"duration_ns": 2112' in run("-", "--json", stdin=b"\xff\xfe\n" + raw)[1]
    assert run("-", "--rc", "timeout", stdin=raw)[1].startswith("truncated")
    assert run("-", "--rc", "soon", stdin=raw)[0] != 0


def test_absent_file_is_a_bad_world() -> None:
    app = typer.Typer()
    app.callback()(lambda: None)
    explain_profile.register(app)
    result = CliRunner().invoke(app, ["explain-profile", "no-such-file"])
    assert "no-such-file" in str(result.exception)


def test_json_never_holds_nan() -> None:
    for case in CASES:
        output = run(str(case / "ncu.txt"), "--json")[1]
        assert "NaN" not in output
        assert "Infinity" not in output
