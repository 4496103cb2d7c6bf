"""Random edits survive every harmless damage, harmful damage is refused, and nothing ever crashes or strays."""

from __future__ import annotations

import re
import time
from random import Random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from unidiff.patch import PatchSet

from cutegen_git.core.patch import Patch
from cutegen_git.words.errors import PatchError

from .damage import (
    HARMLESS,
    TOGETHER_UNCLEAR,
    WRAPPERS,
    diff_of,
    edited,
    hunks_of,
    is_placeable,
    kernel,
    olds_of,
)
from .kernels import ALLOWED, HEAD, KERNEL, NAME, TREE, fence, patch, result

SEEDS = st.integers(0, 2**32)
CALM = settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))


def example(seed: int, *, lines: int = 60, tabs: bool = False) -> tuple[Random, str, str, str]:
    """A kernel, an edit of it and the diff between them."""
    random = Random(seed)
    old = kernel(random, lines, tabs=tabs)
    new = edited(random, old, random.randint(1, 4))
    diff = diff_of(old, new)
    assume(old != new)
    assume(is_placeable(old, diff))
    return random, old, new, diff


def tree(text: str) -> dict[str, bytes]:
    return {**TREE, NAME: text.encode()}


@CALM
@given(
    seed=SEEDS,
    damages=st.sets(st.sampled_from(sorted(HARMLESS)), max_size=5),
    wrapper=st.sampled_from(sorted(WRAPPERS)),
)
def test_harmless_damage_gives_exactly_the_intended_text(seed: int, damages: set[str], wrapper: str) -> None:
    assume(not any(pair <= damages for pair in TOGETHER_UNCLEAR))
    random, old, new, diff = example(seed)
    for name in sorted(damages):
        diff = HARMLESS[name](random, diff)
    assert result(WRAPPERS[wrapper](diff), tree(old)) == new


@CALM
@given(seed=SEEDS, crlf=st.booleans(), tabs=st.booleans(), tail=st.booleans())
def test_the_file_keeps_its_line_ends_indents_and_odd_bytes(
    seed: int, crlf: bool, tabs: bool, tail: bool
) -> None:
    random, old, new, diff = example(seed, tabs=tabs)
    if tabs:
        diff = re.sub(r"(?m)^([ +-])(\t+)", lambda m: m[1] + "    " * len(m[2]), diff)
    if crlf:
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    extra = ("// gr\udcfc\udcdf  " + ("\r\n" if crlf else "\n")) * 4 if tail else ""
    raw = (extra + old).encode("utf-8", "surrogateescape")
    got = result(fence(re.sub(r"(?m)^@@ .*", "@@ @@", diff)), {**TREE, NAME: raw})
    assert got == extra + new


@CALM
@given(seed=SEEDS)
def test_a_changed_kept_or_removed_line_is_refused(seed: int) -> None:
    random, old, _, diff = example(seed)
    head, hunks = hunks_of(diff)
    at = random.randrange(len(hunks))
    lines = hunks[at].split("\n")
    solid = [n for n, line in enumerate(lines) if n and re.match(r"[ -].*\w", line)]
    n = random.choice(solid)
    lines[n] = re.sub(r"\w(?=\W*$)", "Q", lines[n])
    hunks[at] = "\n".join(lines)
    assume(olds_of(hunks[at]) not in old)
    assert result(fence(head + "".join(hunks)), tree(old)) in (
        "context-not-found",
        "reversed-or-already-applied",
    )


@CALM
@given(seed=SEEDS)
def test_a_second_place_makes_a_hunk_without_numbers_ambiguous(seed: int) -> None:
    _, old, _, diff = example(seed, lines=25)
    head, hunks = hunks_of(diff)
    assert (
        result(fence(head + "@@ @@\n" + hunks[0].split("\n", 1)[1]), tree(old + "int between;\n" + old))
        == "ambiguous-context"
    )


@CALM
@given(seed=SEEDS, keep=st.floats(0.2, 0.95))
def test_a_reply_cut_inside_its_last_hunk_is_refused(seed: int, keep: float) -> None:
    _, old, new, diff = example(seed)
    head, hunks = hunks_of(diff)
    last = hunks[-1]
    body = last.split("\n")[1:-1]
    cut = last[: len(last.split("\n")[0]) + 1 + int(keep * len("\n".join(body)))]
    changes = [line for line in body if line[:1] in "+-"]
    assume(not cut.endswith("\n"))
    assume("\n".join(changes) not in "\n".join(line for line in cut.split("\n")[1:] if line[:1] in "+-"))
    assert result("```diff\n" + head + "".join(hunks[:-1]) + cut, tree(old)) == "truncated"
    assert new


@CALM
@given(seed=SEEDS)
def test_every_sign_of_the_reply_is_accounted_for(seed: int) -> None:
    _, old, new, diff = example(seed)
    done = patch(fence(re.sub(r"(?m)^@@ .*", "@@ ... @@", diff)), tree(old))
    signs = [line for line in diff.split("\n") if line[:1] in ("+", "-") and line[:3] not in ("+++", "---")]
    assert done.added + done.removed == len(signs)
    assert done.diff == diff
    parsed = PatchSet(done.diff)
    assert (parsed.added, parsed.removed) == (done.added, done.removed)
    assert done.files[NAME] == new.encode()


