"""Just enough of C++ to judge sources without a compiler: tokens with lines, directives, macros that paste.

Comments, strings, raw strings and joined lines are seen as a compiler sees them, so that a word in a comment is no
call and a word split over two lines is one. Nothing is expanded but macros that paste tokens (`a##b`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(
    r'(?P<raw>(?:u8|[uUL])?R"(?P<fence>[^()\s\\]{0,16})\((?:.|\n)*?(?:\)(?P=fence)"|\Z))'
    r'|(?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")'
    r"|(?P<comment>//[^\n]*|/\*(?:.|\n)*?(?:\*/|\Z))"
    r"|(?P<number>\.?\d(?:[eEpP][+-]|'[\w]|[\w.])*)"
    r"|(?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')"
    r"|(?P<name>[A-Za-z_$][\w$]*)"
    r"|(?P<space>[ \t\f\v\r]+)"
    r"|(?P<line>\n)"
    r"|(?P<mark>\#\#|%:%:|%:|::|->|<<<|>>>|\[\[|\]\]|.)"
)
LONGEST = 2000  # tokens of one bracket that is looked into: hostile text must not cost minutes
MOST_PASTED = 20_000
_SPELLED = {"%:": "#", "%:%:": "##"}  # digraphs


@dataclass(frozen=True, slots=True)
class Token:
    """One word of the source."""

    kind: str  # name, string, raw, char, number, mark
    text: str  # as written
    line: int  # from 1

    @property
    def value(self) -> str:
        """A string literal's text, without what is around it; escapes stay as written."""
        if self.kind == "raw":
            return self.text.split("(", 1)[1].rpartition(")")[0]
        return self.text.split('"', 1)[1][:-1] if self.kind == "string" else ""


@dataclass(frozen=True, slots=True)
class Directive:
    """One preprocessor line, without its `#`."""

    name: str  # include, define, pragma, …; "" for an empty one
    tokens: tuple[Token, ...]  # after the name
    text: str  # after the name, as written
    line: int


@dataclass(frozen=True, slots=True)
class Source:
    """One file, read."""

    name: str  # relative to kernel/
    tokens: tuple[Token, ...]  # of the code, without directives
    directives: tuple[Directive, ...]

    def strings(self, first: int, last: int) -> str:
        """The string literals among tokens[first:last], joined as a compiler joins neighbours."""
        return "".join(token.value for token in self.tokens[first:last])


def read(name: str, content: bytes) -> Source:
    """The file in tokens. Code between `#if 0` and its `#else` or `#endif` is left out."""
    code: list[Token] = []
    directives: list[Directive] = []
    off = 0  # depth of conditionals inside an `#if 0`
    for line in _lines(content.decode("utf-8", "replace")):
        if not line or line[0].text != "#":
            code += line if not off else []
            continue
        found = _directive(line)
        off = _depth(off, found)
        if not off:
            directives.append(found)
    return Source(name, tuple(code), tuple(directives))


def closing(tokens: Sequence[Token], opening: int, most: int = LONGEST) -> int:
    """Place behind the bracket that closes tokens[opening], at most `most` tokens on; the end if there is none."""
    depth, end = 0, min(len(tokens), opening + most)
    for place in range(opening, end):
        depth += (tokens[place].text in "([{") - (tokens[place].text in ")]}")
        if depth <= 0:
            return place + 1
    return end


def _lines(text: str) -> Iterator[list[Token]]:
    """Tokens of each line; a comment or raw string that spans lines keeps them together."""
    joined, joints = _join(text)
    line: list[Token] = []
    row, at = 1, 0
    for match in _TOKEN.finditer(joined):
        kind = match.lastgroup or "mark"
        kind = "raw" if kind == "fence" else kind
        if kind == "line":
            yield line
            line = []
        elif kind not in ("space", "comment"):
            row += joined.count("\n", at, match.start())
            at = match.start()
            word = _SPELLED.get(match[0], match[0])
            line.append(Token(kind, word, row + bisect_right(joints, match.start())))
    yield line


