"""Kinds of replies beyond the corpus: what has one meaning is applied, the rest is refused with its class."""

from __future__ import annotations

import json

import pytest

from cutegen_git.words.errors import PatchError

from .kernels import BLOCK, HEAD, HELPER, KERNEL, NAME, TREE, WANTED, fence, patch, result

SCALE = "   float scale = rsqrtf(part[0] / cols + kEps);\n"
TWIN = " \n-  float scale = rsqrtf(part[0] / cols + kEps);\n+  float scale = rsqrtf(part[0] / cols);\n"
TWIN_SECOND = KERNEL[: KERNEL.index("norm_f16")] + KERNEL[KERNEL.index("norm_f16") :].replace(
    "part[0] / cols + kEps", "part[0] / cols"
)


@pytest.mark.parametrize(
    "reply",
    [
        fence(HEAD + "@@ -5,4 +5,4 @@\n" + BLOCK),
        fence(HEAD + "@@ -5,4 +5,4 @@ namespace rms {\n" + BLOCK),
        fence(HEAD + "@@ ... @@\n" + BLOCK),
        fence(HEAD + "@@ @@\n" + BLOCK),
        fence(HEAD + "@@\n" + BLOCK),
        fence(HEAD + "@@ -?,? +?,? @@\n" + BLOCK),
        fence(HEAD + "@@ -1,99 +1,2 @@\n" + BLOCK),
        fence(HEAD + "@@ -5 +5 @@\n" + BLOCK),
        fence(HEAD + BLOCK),
        HEAD + "@@ -5,4 +5,4 @@\n" + BLOCK,
        "Larger blocks.\n\n" + HEAD + "@@ -5,4 +5,4 @@\n" + BLOCK + "\nThis should help.\n- maybe\n",
        HEAD + "@@ ... @@\n" + BLOCK + "\nThis should help.\n",
        fence(HEAD + "@@ -5,4 +5,4 @@\n" + BLOCK, "patch"),
        fence(HEAD + "@@ -5,4 +5,4 @@\n" + BLOCK, ""),
        fence(HEAD + "@@ -5,4 +5,4 @@\n" + BLOCK, "cpp"),
        "~~~diff\n" + HEAD + "@@ -5,4 +5,4 @@\n" + BLOCK + "~~~\n",
        "````diff\n" + HEAD + "@@ -5,4 +5,4 @@\n" + BLOCK + "````\n",
        "```markdown\nThe patch:\n" + fence(HEAD + "@@ -5,4 +5,4 @@\n" + BLOCK) + "```\n",
        "> " + fence(HEAD + "@@ -5,4 +5,4 @@\n" + BLOCK).rstrip("\n").replace("\n", "\n> ") + "\n",
        "<think>\nmaybe\n</think>\n" + fence(HEAD + "@@ @@\n" + BLOCK),
        "so I think\n</think>\n" + fence(HEAD + "@@ @@\n" + BLOCK),
        "<thinking>" + fence(HEAD + "@@ @@\n" + BLOCK.replace("512", "64")) + "</thinking>\n" + fence(HEAD + "@@ @@\n" + BLOCK),
        json.dumps({"reason": "x", "patch": HEAD + "@@ -5,4 +5,4 @@\n" + BLOCK}),
        fence(f"diff --git a/{NAME} b/{NAME}\nindex 1234567..89abcde 100644\n" + HEAD + "@@ -5,4 +5,4 @@\n" + BLOCK),
        fence(f"--- {NAME}\n+++ {NAME}\n@@ -5,4 +5,4 @@\n" + BLOCK),
        fence(f"--- ./{NAME}\n+++ ./{NAME}\n@@ -5,4 +5,4 @@\n" + BLOCK),
        fence(f"--- old/{NAME}\n+++ new/{NAME}\n@@ -5,4 +5,4 @@\n" + BLOCK),
        fence(f'--- "a/{NAME}"\n+++ "b/{NAME}"\n@@ -5,4 +5,4 @@\n' + BLOCK),
        fence(f"--- a/{NAME}\t2026-01-01 10:00:00\n+++ b/{NAME}\t2026-01-01 10:00:01\n@@ @@\n" + BLOCK),
        fence(f"--- a/{NAME} 2026-01-01 10:00:00.0 +0100\n+++ b/{NAME} 2026-01-01 10:00:00.0 +0100\n@@ @@\n" + BLOCK),
        fence("--- a/kernel\\kernel.cu\n+++ b/kernel\\kernel.cu\n@@ @@\n" + BLOCK),
        fence("--- a/kernel.cu\n+++ b/kernel.cu\n@@ @@\n" + BLOCK),
        fence("--- a/src/deep/kernel.cu\n+++ b/src/deep/kernel.cu\n@@ @@\n" + BLOCK),
        fence("--- a/kernel/Kernel.cu\n+++ b/kernel/Kernel.cu\n@@ @@\n" + BLOCK),
        fence(f"+++ b/{NAME}\n@@ -5,4 +5,4 @@\n" + BLOCK),
        fence(f"*** a/{NAME}\n--- a/{NAME}\n+++ b/{NAME}\n@@ -5,4 +5,4 @@\n" + BLOCK),
        f"In `{NAME}`:\n\n" + fence("@@ -5,4 +5,4 @@\n" + BLOCK),
        f"**{NAME}**\n" + fence(BLOCK),
        fence("@@ -5,4 +5,4 @@\n" + BLOCK),
        fence(f"{NAME}\n@@ -5,4 +5,4 @@\n" + BLOCK),
        fence(HEAD + "@@ -5,4 +5,4 @@\n" + BLOCK).replace("\n", "\r\n"),
        "\ufeff" + fence(HEAD + "@@ -5,4 +5,4 @@\n" + BLOCK),
        fence(HEAD + "@@ -5,4 +5,4 @@\n" + BLOCK) * 2,
        fence(HEAD + "@@ -5,4 +5,4 @@\n" + BLOCK) + "For reference, the line was\n\n```cpp\nconstexpr int kBlock = 256;\n```\n",
        f"*** Begin Patch\n*** Update File: {NAME}\n@@\n{BLOCK}*** End Patch\n",
        f"```\n*** Begin Patch\n*** Update File: {NAME}\n{BLOCK}*** End of File\n*** End Patch\n```\n",
        f"*** Begin Patch\n*** Update File: {NAME}\n@@ namespace rms {{\n{BLOCK}*** End Patch",
        f"{NAME}\n<<<<<<< SEARCH\nconstexpr int kBlock = 256;\n=======\nconstexpr int kBlock = 512;\n>>>>>>> REPLACE\n",
        f"```cpp\n{NAME}\n<<<<<<< SEARCH\nconstexpr int kBlock = 256;\n=======\nconstexpr int kBlock = 512;\n>>>>>>> REPLACE\n```\n",
        "<<<<<<< ORIGINAL\nconstexpr int kBlock = 256;\n=======\nconstexpr int kBlock = 512;\n>>>>>>> UPDATED\n",
        fence(WANTED, f"cpp {NAME}"),
        f"### {NAME}\n\n" + fence(WANTED, "cuda"),
fence(WANTED, "cpp"),
        fence(HEAD + "@@ -1,42 +1,42 @@\n" + "".join(f"+{line}\n" for line in WANTED.split("\n")[:-1])),
        fence(HEAD + "@@ @@\n" + "".join(f"-{line}\n" for line in KERNEL.split("\n")[:-1])
              + "".join(f"+{line}\n" for line in WANTED.split("\n")[:-1])),
    ],
)  # fmt: skip
def test_the_same_change_is_read_from_any_wrapping(reply: str) -> None:
    tree = {NAME: TREE[NAME]} if "ORIGINAL" in reply or reply == fence("@@ -5,4 +5,4 @@\n" + BLOCK) else TREE
    assert result(reply, tree) == WANTED


