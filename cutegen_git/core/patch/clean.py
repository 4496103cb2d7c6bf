"""A reply without what is not its answer: JSON around it, thinking blocks, quote marks in front of its lines."""

from __future__ import annotations

import json
import re

FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})([^`]{0,500})$")
_THINK = r"think|thinking|thought|reasoning|scratchpad|analysis|reflection"
_OPEN_THINK = re.compile(rf"^\s*<({_THINK})>", re.IGNORECASE)
_CLOSE_THINK = re.compile(rf"</({_THINK})>", re.IGNORECASE)


def unwrap(lines: list[str]) -> list[str]:
    """The diff inside a reply that is one JSON object ({"patch": "..."}), or the lines as they are."""
    text = "\n".join(lines).strip()
    if not (text.startswith("{") and text.endswith("}")):
        return lines
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return lines
    texts = [one for one in value.values() if isinstance(one, str)] if isinstance(value, dict) else []
    return "\n".join(texts).split("\n") if any("@@" in one or "+++ " in one for one in texts) else lines


def without_thinking(lines: list[str]) -> tuple[list[str], bool]:
    """The lines with <think> blocks blanked, and whether the last one was never closed."""
    out = list(lines)
    opened: int | None = None
    done = 0  # lines before this one are settled
    for n, line in enumerate(lines):
        if opened is None and _OPEN_THINK.match(line):
            opened = n
        close = None if line[:1] in ("+", "-") else _last(_CLOSE_THINK, line)
        if close is None:
            continue
        start = done if opened is None else opened
        out[start:n] = [""] * (n - start)
        done = n + 1
        out[n] = line[close.end() :].lstrip() if line[close.end() :].strip() else ""
        opened = None
    if opened is not None:
        out[opened:] = [""] * (len(lines) - opened)
    return out, opened is not None


def _last(pattern: re.Pattern[str], line: str) -> re.Match[str] | None:
    return max(pattern.finditer(line), key=lambda match: match.start(), default=None)


def without_quote_marks(lines: list[str]) -> list[str]:
    """Runs of "> " lines that hold a fence, without the quote marks."""
    out, at = list(lines), 0
    while at < len(lines):
        end = at
        while end < len(lines) and re.match(r"^>( |$)", lines[end]):
            end += 1
        if end > at and any(FENCE.match(line[2:]) for line in lines[at:end]):
            out[at:end] = [line[2:] for line in lines[at:end]]
        at = max(end, at + 1)
    return out
