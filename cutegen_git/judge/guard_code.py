"""The guard on code: calls, attributes and inline assembly."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from cutegen_git.words.verdict import Outcome

from . import guard_names, guard_words
from .guard_found import Found, body, rejected
from .guard_lexer import Macro, Source, Token, closing, pasted

_ASM = frozenset(["asm", "__asm__", "__asm"])
_ATTRIBUTE = frozenset(["__attribute__", "__attribute"])


def names(tokens: Sequence[Token]) -> Iterator[Found]:
    for place, token in enumerate(tokens):
        if token.kind != "name":
            continue
        before = tokens[place - 1].text if place else ""
        if before in (".", "->"):
            continue  # a member of something of the candidate's own
        if why := guard_names.why_refused(token.text) or _qualified(tokens, place):
            yield Outcome.FORBIDDEN_CALL, f"{token.text}: {why}", token.line
        elif token.text == "clock" and [t.text for t in tokens[place + 1 : place + 3]] == ["(", ")"]:
            yield Outcome.FORBIDDEN_CALL, "clock(): a kernel does not read clocks", token.line
        elif guard_names.OURS.fullmatch(token.text):
            why = f"{token.text}: a kernel may not ask who judges it"
            yield rejected(why, token.line)
        elif token.text in guard_words.OF_THE_BUILD:
            why = f"{token.text}: the same sources must give the same library"
            yield rejected(why, token.line)


def _qualified(tokens: Sequence[Token], place: int) -> str:
    """Why a name with what stands before it is refused: `std::thread`, `::open(`, `at::matmul`."""
    if not place or tokens[place - 1].text != "::":
        return ""
    scope = tokens[place - 2] if place > 1 else None
    if scope is not None and scope.kind == "name":
        return guard_names.why_qualified(f"{scope.text}::{tokens[place].text}")
    if scope is not None and scope.text in (">", ")"):
        return ""
    is_call = [token.text for token in tokens[place + 1 : place + 2]] == ["("]
    return guard_names.why_qualified(f"::{tokens[place].text}") if is_call else ""


def pastes(source: Source, known: Mapping[str, Macro]) -> Iterator[Found]:
    for token in pasted(source, dict(known)):
        if why := guard_names.why_refused(token.text):
            yield Outcome.FORBIDDEN_CALL, f"{token.text}, pasted together by a macro: {why}", token.line


def attributes(source: Source) -> Iterator[Found]:
    tokens = (*source.tokens, *(token for item in source.directives for token in body(item)))
    for place, token in enumerate(tokens):
        if token.text in _ATTRIBUTE:
            inside = tokens[place + 1 : closing(tokens, place + 1)]
        elif token.text == "[[":
            ends = (n for n in range(place, len(tokens)) if tokens[n].text == "]]")
            inside = tokens[place : next(ends, place)]
            if not any(word.text == "gnu" for word in inside):
                continue
        else:
            continue
        for word in inside:
            plain = word.text.strip("_")
            for pattern, why in guard_words.ATTRIBUTES:
                if word.kind == "name" and pattern.fullmatch(plain):
                    yield rejected(f"__attribute__(({plain})): {why}", word.line)


def assembly(source: Source, known: Mapping[str, Macro]) -> Iterator[Found]:
    """asm statements, their strings joined as the compiler joins them, macros for strings put in."""
    strings = {name: _text(macro.body, known) for name, macro in known.items()}
    bodies = [directive.tokens[1:] for directive in source.directives if directive.name == "define"]
    for tokens in (source.tokens, *bodies):
        for place, token in enumerate(tokens):
            if token.text not in _ASM:
                continue
            opening = next(
                (n for n in range(place, min(place + 6, len(tokens))) if tokens[n].text == "("), None
            )
            inside = tokens[opening : closing(tokens, opening)] if opening is not None else ()
            text = "".join(token.value or strings.get(token.text, "") for token in inside)
            for why in _in_assembly(text):
                yield Outcome.FORBIDDEN_CALL, why, token.line


def _text(body: Iterable[Token], known: Mapping[str, Macro], depth: int = 0) -> str:
    """The strings of a macro's body, those of macros in it too."""
    if depth > 8:
        return ""
    return "".join(
        token.value or (_text(known[token.text].body, known, depth + 1) if token.text in known else "")
        for token in body
    )


def _in_assembly(text: str) -> Iterator[str]:
    plain = re.sub(r"\\[nt]", " ", text)
    for pattern, why in guard_words.ASSEMBLY:
        if match := pattern.search(plain):
            yield f'asm with "{match[0].strip()}": {why}'
