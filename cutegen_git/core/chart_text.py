"""Text of strangers made safe to look at: a model's words may hold control codes, markup and reordering marks."""

from __future__ import annotations

import unicodedata
from html import escape as _escape

_SHOWN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def visible(text: str) -> str:
    """The text with everything that does not show, or that reorders what shows, as a visible sign.

    Line ends and tabs stay. ESC becomes `␛`, U+202E becomes `<U+202E>` in mathematical brackets.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_sign(char) for char in text)


def escape(text: str) -> str:
    """Visible and escaped for HTML and SVG, in text and in quoted attributes."""
    return _escape(visible(text), quote=True)


def _sign(char: str) -> str:
    if char in "\n\t" or unicodedata.category(char) not in _SHOWN:
        return char
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"\u27e8U+{code:04X}\u27e9"
