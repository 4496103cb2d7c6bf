"""The last paragraph of a git message as `Key: value` lines, as `git interpret-trailers` reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable

_TRAILER = re.compile(r"([A-Za-z][A-Za-z0-9-]*): ?(.*)")


def render(pairs: Iterable[tuple[str, str]]) -> str:
    """One line a pair; pairs with an empty value are left out."""
    return "\n".join(f"{key}: {one_line(value)}" for key, value in pairs if value)


def split(message: str) -> tuple[str, dict[str, str]]:
    """The text before the trailers, and the trailers; no trailers where the last paragraph holds anything else."""
    text = message.rstrip("\n")
    head, gap, last = text.rpartition("\n\n")
    found = [_TRAILER.fullmatch(line) for line in last.splitlines()]
    if not gap or not found or any(match is None for match in found):
        return text, {}
    return head.rstrip("\n"), {match[1]: match[2] for match in found if match}


def one_line(text: str) -> str:
    """The text without line breaks and control characters, so that it cannot end a trailer early."""
    return " ".join("".join(c if c.isprintable() or c.isspace() else " " for c in text).split())


def paragraphs(text: str) -> str:
    """Free text made safe for the body of a message: no control characters, no blank lines at its ends."""
    kept = "".join(c for c in text.replace("\r\n", "\n").replace("\r", "\n") if c == "\n" or c.isprintable())
    lines = [line.rstrip() for line in kept.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
