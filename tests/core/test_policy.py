"""The next move is a pure function of what git says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cutegen_git.core import history as records
from cutegen_git.core import policy
from cutegen_git.core.history import NO_DEVICE, History
from cutegen_git.core.policy import Setting, next_move
from cutegen_git.words.attempt import Attempt, Commit, Label, Spend
from cutegen_git.words.device import EMULATOR
from cutegen_git.words.move import Advance, Fix, Generate, Measure, Optimise, Stop, Wait
from cutegen_git.words.task import Limits
from cutegen_git.words.verdict import JUDGE_VERSION, Outcome, Timing, Verdict

HOME = "rtx4090"
AT_HOME = Setting(Limits(attempts=20, fixes=2), HOME, HOME)
ON_LAPTOP = replace(AT_HOME, here=NO_DEVICE)
EMULATED = replace(AT_HOME, here=EMULATOR, limits=Limits(fixes=2, unmeasured=2))


def attempt(
    number: int, move: str = "optimise", outcome: str | None = None, usd: float | None = 0.01
) -> Commit:
    kernel = "" if outcome else f"tree{number}"
    said = Attempt(
        Label(number),
        "base",
        move,
        f"idea {number}",
        outcome=outcome,
        task="t",
        spend=Spend(100, 10, usd, 6.0),
    )
    return Commit(f"c{number}", (f"c{number - 1}",), f"full{number}", kernel, number, said)


def verdict(
    number: int, outcome: Outcome = Outcome.PASSED, speedup: float = 0.0, device: str = HOME
) -> Verdict:
    timing = Timing(speedup, speedup * 0.99, speedup * 1.01, 1.0, 1.0, "eager", speedup) if speedup else None
    return Verdict(outcome, device, "r", f"c{number}", f"tree{number}", "t", "sm_89", number, timing=timing)


def story(
    commits: list[Commit], verdicts: list[Verdict], head: int | None = None, main: int | None = None
) -> History:
    lines: dict[str, list[Verdict]] = {}
    for item in verdicts:
        lines.setdefault(item.commit, []).append(item)
    return History(
        records.judged(commits, lines),
        path_heads={"base": f"c{head}"} if head else {},
        main_kernel_tree=f"tree{main}" if main else "",
    )


def test_empty_task_asks_for_the_first_kernel() -> None:
    assert next_move(story([], []), AT_HOME) == Generate("base")


def test_attempt_without_verdict_is_measured_before_anything_is_asked() -> None:
    assert isinstance(next_move(story([attempt(1, "generate")], []), AT_HOME), Measure)


def test_without_a_gpu_a_kernel_that_builds_waits_for_one() -> None:
    unsupported = verdict(1, Outcome.UNSUPPORTED, device=NO_DEVICE)
    move = next_move(story([attempt(1, "generate")], [unsupported]), ON_LAPTOP)
    assert isinstance(move, Wait)
    assert "verify --pending" in move.why
    assert HOME in move.why


def test_build_error_is_settled_without_a_gpu() -> None:
    broken = verdict(1, Outcome.BUILD_ERROR, device=NO_DEVICE)
    assert next_move(story([attempt(1, "generate")], [broken]), ON_LAPTOP) == Fix(Label(1), "base", 1)


def test_reply_without_a_patch_is_asked_again() -> None:
    assert next_move(story([attempt(1, "generate", "no-diff")], []), AT_HOME) == Fix(Label(1), "base", 1)


def test_fixes_end_at_their_limit_and_the_best_is_taken_up() -> None:
    commits = [attempt(1, "generate"), attempt(2), attempt(3, "fix"), attempt(4, "fix")]
    verdicts = [verdict(1, speedup=1.0), *(verdict(n, Outcome.WRONG_RESULT) for n in (2, 3, 4))]
    assert next_move(story(commits, verdicts, 1, 1), AT_HOME) == Optimise(Label(1), "base")


def test_fixes_end_at_their_limit_and_without_a_best_it_starts_anew() -> None:
    commits = [attempt(1, "generate"), attempt(2, "fix"), attempt(3, "fix")]
    verdicts = [verdict(n, Outcome.WRONG_RESULT) for n in (1, 2, 3)]
    assert next_move(story(commits, verdicts), AT_HOME) == Generate("base")


def test_first_passing_attempt_advances_path_and_main() -> None:
    history = story([attempt(1, "generate")], [verdict(1, speedup=0.5)])
    assert next_move(history, AT_HOME) == Advance(Label(1), "base")


def test_main_that_missed_a_promotion_catches_up() -> None:
    history = story([attempt(1, "generate")], [verdict(1, speedup=0.5)], head=1)
    assert next_move(history, AT_HOME) == Advance(Label(1), "base")


def test_main_does_not_follow_another_device() -> None:
    history = story([attempt(1, "generate")], [verdict(1, speedup=0.5, device="a100")], head=1)
    assert next_move(history, replace(AT_HOME, here="a100")) == Optimise(Label(1), "base")


def test_optimising_starts_from_the_best_and_not_the_latest() -> None:
    commits = [attempt(1, "generate"), attempt(2), attempt(3)]
    verdicts = [verdict(1, speedup=0.5), verdict(2, speedup=0.9), verdict(3, speedup=0.7)]
    assert next_move(story(commits, verdicts, 2, 2), AT_HOME) == Optimise(Label(2), "base")


def test_a_gain_within_measuring_noise_moves_nothing() -> None:
    commits = [attempt(1, "generate"), attempt(2)]
    verdicts = [verdict(1, speedup=1.000), verdict(2, speedup=1.008)]
    move = next_move(story(commits, verdicts, 1, 1), AT_HOME)
    assert not isinstance(move, Advance)


@pytest.mark.parametrize(
    ("limits", "word"),
    [(Limits(attempts=2), "attempts"), (Limits(usd=0.02), "usd"), (Limits(minutes=0.2), "minutes")],
)
def test_limit_stops_before_the_next_question(limits: Limits, word: str) -> None:
    commits = [attempt(1, "generate"), attempt(2)]
    verdicts = [verdict(1, speedup=1.0), verdict(2, speedup=0.9)]
    move = next_move(story(commits, verdicts, 1, 1), replace(AT_HOME, limits=limits))
    assert isinstance(move, Stop)
    assert word in move.reason


def test_unpriced_replies_are_limited_by_tokens() -> None:
    commits = [attempt(1, "generate", usd=None)]
    move = next_move(
        story(commits, [verdict(1, speedup=1.0)], 1, 1), replace(AT_HOME, limits=Limits(tokens=100))
    )
    assert isinstance(move, Stop)
    assert "token" in move.reason


def test_limits_do_not_keep_a_paid_attempt_from_its_verdict() -> None:
    move = next_move(story([attempt(1, "generate")], []), replace(AT_HOME, limits=Limits(attempts=1)))
    assert isinstance(move, Measure)


def test_run_stops_after_ideas_that_did_not_help() -> None:
    commits = [attempt(1, "generate"), *(attempt(n) for n in range(2, 2 + policy.PATIENCE))]
    verdicts = [verdict(1, speedup=1.0), *(verdict(n, speedup=0.9) for n in range(2, 2 + policy.PATIENCE))]
    assert isinstance(next_move(story(commits, verdicts, 1, 1), AT_HOME), Stop)


def test_infrastructure_failure_is_tried_again_and_then_named() -> None:
    failed = [replace(verdict(1, Outcome.INFRASTRUCTURE), why="nvcc was killed", at=n) for n in range(3)]
    assert isinstance(next_move(story([attempt(1, "generate")], failed[:2]), AT_HOME), Measure)
    move = next_move(story([attempt(1, "generate")], failed), AT_HOME)
    assert isinstance(move, Stop)
    assert "nvcc was killed" in move.reason


def test_verdict_of_another_judge_version_does_not_count() -> None:
    old = replace(verdict(1, speedup=2.0), judge=JUDGE_VERSION + 1)
    assert isinstance(next_move(story([attempt(1, "generate")], [old]), AT_HOME), Measure)


def test_same_kernel_in_another_commit_is_not_measured_again() -> None:
    twin = replace(attempt(2), kernel_tree="tree1")
    history = story([attempt(1, "generate"), twin], [verdict(1, speedup=1.0)], 1, 1)
    assert history.attempts[1].speedup(HOME) == 1.0


def test_reply_that_gave_nothing_has_no_credit_for_its_parents_kernel() -> None:
    idle = replace(attempt(2, outcome="no-diff"), kernel_tree="tree1")
    history = story([attempt(1, "generate"), idle], [verdict(1, speedup=1.0)], 1, 1)
    assert history.attempts[1].speedup(HOME) is None
    assert next_move(history, AT_HOME) == Fix(Label(2), "base", 1)


def test_on_the_emulator_a_checked_attempt_is_the_next_base() -> None:
    checked = verdict(1, device=EMULATOR)
    assert next_move(story([attempt(1, "generate")], [checked]), EMULATED) == Optimise(Label(1), "base")


def test_on_the_emulator_an_attempt_that_it_refused_is_repaired() -> None:
    commits = [attempt(1, "generate"), attempt(2)]
    verdicts = [verdict(1, device=EMULATOR), verdict(2, Outcome.RACE, device=EMULATOR)]
    assert next_move(story(commits, verdicts), EMULATED) == Fix(Label(2), "base", 1)


def test_run_ahead_ends_at_its_limit_and_names_what_waits() -> None:
    commits = [attempt(1, "generate"), attempt(2)]
    move = next_move(story(commits, [verdict(n, device=EMULATOR) for n in (1, 2)]), EMULATED)
    assert isinstance(move, Wait)
    assert "0001, 0002 wait for `cutegen-git verify --pending` on rtx4090" in move.why


def test_what_the_home_device_measured_no_longer_counts_as_ahead() -> None:
    commits = [attempt(1, "generate"), attempt(2)]
    verdicts = [verdict(1, device=EMULATOR), verdict(2, device=EMULATOR), verdict(1, speedup=1.0)]
    assert next_move(story(commits, verdicts, 1, 1), EMULATED) == Optimise(Label(2), "base")


def test_emulator_verdict_neither_moves_a_path_nor_keeps_the_gpu_from_measuring() -> None:
    history = story([attempt(1, "generate")], [verdict(1, device=EMULATOR)])
    assert policy.next_advance(history, EMULATED) is None
    assert isinstance(next_move(history, AT_HOME), Measure)


def test_what_the_emulator_cannot_run_waits_for_the_gpu() -> None:
    history = story([attempt(1, "generate")], [verdict(1, Outcome.UNSUPPORTED, device=EMULATOR)])
    assert isinstance(next_move(history, EMULATED), Wait)
