"""Damage that has one meaning only, undone: lookalikes, entities, gutters, indents, elisions recognised.

Nothing here decides where a hunk goes; a repair is used only where the repaired lines are found in the file.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from .records import Hunk, Item
from .unified import item_of

_QUOTES: dict[str, str | int | None] = {
    **dict.fromkeys("‘’‚‛′", "'"),
    **dict.fromkeys("“”„‟″", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    "…": "...",
}
_SPACES = dict.fromkeys(
    "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "
)
_ZERO = dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad", "")
_BLANKS = str.maketrans({**_SPACES, **_ZERO})
# Single bytes that are not UTF-8 compare equal to the Latin-1 character that they most likely are.
_FOLD = str.maketrans(
    {**_QUOTES, **_SPACES, **_ZERO, **{chr(0xDC00 + n): chr(n) for n in range(0xA1, 0x100)}, chr(0xDCA0): " "}
)
_ENTITY = re.compile(r"&(lt|gt|amp|quot|apos|nbsp|#\d{1,5}|#x[0-9a-fA-F]{1,4});")
_BARE_AMP = re.compile(r"&(?!(lt|gt|amp|quot|apos|nbsp|#\d{1,5}|#x[0-9a-fA-F]{1,4});)")
_GUTTER = re.compile(r"^\s*(\d+)(?:\s?[|│┃:]\s?|\t|→)")
_EMPTY_GUTTER = re.compile(r"^\s*[|│┃]\s?")
_DOTS = re.compile(r"^(?:(?://+|/\*+|#|--) ?)?[\[({<]? ?(?:\.{3,}|…+) ?[\])}>]?(?: ?\*/)?$")
_COMMENT = re.compile(r"^(?://+|/\*+|#(?!\w))(.*?)(?:\*/)?$")
_LONGEST_NOTE = 300  # characters; a longer line is code or text, no note that something is left out
_LEFT_OUT = re.compile(
    r"\b(rest|remaining|remainder|unchanged|existing|same|omitted|previous|as before|original|other|stays?|keep|kept|"
    r"continues?|similar|likewise|truncated|elided|snip|skipped?|code|implementation|body|kernel|here|above|below)\b",
    re.IGNORECASE,
)
_PHRASE = re.compile(
    r"^\W*((the )?(rest|remainder|remaining)\b.*\b(unchanged|same|as before|omitted|here|identical|stays?|remains?)|"
    r"(the )?(rest|remainder) of (the |this )?(code|kernel|function|file|body|implementation|loop)|"
    r"(unchanged|same as before|no changes?)( code| here| below)?|(existing|previous|original) (code|implementation)( here)?"
    r"|snip)\W*$",
    re.IGNORECASE,
)

LEVELS: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    lambda text: text.rstrip(),
    lambda text: text.translate(_FOLD).rstrip(),
    lambda text: " ".join(text.translate(_FOLD).split()),
)
FOLDED = 2  # from this level on, lookalikes were needed
SPACED = 3  # at this level, blanks were needed


def is_elision(text: str) -> bool:
    """Is this kept line only dots that stand for lines left out?"""
    text = text.strip()
    return len(text) <= _LONGEST_NOTE and bool(_DOTS.match(text))


def stands_for_code(text: str) -> bool:
    """Is this added line a note that code was left out ("// ... rest stays the same ...")?"""
    text = text.strip()
    if is_elision(text):
        return True
    comment = _COMMENT.match(text) if len(text) <= _LONGEST_NOTE else None
    if not comment:
        return False
    words = comment.group(1).strip()
    if _PHRASE.match(words):
        return True
    begins = words.startswith(("...", "…", "(...", "[..."))
    ends = words.rstrip(" .…)]") != words.rstrip(" )]") and len(words.split()) <= 6
    return (begins or (ends and bool(re.search(r"(\.{3}|…)\W*$", words)))) and bool(_LEFT_OUT.search(words))


def without_gutter(hunk: Hunk) -> Hunk | None:
    """The hunk without the "  42 | " of a numbered listing, or None where not every line carries one."""
    bodies = [(item.raw if item.sign == " " else item.text) for item in hunk.items]
    numbered = sum(bool(_GUTTER.match(body)) for body in bodies)
    if not numbered or not all(_GUTTER.match(b) or _EMPTY_GUTTER.match(b) or not b.strip() for b in bodies):
        return None
    stripped = [
        _EMPTY_GUTTER.sub("", body, count=1) if not _GUTTER.match(body) else _GUTTER.sub("", body, count=1)
        for body in bodies
    ]
    if hunk.changes():
        items = [Item(i.sign, text, text, i.no_newline) for i, text in zip(hunk.items, stripped, strict=True)]
    else:  # the gutter stood before the sign
        items = [item_of(_GUTTER.sub("", body, count=1) if _GUTTER.match(body) else body) for body in bodies]
    return replace(hunk, items=tuple(items), soft_tail=0)


def is_escaped(hunks: Sequence[Hunk], file_text: str) -> bool:
    """Was the diff HTML-escaped as a whole? No bare bracket or ampersand is left, and the file has no entity."""
    texts = [item.text for hunk in hunks for item in hunk.items]
    if not any(_ENTITY.search(text) for text in texts) or _ENTITY.search(file_text):
        return False
    return not any("<" in text or ">" in text or _BARE_AMP.search(text) for text in texts)


def unescaped(hunk: Hunk) -> Hunk:
    """The hunk with &lt; and its like as the characters that they stand for."""
    items = [replace(item, text=_unescape(item.text), raw=_unescape(item.raw)) for item in hunk.items]
    return replace(hunk, items=tuple(items))


def _unescape(text: str) -> str:
    return _ENTITY.sub(lambda match: html.unescape(match.group(0)).replace("\u00a0", " "), text)


def has_entities(hunk: Hunk) -> bool:
    return any(_ENTITY.search(item.text) for item in hunk.items)


def clean_added(text: str, file_text: str, *, folded: bool) -> str:
    """An added line without characters that only the transport can have put there."""
    if text.isascii():
        return text
    if not any(c in file_text for c in _SPACES):
        text = text.translate(_BLANKS)
    if folded and not any(c in file_text for c in _QUOTES):
        text = text.translate(str.maketrans(_QUOTES))
    return text


def indent_of(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" \t"))]


def reindent(pairs: Sequence[tuple[str, str]]) -> Callable[[str], str]:
    """How to turn indents of the reply into indents of the file, learnt from (reply line, file line) pairs."""
    indents = [(indent_of(a), indent_of(b)) for a, b in pairs if a.strip()]
    if all(a == b for a, b in indents):
        return lambda text: text
    seen = {a: b for a, b in reversed(indents)}
    width = next(
        (w for w in (4, 8, 2, 3, 1) if all(a.expandtabs(w) == b.expandtabs(w) for a, b in indents)), None
    )
    tabs = any("\t" in b for _, b in indents)

    def change(text: str) -> str:
        have = indent_of(text)
        rest = text[len(have) :]
        if not rest:
            return text
        if have in seen:
            return seen[have] + rest
        if width is not None:
            columns = len(have.expandtabs(width))
            return ("\t" * (columns // width) + " " * (columns % width) if tabs else " " * columns) + rest
        return _shifted(have, indents) + rest

    return change


def _shifted(have: str, indents: Sequence[tuple[str, str]]) -> str:
    """`have` moved by the distance that the closest known indent moved."""
    a, b = min(indents, key=lambda pair: abs(len(pair[0]) - len(have)))
    if have.startswith(a):
        return b + have[len(a) :]
    step = len(b) - len(a)
    char = "\t" if "\t" in b and " " not in b else " "
    return char * max(0, len(have) + step)