def test_lost_blank_signs_and_stripped_blank_lines_do_not_matter() -> None:
    stripped = BLOCK.replace(" \n", "\n")
    assert result(fence(HEAD + "@@ -5,4 +5,4 @@\n" + stripped)) == WANTED
    assert result(fence(HEAD + "@@ @@\n" + stripped + "\n\n")) == WANTED


def test_blank_lines_that_the_reply_left_out_are_kept_in_the_file() -> None:
    diff = "@@ @@\n namespace rms {\n-constexpr int kBlock = 256;\n+constexpr int kBlock = 512;\n constexpr float kEps = 1e-6f;\n"
    assert result(fence(HEAD + diff)) == WANTED


def test_non_breaking_blanks_in_context_and_added_lines() -> None:
    diff = "@@ @@\n   __shared__ float part[kBlock / 32];\n".replace("  __", "\u00a0\u00a0__", 1)
    diff += " \n   float acc = 0.f;\n   for (int c = threadIdx.x; c < cols; c += kBlock) {\n"
    diff += "-    acc += x[c] * x[c];\n+\u00a0\u00a0\u00a0\u00a0acc = fmaf(x[c],\u00a0x[c], acc);\n   }\n"
    assert result(fence(HEAD + diff)) == KERNEL.replace("acc += x[c] * x[c];", "acc = fmaf(x[c], x[c], acc);")


