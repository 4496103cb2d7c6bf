"""The text report of Nsight Compute (without --csv): headings of kernels, and tables drawn with dashes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .ncu_records import Cell, Report

_KERNEL = re.compile(
    r"^  (?P<name>\S.*?)(?: (?P<grid>\(\d+, \d+, \d+\))x(?P<block>\(\d+, \d+, \d+\)))?"
    r"(?:, \d{4}-\w+-\d+ [\d:]+)?(?P<rest>(?:, (?:Context|Stream|Device|CC|Invocations) [\d.]+)+)\s*$"
)
_RULE = re.compile(r"\s*-{3,}(?:\s+-{3,}){2,}\s*")  # rules of prose have two groups of dashes


@dataclass(slots=True)
class _Reader:
    """The state while reading down the report."""

    heading: re.Match[str] | None = None
    launch: int = 0
    ends: list[int] | None = None  # where the columns of the open table end; None outside a table
    is_header: bool = False  # the line before was the table's header
    cells: list[Cell] = field(default_factory=list)

    def take(self, line: str) -> None:
        heading = _KERNEL.match(line)
        if heading:
            self.heading, self.launch, self.ends = heading, self.launch + 1, None
        elif self.heading is None:
            return
        elif _RULE.fullmatch(line):
            self._turn(line)
        elif not line.strip():
            self.ends = None  # no table holds an empty line
        elif self.ends:
            self._row(line, self.ends)

    def _turn(self, line: str) -> None:
        if self.ends is None:
            self.ends = [dashes.end() for dashes in re.finditer("-+", line)]
        elif not self.is_header:
            self.ends = None
        self.is_header = False

    def _row(self, line: str, ends: list[int]) -> None:
        metric, unit, *_ = (
            line[start:end].strip() for start, end in zip([0, *ends], [*ends[:-1], None], strict=False)
        )
        self.is_header = metric == "Metric Name"
        text = line[ends[-2] :].strip()  # the value, or the average of minimum, maximum and average
        if self.heading and text and not self.is_header:
            about = self.heading
            cc = re.search(r"CC ([\d.]+)", about["rest"])
            invocations = re.search(r"Invocations (\d+)", about["rest"])
            shape = (about["grid"] or "", about["block"] or "", cc[1] if cc else "")
            count = int(invocations[1]) if invocations else 1
            self.cells.append(Cell(str(self.launch), about["name"], shape, count, metric, unit, text))


def read_text(text: str) -> Report | None:
    """All metric tables of the report; None where no kernel has a heading."""
    reader = _Reader()
    for line in text.splitlines():
        reader.take(line)
    if reader.heading is None:
        return None
    return Report(tuple(reader.cells), is_cut=reader.ends is not None)
