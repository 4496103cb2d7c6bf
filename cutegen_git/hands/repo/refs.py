"""Refs: listed in one call, moved only against the value they were seen at."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cutegen_git.words.errors import CutegenError, RepoError

from .git import Git, trouble

HEADS, TAGS = "refs/heads/", "refs/tags/"
MAIN, PATHS = "refs/heads/main", "refs/heads/path/"
ATTEMPTS, INBOX, NOTES = "refs/cutegen/attempt/", "refs/cutegen/inbox/", "refs/notes/cutegen/"

_SAFE = re.compile(r"refs/(heads|tags|notes/cutegen|cutegen)/[A-Za-z0-9._/-]+")
_ID = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


class RefChanged(RepoError):
    """A ref was not where the caller saw it: nothing was moved; look again."""


@dataclass(frozen=True, slots=True)
class RefUpdate:
    """One move of one ref."""

    ref: str  # full name
    old: str | None  # value it must have; None: it must not exist
    new: str | None  # value it gets; None: it is deleted

    def __post_init__(self) -> None:
        bad = ("..", "//", "/.", ".lock/", "@{")
        if (
            not _SAFE.fullmatch(self.ref)
            or any(sign in self.ref for sign in bad)
            or self.ref.endswith(("/", ".", ".lock"))
        ):
            raise RepoError(f"{self.ref!r} is not a ref that cutegen-git writes")
        if self.old is None and self.new is None:
            raise RepoError(f"{self.ref}: nothing to do")
        if any(value is not None and not _ID.fullmatch(value) for value in (self.old, self.new)):
            raise RepoError(f"{self.ref}: old and new value must be whole object ids")


def listed(git: Git, *prefixes: str) -> dict[str, str]:
    """Full ref name -> id (of the tag object for annotated tags), sorted by name."""
    text = git.out(
        "for-each-ref", "--format=%(objectname) %(refname)", *(prefix.rstrip("/") for prefix in prefixes)
    )
    pairs = (line.split(" ", 1) for line in text.splitlines())
    return {name: id for id, name in pairs}


def update(git: Git, updates: Sequence[RefUpdate], reason: str, *, keep: Sequence[int] = ()) -> None:
    """Move all refs, or none: RefChanged when one of them is not at its old value."""
    lines = ["start", *(_line(item) for item in updates), "prepare", "commit", ""]
    done = git.run(
        "update-ref", "-m", " ".join(reason.split()), "--stdin", stdin="\n".join(lines).encode(), keep=keep
    )
    if not done.ok:
        raise _failure(done.errors(), trouble(done))


def _line(item: RefUpdate) -> str:
    if item.new is None:
        return f"delete {item.ref} {item.old}"
    return f"create {item.ref} {item.new}" if item.old is None else f"update {item.ref} {item.new} {item.old}"


def _failure(said: str, otherwise: CutegenError) -> CutegenError:
    last = said.strip().splitlines()[-1].removeprefix("fatal: ") if said.strip() else ""
    if re.search(
        r"but expected|reference already exists|unable to resolve reference|reference is missing", said
    ):
        return RefChanged(f"a ref moved meanwhile, nothing was changed: {last}")
    if "cannot create" in said and "exists" in said:
        return RepoError(f"a branch or tag is in the way of a name that cutegen-git needs: {last}")
    if "Unable to create" in said and "File exists" in said:
        return RepoError(f"another git process works here, or one crashed: {last}")
    return otherwise