def test_added_lines_follow_the_indent_of_the_file() -> None:
    tabs = KERNEL.replace("    ", "\t\t").replace("\n  ", "\n\t")
    diff = "@@ @@\n   for (int c = threadIdx.x; c < cols; c += kBlock) {\n-    acc += x[c] * x[c];\n+    float v = x[c];\n+    acc += v * v;\n   }\n"
    assert result(fence(HEAD + diff), {**TREE, NAME: tabs.encode()}) == tabs.replace(
        "acc += x[c] * x[c];", "float v = x[c];\n\t\tacc += v * v;"
    )


def test_a_shifted_hunk_is_shifted_back() -> None:
    diff = "@@ @@\n for (int c = threadIdx.x; c < cols; c += kBlock) {\n-  acc += x[c] * x[c];\n+  float v = x[c];\n+  acc += v * v;\n }\n"
    assert result(fence(HEAD + diff)) == KERNEL.replace(
        "acc += x[c] * x[c];", "float v = x[c];\n    acc += v * v;"
    )


def test_signs_followed_by_a_blank_are_understood() -> None:
    assert (
        result(fence(HEAD + "@@ @@\n- constexpr int kBlock = 256;\n+ constexpr int kBlock = 512;\n"))
        == WANTED
    )


@pytest.mark.parametrize("gutter", ["{n:4d} | ", "{n:5d}\t", "{n}: ", "{n:3d}│ "])
def test_a_line_number_gutter_is_taken_off(gutter: str) -> None:
    old = [
        (5, " ", ""),
        (6, "-", "constexpr int kBlock = 256;"),
        (6, "+", "constexpr int kBlock = 512;"),
        (7, " ", "constexpr float kEps = 1e-6f;"),
    ]
    body = "".join(f"{sign}{gutter.format(n=n)}{text}\n" for n, sign, text in old)
    assert result(fence(HEAD + "@@ -5,3 +5,3 @@\n" + body)) == WANTED
    body = "".join(f"{gutter.format(n=n)}{sign}{text}\n" for n, sign, text in old)
    assert result(fence(HEAD + "@@ -5,3 +5,3 @@\n" + body)) == WANTED


def test_an_escaped_diff_is_unescaped_as_a_whole() -> None:
    diff = "@@ @@\n   float acc = 0.f;\n-  for (int c = threadIdx.x; c &lt; cols; c += kBlock) {\n+  for (int c = threadIdx.x; c &lt; cols &amp;&amp; c &gt;= 0; c += kBlock) {\n     acc += x[c] * x[c];\n"
    assert result(fence(HEAD + diff)) == KERNEL.replace(
        "c < cols; c += kBlock) {\n    acc += x[c] * x",
        "c < cols && c >= 0; c += kBlock) {\n    acc += x[c] * x",
    )
    added = "@@ @@\n constexpr float kEps = 1e-6f;\n+using Tile = Shape&lt;_1, _2&gt;;\n"
    assert "Shape<_1, _2>;" in result(fence(HEAD + added))


def test_entities_that_the_code_means_are_kept() -> None:
    tree = {**TREE, NAME: TREE[NAME].replace(b"namespace rms {", b"// uses &lt; here\nnamespace rms {", 1)}
    diff = "@@ @@\n // uses &lt; here\n+// and &gt; there\n namespace rms {\n"
    assert "// and &gt; there" in result(fence(HEAD + diff), tree)


