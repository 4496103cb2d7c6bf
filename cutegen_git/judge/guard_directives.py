"""The guard on preprocessor lines: what is included, defined, and asked of the compiler."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import replace

from . import guard_names, guard_words
from .guard_found import Found, rejected
from .guard_lexer import Directive, Source, closing

_INCLUDES = frozenset(["include", "include_next", "import"])


def directives(source: Source, files: Mapping[str, bytes]) -> Iterator[Found]:
    for directive in source.directives:
        why = ""
        if directive.name in _INCLUDES:
            why = _include(source.name, directive, files)
        elif directive.name == "pragma":
            why = _pragma(directive.text)
        elif directive.name in ("define", "undef"):
            why = _definition(directive)
        elif directive.name == "line" or (not directive.name and directive.text[:1].isdigit()):
            why = "#line: places in messages must be true"
        if why:
            yield rejected(why, directive.line)
        yield from _conditions(source.name, directive, files)
    for place, token in enumerate(source.tokens):
        if token.text == "_Pragma":
            text = source.strings(place, closing(source.tokens, place + 1, 20))
            if why := _pragma(text):
                yield rejected(why, token.line)


def _conditions(name: str, directive: Directive, files: Mapping[str, bytes]) -> Iterator[Found]:
    """Questions about headers that a kernel may not include: `#if __has_include(<torch/torch.h>)`."""
    for place, token in enumerate(directive.tokens):
        if token.text in ("__has_include", "__has_include_next") and directive.name != "define":
            asked = directive.tokens[place + 2 : closing(directive.tokens, place + 1) - 1]
            if why := _include(name, replace(directive, tokens=tuple(asked)), files):
                yield rejected(why, directive.line)


def _include(name: str, directive: Directive, files: Mapping[str, bytes]) -> str:
    """Why a file may not be included; "" if it may."""
    first = directive.tokens[0] if directive.tokens else None
    if first is None:
        return ""  # the compiler will say so
    if first.kind == "string":
        asked = first.value
        near = posixpath.normpath(posixpath.join(posixpath.dirname(name), asked))
        if near in files or posixpath.normpath(asked) in files:
            return ""
    elif first.text == "<":
        asked = "".join(token.text for token in directive.tokens[1:]).split(">")[0]
    else:
        return "#include takes a plain file name here, not a macro"
    for pattern, why in guard_words.REFUSED_HEADERS:
        if pattern.fullmatch(asked):
            return f"#include <{asked}>: {why}"
    if asked in guard_words.HEADERS or guard_words.FOLDERS.fullmatch(asked):
        return ""
    if first.kind == "string" and posixpath.splitext(asked)[1] in (".cu", ".cuh"):
        return ""  # a missing file of its own: the compiler says it best
    return (
        f"#include <{asked}>: a kernel may include its own files, cute/, cutlass/, CUDA's headers for kernels"
        " and those of the C++ standard library that touch no files, threads or clocks"
    )


def _pragma(text: str) -> str:
    for pattern, why in guard_words.PRAGMAS:
        if pattern.search(text):
            return f"#pragma {text[:60]}: {why}"
    return ""


def _definition(directive: Directive) -> str:
    name = directive.tokens[0].text if directive.tokens else ""
    if (
        name in guard_words.DEFINED
        or guard_words.DEFINED_CUDA.fullmatch(name)
        or guard_names.OURS.match(name)
    ):
        return f"#{directive.name} {name}: this name belongs to C++, CUDA or the kernel interface"
    is_api = guard_names.why_refused(name) or guard_names.CUDART.fullmatch(name)
    if directive.name == "define" and is_api:
        return f"#define {name}: this name belongs to the CUDA runtime or the C library"
    return ""
