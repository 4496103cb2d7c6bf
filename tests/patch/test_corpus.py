"""Every corpus reply becomes exactly the expected tree, or is refused with the expected class."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from cutegen_git.core.patch import apply_reply
from cutegen_git.words.errors import PatchError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CASES = sorted(path for path in (Path(__file__).parents[1] / "corpus" / "G1").iterdir() if path.is_dir())


def read(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def load(case: Path) -> dict[str, Any]:
    return tomllib.loads((case / "case.toml").read_text())


def outcome(case: Path, reply: bytes) -> dict[str, bytes] | str:
    """The tree after a reply, or the class of the refusal."""
    facts, before = load(case), read(case / "before")
    try:
        patch = apply_reply(
            reply, before, allowed=facts["allowed_files"], finish_reason=facts["finish_reason"]
        )
    except PatchError as error:
        return error.problem.value
    return {name: text for name, text in {**before, **patch.files}.items() if text is not None}


def test_the_corpus_is_there() -> None:
    assert len(CASES) >= 53


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reply_gives_the_expected_tree_or_class(case: Path) -> None:
    facts = load(case)
    got = outcome(case, (case / "reply.txt").read_bytes())
    if facts["outcome"] == "error":
        assert got == facts["error_class"]
    else:
        assert got in [read(tree) for tree in case.glob("expected*") if tree.is_dir()]