@pytest.mark.parametrize("start", [28, 33])
def test_a_wrong_number_between_twins_is_refused(start: int) -> None:
    assert result(fence(HEAD + f"@@ -{start},2 +{start},2 @@\n" + TWIN)) == "ambiguous-context"


def test_the_number_decides_between_twins() -> None:
    line = TWIN_SECOND[: TWIN_SECOND.index("part[0] / cols)")].count("\n")
    assert result(fence(HEAD + f"@@ -{line},2 +{line},2 @@\n" + TWIN)) == TWIN_SECOND


@pytest.mark.parametrize(
    "heading",
    [
        "@@ -900,2 +900,2 @@ __global__ void norm_f16(const half* x, half* y, int cols) {",
        "@@ -900,2 +900,2 @@ __global__ void norm_f16(const half* x, ha",
        "@@ __global__ void norm_f16 @@",
        "@@ ... @@ norm_f16",
    ],
)
def test_the_heading_decides_between_twins(heading: str) -> None:
    assert result(fence(f"{HEAD}{heading}\n{TWIN}")) == TWIN_SECOND


def test_a_heading_that_fits_both_twins_is_refused() -> None:
    assert result(fence(f"{HEAD}@@ ... @@ __global__ void\n{TWIN}")) == "ambiguous-context"