def _join(text: str) -> tuple[str, list[int]]:
    """The text with lines that end in a backslash joined, and where they were joined."""
    pieces = re.split(r"\\[ \t]*\r?\n", text)
    joints, at = [], 0
    for piece in pieces[:-1]:
        at += len(piece)
        joints.append(at)
    return "".join(pieces), joints


def _directive(line: Sequence[Token]) -> Directive:
    named = line[1:2] and line[1].kind == "name"
    rest = tuple(line[2:] if named else line[1:])
    return Directive(
        line[1].text if named else "", rest, " ".join(token.text for token in rest), line[0].line
    )


def _depth(off: int, directive: Directive) -> int:
    """How deep inside an `#if 0` the next line is."""
    if directive.name in ("if", "ifdef", "ifndef"):
        is_zero = directive.name == "if" and directive.text == "0"
        return off + 1 if off or is_zero else 0
    if off == 1 and directive.name in ("else", "elif", "endif"):
        return 0
    return off - 1 if off and directive.name == "endif" else off


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro with its body."""

    name: str
    parameters: tuple[str, ...] | None  # None: object-like
    body: tuple[Token, ...]


def macros(sources: Sequence[Source]) -> dict[str, Macro]:
    """Every macro that the files define; the last definition of a name."""
    found = {}
    for source in sources:
        for directive in source.directives:
            if directive.name == "define" and directive.tokens:
                macro = _macro(directive)
                found[macro.name] = macro
    return found


def _macro(directive: Directive) -> Macro:
    name, rest = directive.tokens[0], directive.tokens[1:]
    # Blanks are gone, but `#define F (x)` differs from `#define F(x)` only where x could be a parameter list.
    if rest and rest[0].text == "(":
        end = closing(rest, 0)
        inside = [token for token in rest[1 : end - 1] if token.text != ","]
        if all(token.kind == "name" or token.text == "." for token in inside):
            names = tuple(token.text for token in inside if token.kind == "name")
            return Macro(name.text, names, rest[end:])
    return Macro(name.text, None, rest)


def pasted(source: Source, known: dict[str, Macro]) -> Iterator[Token]:
    """Names that pasting macros make where they are used: `JOIN(cuda, Malloc)` gives `cudaMalloc`."""
    pasting = {name: macro for name, macro in known.items() if any(t.text == "##" for t in macro.body)}
    bodies = [directive.tokens[1:] for directive in source.directives if directive.name == "define"]
    seen: set[tuple[str, str]] = set()
    for tokens in (source.tokens, *bodies):
        for place, token in enumerate(tokens):
            macro = pasting.get(token.text) if token.kind == "name" else None
            if macro is None or len(seen) > MOST_PASTED:
                continue
            given = _arguments(tokens, place + 1) if macro.parameters is not None else []
            if (macro.name, str(given)) not in seen:
                seen.add((macro.name, str(given)))
                yield from (Token("name", word, token.line) for word in _paste(macro, given))


def _arguments(tokens: Sequence[Token], opening: int) -> list[list[str]]:
    """The arguments of a call, each as its words."""
    if opening >= len(tokens) or tokens[opening].text != "(":
        return []
    found: list[list[str]] = [[]]
    depth = 0
    for token in tokens[opening : closing(tokens, opening, 100) - 1]:
        depth += (token.text in "([{") - (token.text in ")]}")
        if token.text == "," and depth == 1:
            found.append([])
        elif token.text != "(" or depth > 1:
            found[-1].append(token.text)
    return found


def _paste(macro: Macro, given: Sequence[Sequence[str]]) -> Iterator[str]:
    values = dict(zip(macro.parameters or (), given, strict=False))
    words = [token.text for token in macro.body]
    place = 0
    while place + 1 < len(words):
        if words[place + 1] != "##":
            place += 1
            continue
        made = "".join(list(values.get(words[place], [words[place]]))[-1:])
        while place + 2 < len(words) and words[place + 1] == "##":
            made += "".join(list(values.get(words[place + 2], [words[place + 2]]))[:1])
            place += 2
        yield made
