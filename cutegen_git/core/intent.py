"""What a reply says it does: the words of its commit message. A measured number never gets into the subject.

Models are asked to begin with `Intent:` and up to three lines `Bottleneck:`, `Change:`, `Effect:`. Many do not.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from dataclasses import dataclass

SUBJECT_CHARS = 60
PART_CHARS = 400
UNSTATED = "change without a stated intent"
PARTS = ("Bottleneck", "Change", "Effect")

_DIFF_STARTS = re.compile(
    r"^(?:\s*(?:```|~~~)|diff --git |--- (?:a/|/dev/null|kernel/)|\*\*\* Begin Patch)", re.M
)
# Not in a diff's lines: a kernel may hold such a tag in a string.
_THOUGHT_ENDS = re.compile(r"^(?![+\- ]).*?(?:</(?:\w+:)?think(?:ing)?>|\[/THINK\])", re.M | re.I)
_KEY = re.compile(r"^[\s>#*_\-\d.)]*(intent|bottleneck|change|effect)[*_\s]*[:：][*_\s]*(.*)$", re.I)
_GREETING = re.compile(
    r"^(?:sure|certainly|okay|ok|of course|great|absolutely|thanks|thank you)\b[!,.:]*\s*"
    r"|^here(?:'s| is| are)\b[^.:]*[.:]\s*",
    re.I,
)
_MEASURED = re.compile(
    r"\(?\s*\b(?:(?:by|from|to|of|at|about|around|roughly|nearly|over|up to)\s+)*[~≈<>]?\s*"
    r"(?:\d+(?:\.\d+)?\s*(?:%|(?:ms|us|µs|ns|seconds|[TG]FLOPS?(?:/s)?|[TG]B/s)(?!\w))"
    r"|\d+\.\d+\s*[x×](?!\w)|\d+\s*[x×]\s+(?=faster|slower|speed)|\d+\s*[x×]$)"
    r"(?:\s*of (?:peak|roof))?\s*\)?",
    re.I,
)
_DANGLING = re.compile(
    r"(?:[\s,;:(~\-–—]|\b(?:by|from|to|of|at|about|with|for|and|a|an|the|over|in|so|that|I|we|which)$)+$"
)
_CLAUSE_ENDS = re.compile(r"[,;:]\s| [-–—] | so (?:that )?| because ")
MIN_CLAUSE_CHARS = 20


@dataclass(frozen=True, slots=True)
class Intent:
    """A commit message but for its trailers."""

    subject: str  # 1 to 60 characters, one line, no measured result
    body: str  # bottleneck seen, change made, effect expected; "" where the reply says nothing


def read(prose: str, *, unstated: str = UNSTATED) -> Intent:
    """The intent of a reply; `prose` may be the whole of it, what follows the first diff or fence is left out."""
    text = _before_diff(prose)
    said = _said(text)
    subject = _subject(said.get("intent", "")) or _subject(_first_sentence(text)) or unstated
    body = "\n".join(_paragraph(part, said[part.lower()]) for part in PARTS if said.get(part.lower()))
    return Intent(subject, body)


def _before_diff(prose: str) -> str:
    text = prose.replace("\r\n", "\n").replace("\r", "\n")
    # A reasoning block is not for the record; a lone closing tag ends one that the provider opened.
    if closed := _THOUGHT_ENDS.search(text):
        text = text[closed.end() :]
    found = _DIFF_STARTS.search(text)
    return text[: found.start()] if found else text


def _said(text: str) -> dict[str, str]:
    """What stands behind each key, continuation lines joined; the first mention of a key counts."""
    said: dict[str, str] = {}
    current = None
    for line in text.split("\n"):
        found = _KEY.match(line)
        if found:
            key = found[1].lower()
            current = None if key in said else key
            if current:
                said[key] = found[2]
        elif not line.strip():
            current = None
        elif current and not (current == "intent" and said[current].strip(" *_")):
            said[current] += " " + line
    return {key: _plain(value) for key, value in said.items()}


def _first_sentence(text: str) -> str:
    lines = [line for line in text.split("\n") if line.strip() and not _KEY.match(line)]
    prose = [line for line in lines if not line.lstrip().startswith("#")] or lines
    joined = _plain(" ".join(prose[:6]))
    while found := _GREETING.match(joined):
        joined = joined[found.end() :]
    return re.split(r"(?<=[.!?])\s+(?=[A-Z(])|:\s*$", joined, maxsplit=1)[0]


def _plain(text: str) -> str:
    """One line without markup and control characters."""
    shown = "".join(" " if unicodedata.category(char)[0] in "CZ" else char for char in text)
    return " ".join(shown.replace("**", "").replace("`", "").replace("__", "").split())


def _subject(text: str) -> str:
    unmeasured = _DANGLING.sub("", " ".join(_MEASURED.sub(" ", _plain(text)).split()))
    words = unmeasured.strip(" .!#*-").replace(" ,", ",")
    if len(words) <= SUBJECT_CHARS:
        return words
    head = words[: SUBJECT_CHARS + 1]
    clauses = [end.start() for end in _CLAUSE_ENDS.finditer(head) if end.start() >= MIN_CLAUSE_CHARS]
    cut = clauses[-1] if clauses else head.rfind(" ")
    return _DANGLING.sub("", words[: cut if cut > 0 else SUBJECT_CHARS])


def _paragraph(part: str, text: str) -> str:
    short = textwrap.shorten(text, PART_CHARS, placeholder=" …")
    # Indented, so that no line of a model's text can be taken for a trailer of the commit.
    return textwrap.fill(f"{part}: {short}", 72, subsequent_indent="  ", break_on_hyphens=False)