def test_the_refusal_of_twins_names_both_places() -> None:
    with pytest.raises(PatchError) as caught:
        patch(fence(HEAD + "@@ @@\n" + TWIN))
    assert "norm_f32" in str(caught.value)
    assert "norm_f16" in str(caught.value)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "no-diff"),
        ("No change is needed.", "no-diff"),
        (fence(""), "no-diff"),
        (fence("constexpr int kBlock = 64;\n", "cpp"), "no-diff"),
        (fence(HEAD), "no-diff"),
        (fence(HEAD + "@@ -5,2 +5,2 @@\n \n constexpr int kBlock = 256;\n"), "no-diff"),
        (fence(HEAD + "@@ @@\n-constexpr int kBlock = 256;\n+constexpr int kBlock = 256;\n"), "reversed-or-already-applied"),
        (fence(HEAD + "@@ @@\n" + BLOCK.replace("256", "0").replace("512", "256")), "reversed-or-already-applied"),
        (fence(HEAD + "@@ @@\n-constexpr int kBlocks = 256;\n+constexpr int kBlocks = 512;\n"), "context-not-found"),
        (fence(HEAD + "@@ @@\n" + BLOCK) + fence(HEAD + "@@ @@\n" + BLOCK.replace("512", "64")), "conflicting-diffs"),
        ("Option 1:\n" + fence(HEAD + "@@ @@\n" + BLOCK) + "Option 2:\n" + fence(HEAD + "@@ @@\n constexpr float kEps = 1e-6f;\n+constexpr int kX = 1;\n"), "conflicting-diffs"),
        (fence(HEAD + "@@ @@\n" + BLOCK + "@@ @@\n-constexpr int kBlock = 256;\n+constexpr int kBlock = 64;\n"), "overlapping-hunks"),
        (fence(HEAD + "@@ @@\n" + BLOCK + "@@ @@\n constexpr float kEps = 1e-6f;\n+int a;\n@@ @@\n constexpr float kEps = 1e-6f;\n+int b;\n"), "overlapping-hunks"),
        (fence("--- a/kernel/other.cu\n+++ b/kernel/other.cu\n@@ @@\n" + BLOCK), "file-not-found"),
        (fence("--- a/reference.py\n+++ b/reference.py\n@@ @@\n-    return x\n+    return 0\n"), "outside-allowed-files"),
        (fence("--- /dev/null\n+++ b/other/new.cuh\n@@ -0,0 +1 @@\n+int x;\n"), "outside-allowed-files"),
        (fence("--- /dev/null\n+++ b/kernel/sub/new.cuh\n@@ -0,0 +1 @@\n+int x;\n"), "outside-allowed-files"),
        (fence("--- /dev/null\n+++ b/kernel/new.cpp\n@@ -0,0 +1 @@\n+int x;\n"), "outside-allowed-files"),
        (fence("--- /dev/null\n+++ b/.git/hooks/x.cu\n@@ -0,0 +1 @@\n+int x;\n"), "outside-allowed-files"),
        (fence("--- /dev/null\n+++ b/kernel/../x.cu\n@@ -0,0 +1 @@\n+int x;\n"), "path-traversal"),
        (fence("--- /dev/null\n+++ b/kernel/..\\..\\x.cu\n@@ -0,0 +1 @@\n+int x;\n"), "path-traversal"),
        (fence('--- /dev/null\n+++ "b/kernel/\\056\\056/x.cu"\n@@ -0,0 +1 @@\n+int x;\n'), "path-traversal"),
        (fence("--- /dev/null\n+++ /tmp/x.cu\n@@ -0,0 +1 @@\n+int x;\n"), "absolute-path"),
        (fence("--- /dev/null\n+++ b//tmp/x.cu\n@@ -0,0 +1 @@\n+int x;\n"), "absolute-path"),
        (fence("--- /dev/null\n+++ C:\\x.cu\n@@ -0,0 +1 @@\n+int x;\n"), "absolute-path"),
        (fence("--- /dev/null\n+++ ~/x.cu\n@@ -0,0 +1 @@\n+int x;\n"), "absolute-path"),
        (fence(f"diff --git a/{NAME} b/{NAME}\nold mode 100644\nnew mode 100755\n" + HEAD + "@@ @@\n" + BLOCK), "mode-change"),
        (fence("diff --git a/kernel/l.cu b/kernel/l.cu\nnew file mode 120000\n--- /dev/null\n+++ b/kernel/l.cu\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n"), "symlink"),
        (fence("diff --git a/kernel/l.cu b/kernel/l.cu\nnew file mode 160000\n--- /dev/null\n+++ b/kernel/l.cu\n@@ -0,0 +1 @@\n+Subproject commit 0123456789012345678901234567890123456789\n"), "mode-change"),
        (fence(f"diff --git a/{NAME} b/kernel.py\nrename from {NAME}\nrename to kernel.py\n"), "outside-allowed-files"),
        (fence(f"diff --git a/{NAME} b/kernel/helper.cuh\nrename from {NAME}\nrename to kernel/helper.cuh\n"), "target-exists"),
        (fence(f"diff --git a/{NAME} b/{NAME}\nBinary files a/{NAME} and b/{NAME} differ\n"), "binary-patch"),
        (fence(f"--- /dev/null\n+++ b/{NAME}\n@@ -0,0 +1 @@\n+int x;\n"), "target-exists"),
        (fence("--- /dev/null\n+++ b/kernel/KERNEL.cu\n@@ -0,0 +1 @@\n+int x;\n"), "target-exists"),
        (fence(f"--- a/{NAME}\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-#include <cuda_runtime.h>\n-#include \"helper.cuh\"\n"), "context-not-found"),
        (fence(HEAD + "@@ -0,0 +1,2 @@\n+int a;\n+int b;\n"), "no-context"),
        (fence(HEAD + "@@ -8,3 +8,5 @@\n+int a;\n+int b;\n"), "no-context"),
        (fence(HEAD + "@@ @@\n" + BLOCK.replace("+constexpr int kBlock = 512;", "+// ... existing code ...")), "elided-content"),
        (fence(HEAD + "@@ @@\n" + BLOCK.replace("+constexpr int kBlock = 512;", "+...")), "elided-content"),
        (fence(HEAD + "@@ @@\n" + BLOCK.replace("+constexpr int kBlock = 512;", "+/* rest of the kernel unchanged */")), "elided-content"),
        (fence(HEAD + "@@ @@\n" + BLOCK.replace("-constexpr", "-...\n-constexpr")), "elided-content"),
        (f"**{NAME}**\n" + fence(WANTED.replace("  float acc = 0.f;\n", "  // ... same as before ...\n"), "cpp"), "elided-content"),
        (f"**{NAME}**\n" + fence(WANTED, "cpp") + f"**{NAME}**\n" + fence(KERNEL.replace("256", "64"), "cpp"), "conflicting-diffs"),
        (f"**{NAME}**\n```cpp\n" + WANTED, "truncated"),
        ("```diff\n" + HEAD + "@@ -5,4 +5,4 @@\n \n-constexpr int kBlock = 256;\n+constexpr int kBl", "truncated"),
        ("```diff\n" + HEAD + "@@ -5,40 +5,44 @@\n" + BLOCK + "@@ -30,20 +30,25 @@\n", "truncated"),
        (HEAD + "@@ -5,9 +5,9 @@\n \n-constexpr int kBlock = 256;\n+constexpr int kBl", "truncated"),
        ("<think>\nI wonder " + fence(HEAD + "@@ @@\n" + BLOCK), "truncated"),
        (f"{NAME}\n<<<<<<< SEARCH\nconstexpr int kBlock = 256;\n=======\nconstexpr", "truncated"),
        (f"*** Begin Patch\n*** Update File: {NAME}\n@@\n{BLOCK}", "truncated"),
        (f"{NAME}\n<<<<<<< SEARCH\n=======\nint x;\n>>>>>>> REPLACE\n", "no-context"),
    ],
)  # fmt: skip
def test_what_has_no_single_meaning_is_refused(reply: str, problem: str) -> None:
    assert result(reply) == problem