def checked(reply: bytes, files: dict[str, bytes]) -> Patch | None:
    """The patch, if the reply gives one; anything but a patch inside kernel/ or a PatchError fails the test."""
    start = time.process_time()
    try:
        done = patch(reply, files)
    except PatchError as error:
        return None if str(error) else pytest.fail("a refusal without a reason")
    finally:
        assert time.process_time() - start < 5
    assert all(re.fullmatch(r"kernel/[^/]+\.cuh?", name) for name in done.files)
    return done


@settings(CALM, max_examples=200)
@given(raw=st.binary(max_size=400))
def test_any_bytes_give_a_patch_or_a_refusal(raw: bytes) -> None:
    checked(raw, TREE)
    checked(b"```diff\n" + raw, TREE)
    checked(HEAD.encode() + b"@@ @@\n" + raw, TREE)


PIECES = [
    "```diff\n", "```\n", "```cpp\n", HEAD, "@@ -5,4 +5,4 @@\n", "@@ @@\n", "+int x;\n", "-constexpr int kBlock = 256;\n", "\n", " \n",
    " namespace rms {\n", "...\n", "<think>\n", "</think>\n", "<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE\n", "*** Begin Patch\n",
    "*** End Patch\n", f"*** Update File: {NAME}\n", "*** Add File: kernel/n.cu\n", "--- /dev/null\n", "+++ b/../x.cu\n", "+++ b/kernel/n.cuh\n",
    "rename from kernel/helper.cuh\n", "rename to kernel/n.cuh\n", "deleted file mode 100644\n", f"diff --git a/{NAME} b/{NAME}\n", "\\ No newline at end of file\n",
    "GIT binary patch\n", "new file mode 120000\n", "@@ -0,0 +1 @@\n", "> ", "   ", "\r", "  12 | ", "&lt;", f"**{NAME}**\n", KERNEL, '{"patch": "', "\x00", "\udcff",
]  # fmt: skip


@settings(CALM, max_examples=200)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=25))
def test_any_mixture_of_formats_gives_a_patch_or_a_refusal(pieces: list[str]) -> None:
    checked("".join(pieces).encode("utf-8", "surrogateescape"), TREE)


@pytest.mark.parametrize(
    "piece",
    ["```\n", "```diff\n", "@@\n", "+x\n", "-x\n", " x\n", "</think>\n", "> ```\n", "<<<<<<< SEARCH\n", "--- a/k.cu\n+++ b/k.cu\n",
     "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n", "@@ @@\n-nothing\n+x\n", "*** Begin Patch\n", "diff --git a/x b/x\n", " ", "(", ".", "-", "`"],
)  # fmt: skip
def test_repetition_without_end_costs_little(piece: str) -> None:
    for head in ("", HEAD, HEAD + "@@ @@\n"):
        start = time.process_time()
        checked((head + piece * 4000).encode(), TREE)
        assert time.process_time() - start < 2


@pytest.mark.slow
def test_ten_thousand_mutated_replies_are_safe_and_fast() -> None:
    """No crash, nothing outside kernel/, and none takes more than 100 ms on a file of 3,000 lines."""
    random = Random(7)
    text = kernel(random, 3000)
    files = tree(text)
    pool = [
        WRAPPERS[name](diff_of(text, edited(random, text, random.randint(1, 6))))
        for name in sorted(WRAPPERS)
        for _ in range(3)
    ]
    worst = 0.0
    applied = 0
    for _ in range(10_000):
        reply = (
            mutated(random, random.choice(pool))
            if random.random() < 0.8
            else random.randbytes(random.randint(0, 3000))
        )
        start = time.process_time()
        try:
            done = patch(reply, files)
            applied += 1
            assert all(re.fullmatch(r"kernel/[^/]+\.cuh?", name) for name in done.files)
        except PatchError:
            pass
        took = time.process_time() - start
        if took > 0.1:  # a pause of the interpreter or a busy machine is not the engine's time
            took = min(took, timed(reply, files))
        worst = max(worst, took)
    assert worst < 0.1
    assert applied > 500


def timed(reply: bytes, files: dict[str, bytes]) -> float:
    times = []
    for _ in range(3):
        start = time.process_time()
        try:
            patch(reply, files)
        except PatchError:
            pass
        times.append(time.process_time() - start)
    return min(times)


def mutated(random: Random, reply: str) -> bytes:
    """A reply with a few lines dropped, doubled, moved, or bytes changed."""
    lines = reply.split("\n")
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(lines))
        kind = random.randrange(6)
        if kind == 0:
            del lines[at : at + random.randint(1, 3)]
        elif kind == 1:
            lines[at:at] = lines[at : at + random.randint(1, 40)]
        elif kind == 2:
            lines.insert(random.randrange(len(lines) + 1), random.choice(PIECES).rstrip("\n"))
        elif kind == 3:
            lines[at] = lines[at][random.randint(0, 3) :]
        elif kind == 4:
            lines = lines[: max(at, 1)]
        else:
            lines[at] += chr(random.randrange(1, 0x2100))
        lines = lines or [""]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def test_the_allowed_globs_are_those_of_the_product() -> None:
    assert ALLOWED == ("kernel/*.cu", "kernel/*.cuh")
