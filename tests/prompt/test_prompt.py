"""The shipped prompts render for every move and family, say what they must, and can be overridden safely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from cutegen_git.core import abi
from cutegen_git.core.prompt import Asked, PromptFacts, Situation, build, merged, shorter
from cutegen_git.core.prompt_lines import (
    Tried,
    device_text,
    fenced,
    kind_of,
    middle_out,
    precision_text,
    size_lines,
    standing_lines,
    tensor_lines,
    tried_lines,
)
from cutegen_git.hands.model.templates import shipped
from cutegen_git.words.device import Device
from cutegen_git.words.errors import PatchProblem, TaskError
from cutegen_git.words.task import (
    Family,
    Precision,
    Role,
    ScalarKind,
    ScalarSpec,
    Signature,
    Task,
    TensorSpec,
    Workload,
)
from cutegen_git.words.verdict import Outcome, Resources, Timing, Verdict

TASK = Task(
    name="gemm",
    family=Family.MATMUL,
    arch="sm_89",
    device="rtx4090",
    signature=Signature(
        (
            TensorSpec("A", "float32", ("M", "K")),
            TensorSpec("W", "bfloat16", ("K", "N"), constant=True, layout="col"),
            ScalarSpec("alpha", ScalarKind.FLOAT),
        ),
        (TensorSpec("C", "float32", ("M", "N")),),
        ("M", "N", "K"),
    ),
    workloads=(
        Workload({"M": 4096, "N": 4096, "K": 4096}, Role.RANK),
        Workload({"M": 33, "N": 17, "K": 5}, Role.CHECK),
    ),
)
SOURCE = 'extern "C" cudaError_t launch(const Args& a, cudaStream_t s) { return cudaGetLastError(); }\n'
FACTS = PromptFacts(
    TASK, abi.header(TASK, {}), "def reference(A, W, alpha): ...\n", {"kernel/kernel.cu": SOURCE}
)


def verdict(device_us: float | None, outcome: Outcome = Outcome.PASSED) -> Verdict:
    timing = None
    if device_us is not None:
        timing = Timing(
            2000 / device_us, 1990 / device_us, 2010 / device_us, device_us, device_us + 4, "eager", 2000
        )
    return Verdict(
        outcome, "h200", "h200-lab", "c" * 40, "t" * 40, "task", "sm_89", 0,
        timing=timing, resources=Resources(128, 16384, 8),
    )  # fmt: skip


def user(situation: Situation, facts: PromptFacts = FACTS) -> str:
    return build(situation, facts, shipped()).user


@pytest.mark.parametrize("family", list(Family))
def test_every_family_has_a_menu_of_its_own_that_is_shown(family: Family) -> None:
    templates = shipped()
    facts = replace(FACTS, task=replace(TASK, family=family))
    prompt = build(Situation(Asked.OPTIMISE, "0003"), facts, templates)
    assert templates[f"family/{family.value}.md"].strip() in prompt.user
    assert f"({family.value})" in prompt.system


@pytest.mark.parametrize("outcome", [*PatchProblem, *Outcome, "empty-reply", "refused", "repeated"])
def test_a_repair_is_asked_for_after_every_outcome(outcome: str) -> None:
    name = getattr(outcome, "value", outcome)
    text = user(Situation(Asked.FIX, "0003", name, "FEEDBACK", reply="REPLY", nth=2, of=3))
    for part in (name, "FEEDBACK", SOURCE.strip(), "repair 2 of 3"):
        assert part in text
    assert ("REPLY" in text) == (kind_of(name) == "patch")


def test_a_generation_asks_for_a_new_file_or_for_the_whole_of_an_old_one() -> None:
    fresh = user(Situation(Asked.GENERATE), replace(FACTS, sources={}))
    assert "--- /dev/null" in fresh
    again = user(Situation(Asked.GENERATE))
    assert "/dev/null" not in again
    assert SOURCE.strip() in again


def test_the_system_part_does_not_change_over_a_run() -> None:
    first = build(Situation(Asked.GENERATE), replace(FACTS, sources={}), shipped())
    later = build(
        Situation(Asked.FIX, "0009", "build-error", "error"),
        replace(FACTS, history=(Tried("0001", "tile", "passed", 1.0),), verdict=verdict(1000)),
        shipped(),
    )
    assert first.system == later.system
    assert first.user != later.user


def test_the_system_part_holds_contract_interface_and_task() -> None:
    system = build(Situation(Asked.GENERATE), FACTS, shipped()).system
    for part in (
        FACTS.header.strip(),
        FACTS.reference.strip(),
        "```diff",
        "NAMED namespace",
        "get<0>",
        "16000 tokens",
        "M = 4096, N = 4096, K = 4096",
        "no SM90 or SM100 atoms",
        "`prepare` may pack the constant tensors (W)",
    ):
        assert part in system


def test_a_later_architecture_is_not_told_what_sm_89_lacks() -> None:
    facts = replace(FACTS, task=replace(TASK, arch="sm_90a"))
    assert "no TMA" not in build(Situation(Asked.GENERATE), facts, shipped()).system


def test_an_optimisation_shows_standing_ideas_and_evidence() -> None:
    facts = replace(
        FACTS,
        device="CARD",
        verdict=verdict(2500),
        parent=verdict(3000),
        roof_us=2000.0,
        compiler="PTXAS",
        profile="STALLS",
        history=(Tried("0001", "tile", "passed", 0.67), Tried("0002", "swizzle", "wrong-result")),
    )
    text = user(Situation(Asked.OPTIMISE, "0003"), facts)
    for part in ("CARD", "0.80x of PyTorch (eager)", "80% of the roof", "1.20x faster than", "PTXAS", "STALLS",
                 "0001 tile: 0.67x of PyTorch", "0002 swizzle: wrong-result", "128 registers"):  # fmt: skip
        assert part in text


def test_a_shorter_prompt_keeps_the_sources_and_drops_old_ideas_once() -> None:
    many = replace(FACTS, history=tuple(Tried(f"{n:04d}", "x", "passed") for n in range(20)), profile="P")
    short = shorter(many)
    assert short is not None
    assert [idea.label for idea in short.history] == ["0015", "0016", "0017", "0018", "0019"]
    assert short.sources == many.sources
    assert shorter(short) is None


def test_an_override_takes_the_place_of_a_template_and_an_unknown_one_is_refused() -> None:
    own = merged(shipped(), {"optimise.md.j2": "Only {{ task.name }}.", "family/matmul.md": "mine"})
    assert build(Situation(Asked.OPTIMISE, "1"), FACTS, own).user == "Only gemm.\n"
    with pytest.raises(TaskError, match="overrides nothing"):
        merged(shipped(), {"optimize.md.j2": ""})


@pytest.mark.parametrize(
    "template",
    [
        "{{ nothing }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ task.__init__.__globals__ }}",
        "{{ sources.update({}) }}",
        "{% for x in range(10000000) %}x{% endfor %}",
        "{% include 'missing' %}",
        "{% if %}",
        "{{ 1 / 0 }}",
        "{{ task.name + 1 }}",
    ],
)
def test_a_bad_or_hostile_template_is_a_task_error(template: str) -> None:
    templates = {**shipped(), "optimise.md.j2": template}
    with pytest.raises(TaskError, match=r"prompts/optimise\.md\.j2"):
        build(Situation(Asked.OPTIMISE, "1"), FACTS, templates)


def test_source_text_is_never_a_template() -> None:
    odd: Mapping[str, str] = {"kernel/kernel.cu": "int a[1][1] = {{ 0 }}; {% boo %} {# no #}\n// ````\n"}
    text = user(Situation(Asked.OPTIMISE, "1"), replace(FACTS, sources=odd))
    assert "int a[1][1] = {{ 0 }}; {% boo %} {# no #}" in text
    assert "`````cpp" in text


def test_a_fence_cannot_be_closed_from_inside() -> None:
    assert fenced("a\n```\nb", "cpp") == "````cpp\na\n```\nb\n````"
    assert fenced("a") == "```\na\n```"


def test_tensors_are_described_with_type_shape_and_layout() -> None:
    lines = "\n".join(tensor_lines(TASK))
    assert "`A`: input, float32 (`float`), shape (M, K), row-major, pointer aligned to 16 bytes" in lines
    assert (
        "`W`: constant input, bfloat16 (`cutlass::bfloat16_t`), shape (K, N), last two axes swapped" in lines
    )
    assert "`alpha`: scalar input, float" in lines


def test_sizes_with_weights_say_their_share() -> None:
    two = replace(TASK, workloads=(Workload({"M": 1}, Role.RANK, 3.0), Workload({"M": 2}, Role.RANK)))
    assert size_lines(two) == ["timed: M = 1, 75% of the score", "timed: M = 2, 25% of the score"]
    fixed = replace(TASK, workloads=(Workload({}, Role.RANK),))
    assert size_lines(fixed) == ["timed: the one fixed size"]


def test_what_was_not_timed_says_so() -> None:
    assert standing_lines(None, None, None) == []
    assert standing_lines(verdict(None), None, 5.0) == ["passed on h200, not timed"]
    assert "1.25x slower" in "\n".join(standing_lines(verdict(2500), verdict(2000), None))


def test_ideas_tell_their_effect() -> None:
    assert tried_lines([Tried("0004", "x", "passed", 1.5, 0.5)]) == [
        "0004 x: 1.50x of PyTorch, 2.00x slower than its parent"
    ]


def test_precision_is_told_by_policy() -> None:
    assert "3xTF32" in precision_text(Precision())
    assert "bit for bit" not in precision_text(Precision(deterministic=False))
    assert precision_text(Precision("bfloat16", "float32")).startswith("bfloat16 inputs")
    assert "float64" in precision_text(Precision("float64", "float64"))


def test_a_device_is_told_with_its_limits() -> None:
    text = device_text(Device("rtx4090", "NVIDIA GeForce RTX 4090", 89, 24 * 2**30, 72 * 2**20, 128, "580"))
    for part in ("RTX 4090", "8.9", "128 SMs", "24 GiB", "72 MiB", "99 KB"):
        assert part in text
    assert "times nothing" in device_text(Device("emulator", "emulator", 0, 0, 0, 0, ""))


def test_a_long_reply_is_shown_without_its_middle() -> None:
    assert middle_out("abc", 10) == "abc"
    assert middle_out("a" * 50 + "b" * 50, 20) == "a" * 10 + "\n[... 80 characters left out ...]\n" + "b" * 10


def test_the_prompts_stay_short() -> None:
    for asked in Asked:
        prompt = build(Situation(asked, "1", "wrong-result", "x"), FACTS, shipped())
        assert len(prompt.system) < 18_000
        assert len(prompt.user) < 14_000