def test_no_sign_is_lost_where_a_kept_line_lost_its_own() -> None:
    diff = "@@ ... @@\n namespace rms {\n\nconstexpr int kBlock = 256;\n+constexpr int kMore = 1;\n constexpr float kEps = 1e-6f;\n"
    want = KERNEL.replace("kBlock = 256;\n", "kBlock = 256;\nconstexpr int kMore = 1;\n")
    assert result(HEAD + diff) == want
    assert result(HEAD + diff + "\nThat is all.\n") == want


def test_a_diff_and_a_new_file_in_a_named_fence_belong_together() -> None:
    new = "**kernel/tile.cuh**\n```cpp\n#pragma once\nint x;\n```\n"
    done = patch(fence(HEAD + "@@ @@\n" + BLOCK) + new)
    assert done.files == {NAME: WANTED.encode(), "kernel/tile.cuh": b"#pragma once\nint x;\n"}


def test_a_whole_file_beside_a_diff_must_agree_with_it() -> None:
    diff = fence(HEAD + "@@ @@\n" + BLOCK)
    assert result(diff + f"**{NAME}**\n" + fence(WANTED, "cpp")) == WANTED
    assert result(diff + f"**{NAME}**\n" + fence(KERNEL, "cpp")) == WANTED
    assert result(diff + f"**{NAME}**\n" + fence(WANTED.replace("512", "64"), "cpp")) == "conflicting-diffs"


@pytest.mark.parametrize(
    ("goal", "problem"),
    [
        ("kernel/sub/helper.cuh", "outside-allowed-files"),
        ("src/helper.cuh", "outside-allowed-files"),
        ("helper.cuh", "outside-allowed-files"),
        ("../helper.cuh", "path-traversal"),
        ("kernel/kernel.cu", "target-exists"),
    ],
)
@pytest.mark.parametrize("verb", ["rename", "copy"])
def test_a_rename_or_copy_stays_inside_the_allowed_files(verb: str, goal: str, problem: str) -> None:
    head = f"diff --git a/kernel/helper.cuh b/{goal}\n{verb} from kernel/helper.cuh\n{verb} to {goal}\n"
    assert result(fence(head)) == problem
    hunk = f"--- a/kernel/helper.cuh\n+++ b/{goal}\n@@ @@\n-  return 0.5f * v;\n+  return v;\n"
    assert result(fence(head + hunk)) == problem
    move = f"*** Begin Patch\n*** Update File: kernel/helper.cuh\n*** Move to: {goal}\n@@\n-  return 0.5f * v;\n+  return v;\n*** End Patch\n"
    assert result(move) == problem


def test_a_copy_leaves_the_source() -> None:
    head = "diff --git a/kernel/helper.cuh b/kernel/half.cuh\ncopy from kernel/helper.cuh\ncopy to kernel/half.cuh\n"
    hunk = "--- a/kernel/helper.cuh\n+++ b/kernel/half.cuh\n@@ @@\n-  return 0.5f * v;\n+  return v;\n"
    assert patch(fence(head + hunk)).files == {"kernel/half.cuh": HELPER.replace("0.5f * v", "v").encode()}


