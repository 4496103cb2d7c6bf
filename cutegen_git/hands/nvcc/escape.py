"""Refuses sources that would pull files from outside kernel/ into the build, or could not be written there.

A first gate, before any compiler runs. What a compiled candidate may do is the judge's guard's business.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate

_NAME = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*/)*[A-Za-z0-9_][A-Za-z0-9_.-]*")
_DIRECTIVE = re.compile(r"^\s*(?:#|%:|\?\?=)\s*(?:include|include_next|import|embed)\b\s*(.*)$", re.MULTILINE)
_HAS = re.compile(r"\b__has_(?:include|include_next|embed)\s*\(([^()]*)\)")
_INCBIN = re.compile(r"\.\s*inc(?:bin|lude)\b")
_LITERAL = re.compile(r'^(?:"([^"]*)"|<([^>]*)>)')
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)


def refusals(sources: Mapping[str, bytes]) -> tuple[str, ...]:
    """One line for each reason not to compile, in a compiler's form: "kernel/kernel.cu(3): error: …"."""
    found = [f"kernel/{name}: error: not a usable file name" for name in sources if not _NAME.fullmatch(name)]
    found += _same_stems(sources)
    if not any(name.endswith(".cu") for name in sources):
        found.append("kernel/: error: there is no .cu file")
    for name, content in sorted(sources.items()):
        found += [f"kernel/{name}({line}): error: {why}" for line, why in _escapes(content)]
    return tuple(found)


def _same_stems(sources: Mapping[str, bytes]) -> list[str]:
    seen: dict[str, str] = {}
    found: list[str] = []
    for name in sorted(sources):
        if name.endswith(".cu"):
            other = seen.setdefault(name.rsplit("/", 1)[-1], name)
            if other != name:
                found.append(f"kernel/{name}: error: kernel/{other} has the same file name; rename one")
    return found


def _escapes(content: bytes) -> list[tuple[int, str]]:
    # A backslash at a line's end joins lines before the preprocessor sees a directive.
    pieces = re.split(r"\\[ \t]*\r?\n", content.decode("utf-8", "replace"))
    joints = list(accumulate(len(piece) for piece in pieces[:-1]))
    text = "".join(pieces)
    code = _COMMENT.sub(_blank, text)

    def line(position: int) -> int:
        return text.count("\n", 0, position) + bisect_right(joints, position) + 1

    found: list[tuple[int, str]] = []
    for match in (*_DIRECTIVE.finditer(code), *_HAS.finditer(code)):
        why = _reason(text[match.start(1) : match.end(1)])
        found += [(line(match.start(1)), why)] if why else []
    for match in _INCBIN.finditer(text):
        found.append((line(match.start()), "assembler directives that read files are not allowed"))
    return found


def _blank(match: re.Match[str]) -> str:
    """A comment becomes spaces; a string literal stays, so that what looks like a comment in it stays too."""
    return match[0] if match[0].startswith('"') else re.sub(r"[^\n]", " ", match[0])


def _reason(operand: str) -> str | None:
    literal = _LITERAL.match(re.sub(r"/\*.*?\*/", " ", operand).strip())
    if literal is None:
        return "#include takes a plain file name here, not a macro"
    name = (literal[1] or literal[2] or "").replace("\\", "/")
    if name.startswith("/") or re.match(r"[A-Za-z]:", name) or ".." in name.split("/"):
        return f'#include "{name}" leaves kernel/; include a file of kernel/, the CUDA toolkit or CUTLASS'
    return None
