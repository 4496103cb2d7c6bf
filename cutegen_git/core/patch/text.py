"""Bytes to lines and back, without losing a byte: line ends are kept per line, odd bytes as surrogates."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ESCAPED = re.compile("[\udc80-\udcff]")


def decode(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class Doc:
    """A file as lines: `texts[i] + ends[i]` joined is the file."""

    texts: tuple[str, ...]
    ends: tuple[str, ...]  # "\n", "\r\n", or "" for an unterminated last line

    @property
    def end(self) -> str:
        """The line end that most lines have."""
        crlf = sum(end == "\r\n" for end in self.ends)
        return "\r\n" if crlf * 2 > len(self.ends) else "\n"

    @property
    def is_latin1(self) -> bool:
        """Bytes above 0x7f are there and none of them is UTF-8."""
        text = "".join(self.texts)
        return bool(_ESCAPED.search(text)) and all(c < "\x80" or "\udc80" <= c <= "\udcff" for c in text)


def doc(text: str) -> Doc:
    parts = text.split("\n")
    last = parts.pop()
    texts = [part[:-1] if part.endswith("\r") else part for part in parts]
    ends = ["\r\n" if part.endswith("\r") else "\n" for part in parts]
    if last:
        texts.append(last)
        ends.append("")
    return Doc(tuple(texts), tuple(ends))


def join(document: Doc) -> str:
    return "".join(text + end for text, end in zip(document.texts, document.ends, strict=True))


def as_latin1(text: str) -> str:
    """`text` with U+0080 to U+00FF as single bytes, for a line that goes into a Latin-1 file."""
    return "".join(chr(0xDC00 + ord(c)) if "\x80" <= c <= "\xff" else c for c in text)


def reply_lines(text: str) -> list[str]:
    """Lines of a reply; a carriage return before the newline belongs to the transport, not to the line."""
    text = text.removeprefix("\ufeff")
    lines = [line[:-1] if line.endswith("\r") else line for line in text.split("\n")]
    if lines and not lines[-1]:
        lines.pop()
    return lines
