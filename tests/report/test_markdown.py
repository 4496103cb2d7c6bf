"""Markdown for job summaries: in brief, and with nothing of a model's that GitHub would act on."""

from __future__ import annotations

import re

import pytest
from report.scene import Scene

from cutegen_git.app.report_markdown import fence, markdown, span


def outside_code(text: str) -> str:
    """What GitHub reads as markdown: without fences and code spans."""
    text = re.sub(r"(?ms)^(`{3,})[a-z]*\n.*?^\1$", "", text)
    return re.sub(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)", "CODE", text)


def test_best_table_and_what_changed(small_scene: Scene) -> None:
    text = markdown(small_scene.project)
    assert text.startswith("### `add`: 1.13x torch eager on rtx4090\n")
    assert "| **0007** main | optimise | passed | 1.13x [1.125, 1.135] | 1250.1 us | $0.0263 |" in text
    assert "#### What 0007 changed from 0003" in text
    assert "```diff" in text
    assert text.endswith("\n")


def test_hostile_words_stay_in_code(hostile_scene: Scene) -> None:
    left = outside_code(markdown(hostile_scene.project))
    for word in (
        "@everyone",
        "http",
        "<script",
        "<img",
        "alert",
        "#1 ",
        "Bold",
        "<u>",
        "](",
        "stranger",
        "\u202e",
    ):
        assert word not in left, word
    assert left.count("<details>") == left.count("</details>") == 1


def test_every_table_row_has_the_same_cells(hostile_scene: Scene) -> None:
    rows = [line for line in markdown(hostile_scene.project).splitlines() if line.startswith("|")]
    assert len(rows) == 2 + 5
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {8}


@pytest.mark.parametrize("text", ["a`b", "``", "`x", "a\nb", "x``y```z"])
def test_span_and_fence_cannot_be_left(text: str) -> None:
    assert outside_code(span(text)) == "CODE"
    assert outside_code(fence(text)).strip() == ""


def test_no_attempt_and_no_verdict(empty_scene: Scene, unjudged_scene: Scene) -> None:
    assert markdown(empty_scene.project) == "### `add`: no attempt yet\n"
    assert "not measured yet" in markdown(unjudged_scene.project)
