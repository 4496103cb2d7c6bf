"""Diffs that look the same whatever the user, the worktree or the platform has set."""

from __future__ import annotations

from collections.abc import Sequence

from .git import Git

_FIXED = (
    "-p", "-r", "--text", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames",
    "--src-prefix=a/", "--dst-prefix=b/", "-U3", "--inter-hunk-context=0", "--diff-algorithm=myers",
    "--indent-heuristic", "-O/dev/null", "--submodule=short", "--ws-error-highlight=none",
)  # fmt: skip


def text(git: Git, old: str, new: str, paths: Sequence[str] = ()) -> bytes:
    """The diff from commit or tree `old` ("" for nothing) to `new`, limited to the paths where some are given."""
    before = f"{old}^{{tree}}" if old else git.out("mktree")
    fixed = [*_FIXED, "--end-of-options", before, f"{new}^{{tree}}", "--", *paths]
    return git.check("--literal-pathspecs", "diff-tree", *fixed).stdout


def patch_id(git: Git, old: str, new: str, paths: Sequence[str] = ()) -> str:
    """`git patch-id --stable` of the diff: the same for the same edit elsewhere; "" where nothing changed."""
    said = git.check("patch-id", "--stable", stdin=text(git, old, new, paths)).text()
    return said.split(" ", 1)[0].strip()