def test_a_header_that_names_two_files_is_refused() -> None:
    two = f"--- a/{NAME}\n+++ b/kernel/fast.cu\n@@ @@\n" + BLOCK
    assert result(fence(two)) == "no-file-name"
    assert result(fence(two.replace("kernel/fast.cu", "kernel/helper.cuh"))) == "no-file-name"
    assert result(fence(f"--- a/{NAME}.orig\n+++ b/{NAME}\n@@ @@\n" + BLOCK)) == WANTED


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS", "content_filter"])
def test_a_cut_reply_is_refused_even_if_it_would_apply(reason: str) -> None:
    assert result(fence(HEAD + "@@ @@\n" + BLOCK), finish_reason=reason) == "truncated"


def test_an_open_fence_is_fine_when_the_last_hunk_is_whole() -> None:
    assert result("```diff\n" + HEAD + "@@ -5,4 +5,4 @@\n" + BLOCK) == WANTED


def test_one_error_lists_every_failing_hunk() -> None:
    bad = "@@ @@\n-int nowhere;\n+int here;\n@@ @@\n" + TWIN + "@@ @@\n-int missing;\n+int found;\n"
    with pytest.raises(PatchError) as caught:
        patch(fence(HEAD + "@@ @@\n" + BLOCK + bad))
    text = str(caught.value)
    assert all(
        part in text for part in ("nowhere", "missing", "ambiguous-context", "hunk 2", "hunk 3", "hunk 4")
    )


def test_the_error_shows_the_nearest_lines_of_the_file() -> None:
    diff = "@@ @@\n   float acc = 0.f;\n-  for (int c = threadIdx.x; c < cols; c += 999) {\n+  for (;;) {\n     acc += x[c] * x[c];\n"
    with pytest.raises(PatchError) as caught:
        patch(fence(HEAD + diff))
    assert "+   for (int c = threadIdx.x; c < cols; c += kBlock) {" in str(caught.value)
    assert "line 12" in str(caught.value)


def test_a_later_hunk_may_build_on_an_earlier_one() -> None:
    second = "@@ @@\n constexpr int kBlock = 512;\n+constexpr int kWarps = kBlock / 32;\n constexpr float kEps = 1e-6f;\n"
    assert result(fence(HEAD + "@@ @@\n" + BLOCK + second)) == WANTED.replace(
        "512;\n", "512;\nconstexpr int kWarps = kBlock / 32;\n"
    )


def test_identical_hunks_for_all_twins_are_applied_to_all() -> None:
    assert result(fence(HEAD + ("@@ @@\n" + TWIN) * 2)) == KERNEL.replace(
        "part[0] / cols + kEps", "part[0] / cols"
    )


def test_all_files_or_none() -> None:
    good = HEAD + "@@ @@\n" + BLOCK
    helper = "--- a/kernel/helper.cuh\n+++ b/kernel/helper.cuh\n@@ -3,3 +3,3 @@\n __device__ inline float half_of(float v) {\n-  return 0.5f * v;\n+  return v / 2;\n }\n"
    assert set(patch(fence(good + helper)).files) == {NAME, "kernel/helper.cuh"}
    assert result(fence(good + helper.replace("0.5f * v", "0.4f * v"))) == "context-not-found"


@pytest.mark.parametrize(
    "reply",
    [
        fence("--- /dev/null\n+++ b/kernel/tile.cuh\n@@ -0,0 +1,2 @@\n+#pragma once\n+int x;\n"),
        fence("diff --git a/kernel/tile.cuh b/kernel/tile.cuh\nnew file mode 100644\n--- /dev/null\n+++ b/kernel/tile.cuh\n@@ -0,0 +1,9 @@\n+#pragma once\n+int x;\n"),
        fence("--- a/kernel/tile.cuh\n+++ b/kernel/tile.cuh\n@@ -0,0 +1,2 @@\n+#pragma once\n+int x;\n"),
        "*** Begin Patch\n*** Add File: kernel/tile.cuh\n+#pragma once\n+int x;\n*** End Patch\n",
        "kernel/tile.cuh\n<<<<<<< SEARCH\n=======\n#pragma once\nint x;\n>>>>>>> REPLACE\n",
        "**kernel/tile.cuh**\n```cpp\n#pragma once\nint x;\n```\n",
    ],
)  # fmt: skip
def test_a_new_file_is_created(reply: str) -> None:
    assert patch(reply).files == {"kernel/tile.cuh": b"#pragma once\nint x;\n"}


