"""The guard on code: calls, attributes and inline assembly."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from cutegen_git.words.verdict import Outcome

from . import guard_names, guard_words
from .guard_found import Found, body, rejected
from .guard_lexer import LONGEST, Macro, Source, Token, closing, pasted

_ASM = frozenset(["asm", "__asm__", "__asm"])
_ATTRIBUTE_TOKENS = 200
_ASM_CHARS = 40_000
_DEPTH = 300  # macros in macros
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
            inside = tokens[place + 1 : closing(tokens, place + 1, _ATTRIBUTE_TOKENS)]
        elif token.text == "[[":
            within = range(place, min(len(tokens), place + _ATTRIBUTE_TOKENS))
            ends = (n for n in within if tokens[n].text == "]]")
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
    strings: dict[str, str] = {}
    bodies = [directive.tokens[1:] for directive in source.directives if directive.name == "define"]
    for tokens in (source.tokens, *bodies):
        for place, token in enumerate(tokens):
            if token.text not in _ASM:
                continue
            near = range(place, min(place + 6, len(tokens)))
            opening = next((n for n in near if tokens[n].text == "("), len(tokens))
            inside = tokens[opening : closing(tokens, opening)]
            text = "".join(word.value or _text(word.text, known, strings) for word in inside)
            if len(inside) >= LONGEST or len(text) > _ASM_CHARS:
                yield rejected("asm: this statement is too long to be looked at; split it", token.line)
                return
            for why in _in_assembly(text):
                yield Outcome.FORBIDDEN_CALL, why, token.line


def _text(name: str, known: Mapping[str, Macro], done: dict[str, str], depth: int = 0) -> str:
    """The strings of a macro's body, those of macros in it too; "" for what is no macro."""
    if name not in known or name in done:
        return done.get(name, "")
    if depth > _DEPTH:
        return "…" * (_ASM_CHARS + 1)  # too long to be looked at
    done[name] = ""  # a macro that names itself ends here
    found = ""
    for token in known[name].body:
        found += token.value or _text(token.text, known, done, depth + 1)
        if len(found) > _ASM_CHARS:
            break
    done[name] = found
    return found


def _in_assembly(text: str) -> Iterator[str]:
    plain = re.sub(r"\\[nt]", " ", text)
    for pattern, why in guard_words.ASSEMBLY:
        if match := pattern.search(plain):
            yield f'asm with "{match[0].strip()}": {why}'
