"""Which refs are cutegen's, by their full names: what comes from a stranger must match before anything is done with it."""

from __future__ import annotations

import re
from enum import Enum


class Kind(str, Enum):
    """What a ref holds."""

    ATTEMPT = "attempt"  # a commit, created once
    CLAIM = "claim"  # an annotated tag, created once
    NOTES = "notes"  # a commit; histories of one writer are joined
    HEAD = "branch"  # a commit; moves forward only


_SLUG = r"[a-z0-9][a-z0-9-]{0,39}"
_LABEL = r"[a-z]?\d{4,9}"
_NAMES = {
    Kind.ATTEMPT: re.compile(rf"refs/cutegen/attempt/{_LABEL}"),
    Kind.CLAIM: re.compile(rf"refs/tags/{_SLUG}/{_LABEL}-\d{{1,6}}\.\d\dx"),
    Kind.NOTES: re.compile(
        r"refs/notes/cutegen/[a-z]{1,20}/(?!.*(?:\.\.|\.lock$|\.$))[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
    ),
    Kind.HEAD: re.compile(rf"refs/heads/(main|path/{_SLUG})"),
}
OBJECTS = {Kind.ATTEMPT: "commit", Kind.CLAIM: "tag", Kind.NOTES: "commit", Kind.HEAD: "commit"}
_PRIVATE = ("refs/notes/cutegen/transcript/", "refs/notes/cutegen/ledger/")  # may hold source and prices


def kind_of(ref: str) -> Kind | None:
    """The kind of a full ref name; None for a ref that is not ours to share (the inbox among them)."""
    return next((kind for kind, name in _NAMES.items() if name.fullmatch(ref)), None)


def is_private(ref: str) -> bool:
    """True for what `[publish] transcript = false` keeps at home."""
    return ref.startswith(_PRIVATE)
