"""One table of task.toml with its keys taken out by type. Every complaint names the table and the key."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import NoReturn

from cutegen_git.words.errors import TaskError


def refuse(text: str) -> NoReturn:
    raise TaskError(f"task.toml: {text}")


def nearest(word: str, known: Iterable[str]) -> str:
    """A question after the nearest known word, or the list of them where none is near."""
    words = list(known)
    near = get_close_matches(word, words, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"known are {', '.join(words)}" if words else "none is known here"


class Table:
    """A TOML table; `name` is how complaints call it, e.g. "[stop]"."""

    def __init__(self, value: object, name: str, known: Iterable[str] | None = None) -> None:
        if not isinstance(value, Mapping):
            refuse(f"{name} must be a table, not {kind_of(value)}")
        self.raw: Mapping[str, object] = value
        self.name = name
        self._check_keys(tuple(known) if known is not None else tuple(self.raw))

    def _check_keys(self, known: tuple[str, ...]) -> None:
        for key, value in self.raw.items():
            if key in known:
                continue
            what = "table" if isinstance(value, Mapping) and not self.name else "key"
            where = f" in {self.name}" if self.name else ""
            refuse(f"unknown {what} {key!r}{where}; {nearest(key, known)}")

    def __contains__(self, key: str) -> bool:
        return key in self.raw

    def key(self, key: str) -> str:
        return f"{self.name} {key}".strip()

    def _take(self, key: str) -> object:
        if key not in self.raw:
            refuse(f"{self.key(key)} is missing")
        return self.raw[key]

    def wrong(self, key: str, expected: str) -> NoReturn:
        refuse(f"{self.key(key)} must be {expected}, not {shown(self.raw[key])}")

    def text(self, key: str, default: str | None = None) -> str:
        value = default if default is not None and key not in self.raw else self._take(key)
        if not isinstance(value, str):
            self.wrong(key, "a string")
        return value

    def integer(self, key: str, default: int, *, least: int = 0) -> int:
        value = self.raw.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            self.wrong(key, f"a whole number of at least {least}")
        return value

    def size(self, key: str) -> int:
        """A number of elements, which has no default."""
        self._take(key)
        return self.integer(key, 0, least=1)

    def number(self, key: str, default: float, *, positive: bool = False) -> float:
        value = self.raw.get(key, default)
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
            self.wrong(key, "a number")
        if value < 0 or (positive and value == 0):
            self.wrong(key, "a number above 0" if positive else "a number of at least 0")
        return float(value)

    def boolean(self, key: str, default: bool) -> bool:
        value = self.raw.get(key, default)
        if not isinstance(value, bool):
            self.wrong(key, "true or false")
        return value

    def texts(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        value: object = default if default is not None and key not in self.raw else self._take(key)
        if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
            self.wrong(key, "a list of strings")
        return tuple(value)

    def choice(self, key: str, known: Iterable[str], default: str | None = None) -> str:
        value = self.text(key, default)
        words = list(known)
        if value not in words:
            refuse(f"{self.key(key)} is {value!r}; {nearest(value, words)}")
        return value


def kind_of(value: object) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", str: "a string", list: "a list"}
    return names.get(type(value), "a table" if isinstance(value, Mapping) else "a date")


def shown(value: object) -> str:
    """The value for a complaint, cut short."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