@pytest.mark.parametrize(
    "reply",
    [
        fence("--- a/kernel/helper.cuh\n+++ /dev/null\n@@ -1,5 +0,0 @@\n" + "".join(f"-{line}\n" for line in HELPER.split("\n")[:-1])),
        fence("diff --git a/kernel/helper.cuh b/kernel/helper.cuh\ndeleted file mode 100644\nindex 1234567..0000000\n"),
        "*** Begin Patch\n*** Delete File: kernel/helper.cuh\n*** End Patch\n",
    ],
)  # fmt: skip
def test_a_file_is_deleted(reply: str) -> None:
    assert patch(reply).files == {"kernel/helper.cuh": None}


def test_a_pure_rename_moves_the_bytes() -> None:
    reply = "diff --git a/kernel/helper.cuh b/kernel/half.cuh\nsimilarity index 100%\nrename from kernel/helper.cuh\nrename to kernel/half.cuh\n"
    assert patch(fence(reply)).files == {"kernel/helper.cuh": None, "kernel/half.cuh": HELPER.encode()}


def test_a_link_in_the_tree_is_never_written() -> None:
    tree = {name: text for name, text in TREE.items() if name != "kernel/helper.cuh"}
    reply = fence(
        "--- a/kernel/helper.cuh\n+++ b/kernel/helper.cuh\n@@ @@\n-  return 0.5f * v;\n+  return v;\n"
    )
    assert result(reply, tree, links=["kernel/helper.cuh"]) == "symlink"
    assert result(reply, tree, links=["kernel"]) == "symlink"


def test_crlf_latin1_and_trailing_blanks_of_kept_lines_survive() -> None:
    text = KERNEL.replace("namespace rms {", "namespace rms {  // gr\udcfc\udcdfe  ", 1).replace("\n", "\r\n")
    raw = text.encode("utf-8", "surrogateescape")
    diff = "@@ @@\n namespace rms {  // grüße\n \n-constexpr int kBlock = 256;\n+constexpr int kBlock = 512;  // für\n"
    got = result(fence(HEAD + diff), {**TREE, NAME: raw})
    assert got == text.replace("kBlock = 256;", "kBlock = 512;  // f\udcfcr")


def test_the_last_line_is_ended_before_something_is_appended() -> None:
    open_end = KERNEL.rstrip("\n")
    diff = "@@ -41,2 +41,3 @@\n   return cudaGetLastError();\n }\n+// end\n"
    assert result(fence(HEAD + diff), {**TREE, NAME: open_end.encode()}) == KERNEL + "// end\n"
    marked = diff + "\\ No newline at end of file\n"
    assert result(fence(HEAD + marked), {**TREE, NAME: open_end.encode()}) == KERNEL + "// end"


def test_only_the_final_newline_can_be_changed() -> None:
    open_end = KERNEL.rstrip("\n")
    diff = "@@ -41,2 +41,2 @@\n   return cudaGetLastError();\n-}\n\\ No newline at end of file\n+}\n"
    assert result(fence(HEAD + diff), {**TREE, NAME: open_end.encode()}) == KERNEL


def test_lines_that_look_like_headers_stay_content() -> None:
    old = KERNEL.replace(
        "namespace rms {\n", "/*\n-- low nibble first\n++ high.x nibble\n*/\nnamespace rms {\n", 1
    )
    diff = "@@ -4,5 +4,5 @@\n /*\n--- low nibble first\n-++ high.x nibble\n+-- high nibble first\n+++ low.x nibble\n */\n namespace rms {\n"
    got = result(fence(HEAD + diff), {**TREE, NAME: old.encode()})
    assert got == old.replace(
        "-- low nibble first\n++ high.x nibble", "-- high nibble first\n++ low.x nibble"
    )


def test_prose_is_kept_without_the_diff_and_without_thinking() -> None:
    reply = (
        "<think>\nhm\n</think>\n\nLarger blocks hide latency.\n\n"
        + fence(HEAD + "@@ @@\n" + BLOCK)
        + "\nNothing else.\n"
    )
    assert patch(reply).prose == "Larger blocks hide latency.\n\nNothing else."
