"""Random kernels, random edits of them, and the ways in which a reply can be damaged on its way."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from cutegen_git.core.patch import canon

from .kernels import NAME

_WORDS = ["acc", "tile", "row", "smem", "frag", "lane", "warp", "bias", "scale", "total", "part", "stage"]
_COMMON = ["", "", "  }", "}", "  __syncthreads();", "#pragma unroll", "    cp_async_fence();"]


def kernel(random: Random, lines: int, *, tabs: bool = False) -> str:
    """A kernel-like text: some lines often, most lines once."""
    out = ["#include <cuda_runtime.h>", ""]
    for n in range(lines):
        if random.random() < 0.35:
            out.append(random.choice(_COMMON))
        else:
            a, b = random.choice(_WORDS), random.choice(_WORDS)
            depth = "  " * random.randint(0, 3)
            out.append(random.choice([
                f"{depth}float {a}_{n} = {b}[{n}] * x;",
                f"{depth}for (int i = 0; i < {n}; ++i) {a}<{n}>(i && {n});",
                f'{depth}asm volatile("mov.{a} %0, {n};");',
                f"{depth}// {a} {b}'s note {n}",
                f"__global__ void {a}_{n}(float* {b}) {{",
            ]))  # fmt: skip
    text = "\n".join(out) + "\n"
    return re.sub(r"(?m)^( {2})+", lambda m: "\t" * (len(m[0]) // 2), text) if tabs else text


def edited(random: Random, text: str, edits: int) -> str:
    """The text with some lines changed, inserted and removed."""
    lines = text.split("\n")[:-1]
    for k in range(edits):
        at = random.randrange(len(lines))
        kind = random.random()
        fresh = [
            f"{lines[at][: len(lines[at]) - len(lines[at].lstrip())]}int fresh_{k}_{j} = {j} < 3;"
            for j in range(random.randint(1, 4))
        ]
        if kind < 0.4:
            lines[at : at + 1] = fresh
        elif kind < 0.7:
            lines[at:at] = fresh
        else:
            del lines[at : at + random.randint(1, 3)]
        lines = lines or ["int rest;"]
    return "\n".join(lines) + "\n"


def diff_of(old: str, new: str) -> str:
    return canon.unified({NAME: old.encode()}, {NAME: new.encode()})[0]


def hunks_of(diff: str) -> tuple[str, list[str]]:
    """The header of a one-file diff and its hunks."""
    head, *rest = re.split(r"(?m)^(?=@@ )", diff)
    return head, rest


def olds_of(hunk: str) -> str:
    """The text that a hunk expects to find."""
    lines = hunk.split("\n")[1:-1]
    return "".join(line[1:] + "\n" for line in lines if line[:1] in (" ", "-"))


def is_placeable(old: str, diff: str) -> bool:
    """Does every hunk fit one place only, and hold something to recognise?"""
    return all(
        ("\n" + old).count("\n" + olds_of(hunk)) == 1
        and len(re.findall(r"_\d+|, \d+|note", olds_of(hunk))) >= 2
        for hunk in hunks_of(diff)[1]
    )


def _body(change: Callable[[str], str]) -> Callable[[Random, str], str]:
    """A damage to the lines of hunks."""

    def damage(_: Random, diff: str) -> str:
        head, hunks = hunks_of(diff)
        out = head
        for hunk in hunks:
            first, *lines = hunk.split("\n")[:-1]
            out += "\n".join([first, *(change(line) for line in lines)]) + "\n"
        return out

    return damage


def _headers(change: Callable[[Random, str], str]) -> Callable[[Random, str], str]:
    return lambda random, diff: re.sub(r"(?m)^@@ -.*$", lambda match: change(random, match[0]), diff)


def _numbers(random: Random, header: str) -> str:
    return re.sub(
        r"-\d+(,\d+)? \+\d+",
        lambda m: f"-{random.randint(1, 9999) + 10000}{m[1] or ''} +{random.randint(1, 99)}",
        header,
    )


def _counts(random: Random, header: str) -> str:
    return re.sub(
        r"-(\d+)(?:,\d+)? \+(\d+)(?:,\d+)?",
        lambda m: f"-{m[1]},{random.randint(1, 40)} +{m[2]},{random.randint(1, 40)}",
        header,
    )


def _shuffled(random: Random, diff: str) -> str:
    head, hunks = hunks_of(diff)
    random.shuffle(hunks)
    return head + "".join(hunks)


def _gutter(random: Random, diff: str) -> str:
    n = random.randint(1, 500)
    return _body(lambda line: f"{line[:1]}{n:4d} | {line[1:]}")(random, diff)


def _escaped(_: Random, diff: str) -> str:
    return diff.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _quotes(line: str) -> str:
    return line.replace('"', "”").replace("'", "’") if line.startswith(" ") else line


def _no_sign(line: str) -> str:
    return line[1:] if line.startswith(" ") else line


HARMLESS: dict[str, Callable[[Random, str], str]] = {
    "wrong numbers": _headers(_numbers),
    "wrong counts": _headers(_counts),
    "no numbers": _headers(lambda random, _: random.choice(["@@ ... @@", "@@ @@", "@@"])),
    "no heading": _headers(lambda _, header: re.sub(r"(@@.*?@@).*", r"\1", header)),
    "shuffled hunks": _shuffled,
    "blank context stripped": _body(lambda line: "" if line == " " else line),
    "context without sign": _body(_no_sign),
    "trailing blanks": _body(lambda line: line + "  " if line.startswith((" ", "-")) else line),
    "typographic quotes": _body(_quotes),
    "no-break blanks": _body(
        lambda line: line[:1] + line[1:].replace(" ", "\u00a0") if line.startswith((" ", "-")) else line
    ),
    "gutter": _gutter,
    "entities": _escaped,
    "no git header": lambda _, diff: re.sub(r"(?m)^(diff --git|index) .*\n", "", diff),
    "no prefixes": lambda _, diff: diff.replace(f" a/{NAME}", f" {NAME}").replace(f" b/{NAME}", f" {NAME}"),
    "time stamps": lambda _, diff: re.sub(r"(?m)^((---|\+\+\+) .*)$", "\\1\t2026-12-01 10:00:00 +0100", diff),
    "invented folder": lambda _, diff: diff.replace(NAME, "src/cuda/kernel.cu"),
}
# Pairs that give a reply more than one meaning: a gutter hides lost signs, and so on.
TOGETHER_UNCLEAR = [
    {"gutter", "context without sign"},
    {"gutter", "blank context stripped"},
    {"gutter", "no-break blanks"},
    {"gutter", "typographic quotes"},
]

WRAPPERS: dict[str, Callable[[str], str]] = {
    "fence": lambda diff: f"```diff\n{diff}```\n",
    "patch fence": lambda diff: f"Here it is:\n\n```patch\n{diff}```\nDone.\n",
    "long fence": lambda diff: f"`````\n{diff}`````",
    "list item": lambda diff: (
        "1. Do this:\n\n   ```diff\n" + "".join(f"   {line}\n" for line in diff.split("\n")[:-1]) + "   ```\n"
    ),
    "thinking": lambda diff: (
        f"<think>\n```diff\n{diff.replace('fresh', 'draft')}```\n</think>\n\n```diff\n{diff}```\n"
    ),
    "code before": lambda diff: f"See\n\n```cpp\nint x = 3;\n```\n\n```diff\n{diff}```\n\n- a\n- b\n",
    "crlf": lambda diff: f"Text\n```diff\n{diff}```\n".replace("\n", "\r\n"),
    "twice": lambda diff: f"```diff\n{diff}```\nAgain, the whole patch:\n```diff\n{diff}```\n",
}
