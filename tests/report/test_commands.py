"""`log --graph`, `show A B` and `report` as a person types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from report.scene import Scene
from typer.testing import CliRunner

from cutegen_git.commands import cli, report
from cutegen_git.words.errors import TaskError


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert cli.run(list(words)) == 0
    return capsys.readouterr().out


def test_graph_draws_who_came_from_whom(small_scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "log", "--graph", "-C", str(small_scene.folder))
    rails = [line.split("00")[0].rstrip() for line in text.splitlines()[1:]]
    assert rails == ["×", "●", "●", "├─·", "├─×", "├─○", "●"]
    assert "\x1b" not in text
    best = text.splitlines()[-1]
    for part in ("0007", "*", "optimise", "passed", "1.13x [1.125, 1.135]", "1250.1 us", "64 %", "$0.0263"):
        assert part in best


def test_columns_without_anything_to_say_are_left_out(
    unjudged_scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    head = said(capsys, "log", "-C", str(unjudged_scene.folder)).splitlines()[0]
    assert head.split() == ["attempt", "move", "outcome", "device", "cost", "intent"]


@pytest.mark.parametrize(("variable", "coloured"), [("FORCE_COLOR", True), ("NO_COLOR", False)])
def test_colour_follows_the_terminal_and_no_color(
    small_scene: Scene,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    coloured: bool,
) -> None:
    monkeypatch.setenv(variable, "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert ("\x1b[32m" in said(capsys, "log", "-C", str(small_scene.folder))) is coloured


def test_words_of_models_cannot_drive_the_terminal(
    hostile_scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(hostile_scene.folder)
    for words in (("log", "--graph"), ("show", "1"), ("show", "2"), ("show", "1", "5")):
        text = said(capsys, *words, "-C", folder)
        assert not {"\x1b", "\u202e"} & set(text)
    assert "␛[31m" in said(capsys, "show", "1", "-C", folder)


def test_log_as_json_keeps_every_fact(small_scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    records = [
        json.loads(line) for line in said(capsys, "log", "--json", "-C", str(small_scene.folder)).splitlines()
    ]
    assert [record["parent"] for record in records] == [None, "0001", "0002", "0003", "0003", "0003", "0003"]
    best = records[-1]
    assert (best["standing"], best["registers"], best["tags"]) == ("main", 38, ["rtx4090/0007-1.13x"])
    assert best["speedup"] == pytest.approx(1.13)
    assert best["roof"] == pytest.approx(12 * 67108864 / 1250.088e3 / 1008, rel=1e-3)


def test_two_attempts_side_by_side(small_scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "show", "2", "best", "-C", str(small_scene.folder))
    lines = {line.split("  ")[0].strip(): line for line in text.splitlines()}
    assert "0.81x [0.800, 0.820]" in lines["speedup"]
    assert "+39.5 %" in lines["speedup"]
    assert "-28.3 %" in lines["device time"]
    assert lines["registers"].split() == ["registers", "40", "38", "-2"]
    assert lines["static smem"].endswith("-16384 B")
    assert "do not overlap; the second is faster" in text
    assert "-  // end the statement\n" in text
    assert "+  // persistent blocks, streaming stores" in text


def test_attempt_without_a_kernel_is_compared_by_what_is_known(
    small_scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said(capsys, "show", "3", "4", "-C", str(small_scene.folder))
    assert "no-diff" in text
    assert "both have the same kernel" in text


def test_comparison_as_json(small_scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    record = json.loads(said(capsys, "show", "2", "7", "--json", "-C", str(small_scene.folder)))
    assert [side["label"] for side in record["attempts"]] == ["0002", "0007"]
    assert record["diff"].startswith("diff --git a/kernel/kernel.cu")


def test_strangers_newer_verdict_does_not_enter_a_comparison(
    hostile_scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said(capsys, "show", "1", "5", "-C", str(hostile_scene.folder))
    assert "1.31x" in text
    assert "8.00x" not in text


@pytest.fixture
def app() -> typer.Typer:
    found = typer.Typer()
    found.callback()(lambda: None)
    report.register(found)
    return found


def test_report_writes_the_file_whole(small_scene: Scene, app: typer.Typer, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    done = CliRunner().invoke(app, ["report", "-C", str(small_scene.folder), "-o", str(target)])
    assert done.exit_code == 0, done.output
    assert target.read_text().startswith("<!DOCTYPE html>")
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".toml"] == ["report.html"]


def test_report_into_a_folder_that_is_not_there_names_the_fix(
    small_scene: Scene, app: typer.Typer, tmp_path: Path
) -> None:
    target = tmp_path / "nowhere/report.html"
    done = CliRunner().invoke(app, ["report", "-C", str(small_scene.folder), "-o", str(target)])
    assert isinstance(done.exception, TaskError)
    assert "name another file with -o" in str(done.exception)


def test_report_as_markdown_and_json_on_stdout(small_scene: Scene, app: typer.Typer) -> None:
    where = ["-C", str(small_scene.folder)]
    assert CliRunner().invoke(app, ["report", "--markdown", *where]).stdout.startswith("### `add`: 1.13x")
    record = json.loads(CliRunner().invoke(app, ["report", "--json", *where]).stdout)
    assert record["best"][0]["facts"]["Driver"] == "580.95.05"
    assert len(record["attempts"]) == 7


def test_report_without_a_form_is_a_usage_error(app: typer.Typer) -> None:
    assert CliRunner().invoke(app, ["report"]).exit_code == 2
