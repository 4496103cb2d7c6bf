"""Our diff of an accepted change is byte for byte the one that git prints."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from random import Random

import pytest
from unidiff.patch import PatchSet

from cutegen_git.core.patch import canon
from cutegen_git.core.patch.text import encode

from .damage import edited, kernel

CORPUS = Path(__file__).parents[1] / "corpus"
ENV = {
    **os.environ,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git_diffs(folder: Path, pairs: dict[str, tuple[bytes | None, bytes | None]]) -> dict[str, bytes]:
    """What `git diff` prints for every path that changes from the first text to the second."""

    def git(*words: str) -> bytes:
        return subprocess.run(["git", *words], cwd=folder, env=ENV, check=True, capture_output=True).stdout

    git("init", "-q")
    git("config", "core.autocrlf", "false")
    for old in (True, False):
        for name, pair in pairs.items():
            path, content = folder / name, pair[0] if old else pair[1]
            if content is None:
                path.unlink(missing_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        if old:
            git("add", ".")
    fresh = [name for name, pair in pairs.items() if pair[0] is None]
    git("add", "-N", "--", *fresh)
    raw = git("diff", "--no-color", "--no-ext-diff", "--no-renames", "--abbrev=7")
    parts = re.split(rb"(?m)^(?=diff --git )", raw)[1:]
    names = {str(name).split("/")[-1]: name for name in pairs}
    return {names[_last_name(part)]: part for part in parts}


def _last_name(part: bytes) -> str:
    match = re.match(rb'diff --git "?\S*?/?([\w. +-]+?)"? "?b/', part)
    assert match is not None
    return match[1].decode()


def ours(name: str, old: bytes | None, new: bytes | None) -> bytes:
    text, added, removed = canon.unified({} if old is None else {name: old}, {name: new})
    if "\n@@ " in text and "\r" not in text and "\udc00" not in text:
        parsed = PatchSet(text.encode("utf-8", "replace").decode())
        assert (parsed.added, parsed.removed) == (added, removed)
    return encode(text)


def test_every_corpus_change_is_printed_as_git_prints_it(tmp_path: Path) -> None:
    pairs: dict[str, tuple[bytes | None, bytes | None]] = {}
    for case in sorted((CORPUS / "G1").iterdir()):
        for tree in sorted(case.glob("expected*")) if case.is_dir() else []:
            if tree.is_dir():
                for name in ("kernel.cu", "include/reduce.cuh", "include/warp_reduce.cuh"):
                    old, new = (
                        path.read_bytes() if path.exists() else None
                        for path in (case / "before" / name, tree / name)
                    )
                    if old != new:
                        pairs[f"{case.name}_{tree.name}_{name.replace('/', '_')}"] = (old, new)
    assert len(pairs) >= 37
    want = git_diffs(tmp_path, pairs)
    assert {name: ours(name, *pair) for name, pair in pairs.items()} == want


SPECIAL: dict[str, tuple[bytes | None, bytes | None]] = {
    "new.cu": (None, b"a\nb\n"),
    "new_open_end.cu": (None, b"a\nb"),
    "new_empty.cu": (None, b""),
    "gone.cu": (b"a\nb\n", None),
    "gone_open_end.cu": (b"a\nb", None),
    "emptied.cu": (b"a\nb\n", b""),
    "filled.cu": (b"", b"a\n"),
    "newline_added.cu": (b"a\nb", b"a\nb\n"),
    "newline_lost.cu": (b"a\nb\n", b"a\nb"),
    "appended.cu": (b"a\nb", b"a\nb\nc\n"),
    "changed_open_end.cu": (b"a\nb", b"a\nc"),
    "crlf.cu": (b"a\r\nb\r\n", b"a\r\nc\r\n"),
    "latin1.cu": (b"void \xfcber() {\n1\n2\n3\n4\n5\n", b"void \xfcber() {\n1\n2\n3\n4\n6\n"),
    "long heading.cu": (b"int " + "ü".encode() * 60 + b"\n1\n2\n3\n4\n5\n", b"int " + "ü".encode() * 60 + b"\n1\n2\n3\n4\n6\n"),
    "one_line.cu": (b"a\n", b"b\n"),
    "mode.cu": (b"class A {\n" + b" x;\n" * 30 + b"};\n", b"class A {\n" + b" x;\n" * 33 + b"};\n"),
}  # fmt: skip


def test_edges_of_files_are_printed_as_git_prints_them(tmp_path: Path) -> None:
    want = git_diffs(tmp_path, SPECIAL)
    assert {name: ours(name, *pair) for name, pair in SPECIAL.items()} == want


def moves(random: Random) -> list[tuple[bytes, bytes]]:
    """Pairs of texts from the same to hardly alike."""
    out = []
    for edits in (0, 1, 4, 12, 25, 40, 80, 200):
        old = kernel(random, 60)
        long = old.replace("float", "float /* " + "x" * 90 + " */", 3)
        out += [
            (old.encode(), edited(random, old, edits).encode()),
            (long.encode(), edited(random, long, edits).encode()),
        ]
    return [*out, (b"a\nb\nc\n", b"a\nb\nd\n"), (b"", b""), (b"a\r\nb\r\n" * 9, b"a\nb\n" * 9)]


def test_renames_are_printed_as_git_prints_them(tmp_path: Path) -> None:
    for n, (old, new) in enumerate(moves(Random(5))):
        folder = tmp_path / str(n)
        folder.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=folder, env=ENV, check=True)
        (folder / "old.cuh").write_bytes(old)
        subprocess.run(["git", "add", "."], cwd=folder, env=ENV, check=True)
        (folder / "old.cuh").unlink()
        (folder / "a new.cuh").write_bytes(new)
        subprocess.run(["git", "add", "-N", "a new.cuh"], cwd=folder, env=ENV, check=True)
        git = ["git", "diff", "--no-color", "--no-ext-diff", "--abbrev=7"]
        want = subprocess.run(git, cwd=folder, env=ENV, check=True, capture_output=True).stdout
        text, _, _ = canon.unified({"old.cuh": old}, {"old.cuh": None, "a new.cuh": new})
        assert encode(text) == want


def shaken(random: Random, old: str) -> str:
    """Blocks copied, moved and dropped, so that a diff has many shortest forms."""
    lines = old.split("\n")
    out = list(lines)
    for _ in range(random.choice([1, 3, 10, 40])):
        at, size = random.randrange(len(out) + 1), random.randint(1, 12)
        kind = random.random()
        if kind < 0.35:
            del out[at : at + size]
        elif kind < 0.75:
            start = random.randrange(len(lines))
            out[at:at] = lines[start : start + size]
        elif kind < 0.9:
            out[at:at] = random.choices(lines, k=size)
        else:
            block = out[at : at + size]
            del out[at : at + size]
            start = random.randrange(len(out) + 1)
            out[start:start] = block
        out = out or [""]
    return "\n".join(out)


def random_pairs(random: Random, count: int, lines: int) -> dict[str, tuple[bytes | None, bytes | None]]:
    pairs: dict[str, tuple[bytes | None, bytes | None]] = {}
    for n in range(count):
        old = kernel(random, random.randint(1, lines))
        new = shaken(random, old) if n % 3 else edited(random, old, random.randint(1, 9))
        if old != new:
            pairs[f"k{n:04}.cu"] = (old.encode(), new.encode())
    return pairs


def test_random_changes_are_printed_as_git_prints_them(tmp_path: Path) -> None:
    pairs = random_pairs(Random(11), 150, 120)
    want = git_diffs(tmp_path, pairs)
    assert {name: ours(name, *pair) for name, pair in pairs.items()} == want


@pytest.mark.slow
def test_large_changes_are_printed_as_git_prints_them(tmp_path: Path) -> None:
    """Beyond the cost where git stops looking for the shortest diff."""
    pairs = {
        **random_pairs(Random(12), 2000, 150),
        **{f"b{n}.cu": pair for n, pair in enumerate(random_pairs(Random(13), 12, 3000).values())},
    }
    random = Random(14)
    for n in range(6):
        lines = kernel(random, 1500).split("\n")
        other = random.sample(lines, len(lines))
        pairs[f"s{n}.cu"] = ("\n".join(lines).encode(), "\n".join(other).encode())
    want = git_diffs(tmp_path, pairs)
    wrong = [name for name, pair in pairs.items() if ours(name, *pair) != want[name]]
    assert not wrong
