"""The subject of a commit states the intent, in 60 characters, and never a measured number."""

from __future__ import annotations

import pytest

from cutegen_git.core.intent import SUBJECT_CHARS, UNSTATED, read


@pytest.mark.parametrize(
    ("reply", "subject"),
    [
        ("Intent: stage A and B through shared memory\n\n```diff\n", "stage A and B through shared memory"),
        ("**Intent:** double-buffer the K loop.\n", "double-buffer the K loop"),
        ("### Intent: tile the output\n", "tile the output"),
        ("1. intent: swizzle<3,3,3> for B\n", "swizzle<3,3,3> for B"),
        ("Intent:\nvectorise the loads\n", "vectorise the loads"),
        ("Intent: 128x128 tiles, unroll 4x\n", "128x128 tiles, unroll"),
        ("Intent: use 2 stages of cp.async\n", "use 2 stages of cp.async"),
        ("Intent: make it 1.5x faster", "make it faster"),
        ("Intent: cut time by 30%", "cut time"),
        ("Intent: `ldmatrix` for A (1.32x)", "ldmatrix for A"),
        ("Intent: reduce time from 3.2 ms to 2.1 ms", "reduce time"),
        ("Intent: reach 27.5 TFLOP/s with 3xTF32", "reach with 3xTF32"),
        ("<think>Intent: draft\n```diff\n--- a/x\n```\n</think>\nIntent: final", "final"),
        ("draft of thoughts </think>\nIntent: final", "final"),
        ("Sure! Here is the patch: I keep the sums in registers. More text.", "I keep the sums in registers"),
        ("## Plan\n\nUse float4 loads for A.\n", "Use float4 loads for A"),
        ("```diff\n--- a/kernel/kernel.cu\n-Intent: none\n```", UNSTATED),
        ("", UNSTATED),
        ("Intent: 12%\n", UNSTATED),
    ],
)
def test_the_subject(reply: str, subject: str) -> None:
    assert read(reply).subject == subject


def test_a_long_intent_is_cut_at_a_clause_or_a_word() -> None:
    clause = (
        "Intent: transpose B while it is stored to shared memory, so that reads of the fragments are wide"
    )
    assert read(clause).subject == "transpose B while it is stored to shared memory"
    words = read("Intent: " + "word " * 30).subject
    assert words == " ".join(["word"] * 12)
    assert len(read("Intent: " + "x" * 200).subject) == SUBJECT_CHARS


def test_the_body_has_the_three_parts_in_order_and_no_trailer_lines() -> None:
    reply = (
        "Intent: tile\nEffect: half the traffic\nBottleneck: every thread reads a whole row of B\n"
        "Outcome: passed, at great length so that this line is wrapped somewhere in the middle of it\n"
        "Change: a tile in shared memory\n\nAttempt: 0001\n```diff\n"
    )
    body = read(reply).body
    assert [line.split(":")[0] for line in body.split("\n") if not line.startswith("  ")] == [
        "Bottleneck",
        "Change",
        "Effect",
    ]
    assert all(len(line) <= 72 for line in body.split("\n"))
    assert "Attempt" not in body


def test_control_characters_and_line_ends_do_not_get_through() -> None:
    intent = read("Intent: a\x00b\x1b[31m\tc\r\nChange: d\u2028e\r\n")
    assert intent.subject == "a b [31m c"
    assert intent.body == "Change: d e"


def test_an_effect_may_promise_but_the_subject_may_not() -> None:
    intent = read("Intent: get 2.0x speedup\nEffect: 2x fewer loads\n")
    assert "2" not in intent.subject
    assert intent.body == "Effect: 2x fewer loads"
