"""The one door to the terminal: stdout is the result, stderr is talk and progress."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass, field

from rich.console import Console as Rich
from rich.text import Text


@dataclass
class Console:
    """Where a command speaks. `quiet` silences the talk; `as_json` makes every result one JSON line."""

    quiet: bool = False
    as_json: bool = False
    started_s: float = field(default_factory=time.monotonic)
    _line_open: bool = False

    def say(self, text: str, *, style: str = "") -> None:
        """A line of talk on stderr."""
        if self.quiet:
            return
        self._close_line()
        Rich(stderr=True, highlight=False, soft_wrap=True).print(Text(shown(text), style=style))

    def busy(self, text: str) -> None:
        """What is being done now: replaces itself on a terminal, a plain line elsewhere."""
        if self.quiet:
            return
        stamp = f"[{time.monotonic() - self.started_s:6.1f}s] {shown(text)}"
        if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            sys.stderr.write(f"\r\x1b[K{stamp[:160]}")
            self._line_open = True
        else:
            sys.stderr.write(stamp + "\n")
        sys.stderr.flush()

    def result(self, text: str, record: object = None, *, style: str = "") -> None:
        """A result on stdout: the text, or the record as one JSON line where asked for."""
        self._close_line()
        if self.as_json:
            if record is not None:
                sys.stdout.write(json.dumps(record, default=str, ensure_ascii=False) + "\n")
                sys.stdout.flush()
            return
        Rich(highlight=False, soft_wrap=True).print(Text(shown(text), style=style))

    def _close_line(self) -> None:
        if self._line_open:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._line_open = False


def shown(text: str) -> str:
    """The text as a terminal may get it: models and compilers write control characters too."""
    return "".join(
        char if char in "\n\t" or char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text
    )
