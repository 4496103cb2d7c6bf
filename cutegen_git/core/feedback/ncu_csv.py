"""The CSV layouts of Nsight Compute: long table, summary and details page, and the wide raw page.

Tables stand anywhere between the program's own output, which may be CSV as well. Only lines that have the shape
of the table's rows are read.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .ncu_records import Cell, Report

_ROW = re.compile(r'"\d+","|\d+,')
_PROCESS = re.compile(r"==PROF== Connected to process (\d+)")
_HEADER_START = ('"ID","Process ID"', '"Process ID","Process Name"')
_JOINED_LINES = 40  # a rule's prose may hold line ends; more than this is not one cell

_IDENTITY = frozenset(
    "ID|Process ID|Process Name|Host Name|Kernel Name|Function Name|Context|Stream|Block Size|Grid Size|Device|CC|"
    "Invocations|Section Name|Thread ID|Estimated Speedup|Issues Detected|Runtime Improvement".split("|")
)


@dataclass(frozen=True, slots=True)
class _Table:
    header: tuple[str, ...]
    number: int  # of the table in the output

    @property
    def is_long(self) -> bool:
        return "Metric Name" in self.header

    @property
    def value(self) -> str:
        return "Metric Value" if "Metric Value" in self.header else "Average"

    @property
    def fewest(self) -> int:
        """Cells that a data row has at least: the details page leaves off empty cells at the end."""
        return self.header.index(self.value) + 1 if self.is_long else len(self.header)

    def get(self, row: Sequence[str], *names: str) -> str:
        for name in names:
            if name in self.header and self.header.index(name) < len(row):
                return row[self.header.index(name)]
        return ""

    def has_row(self, row: Sequence[str]) -> bool:
        shape = self.get(row, "Block Size")
        is_whole = self.fewest <= len(row) <= len(self.header) + 1
        return is_whole and bool(self.get(row, "Kernel Name", "Function Name")) and shape[:1] in ("", "(")


def read_csv(text: str) -> Report | None:
    """All tables of the output; None where it has none."""
    table, units, cells, is_cut = None, None, list[Cell](), False
    lines = text.splitlines()
    processes = set(_PROCESS.findall(text))
    for row, is_whole, is_last in _rows(lines):
        header = _header(row)
        if header:
            is_cut |= table is not None and not cells
            table, units = _Table(header, table.number + 1 if table else 0), None
        elif row[0] == "ID" or row[:2] == ["Process ID", "Process Name"]:
            is_cut |= not is_whole or (is_last and row[1:2] in ([], ["Process ID"]))
        elif table is None:
            continue
        elif not table.is_long and units is None and not any(row[:3]):
            units = row
        elif is_whole and table.has_row(row):
            found = _long(table, row) if table.is_long else _wide(table, row, units or [])
            cells.extend(found)
            processes.add(table.get(row, "Process ID"))
        else:
            is_cut |= not is_whole or (is_last and table.get(row, "Process ID") in processes)
    if table is None and not is_cut:
        return None
    no_rows = not cells and "No kernels were profiled" not in text
    return Report(tuple(cells), is_cut or no_rows)


def _header(row: Sequence[str]) -> tuple[str, ...] | None:
    is_long = "Metric Name" in row and ("Metric Value" in row or "Average" in row)
    is_wide = "Grid Size" in row and any("__" in name for name in row)
    return tuple(row) if ("Kernel Name" in row or "Function Name" in row) and (is_long or is_wide) else None


def _rows(lines: list[str]) -> Iterator[tuple[list[str], bool, bool]]:
    """Every line that could belong to a table: its cells, whether its quotes close, whether it ends the output."""
    last = max((i for i, line in enumerate(lines) if line.strip()), default=-1)
    index = 0
    while index <= last:
        line, index = lines[index], index + 1
        is_row = _ROW.match(line) is not None
        if not is_row and not line.startswith(('"ID"', "ID,", '"Process ID"', "Process ID,", '"",', ",,")):
            continue
        if line.count('"') % 2 and is_row:
            end = _closing(lines, index)
            line, index = "\n".join([line, *lines[index:end]]), end
        is_whole = line.count('"') % 2 == 0
        row = next(csv.reader([line]), [])
        if row:
            yield row, is_whole, index > last


def _closing(lines: list[str], index: int) -> int:
    """The line after the one that closes an open quote; `index` where no quote closes before the next row."""
    for end in range(index, min(len(lines), index + _JOINED_LINES)):
        if _ROW.match(lines[end]):
            return index
        if lines[end].count('"') % 2:
            return end + 1
    return index


def _long(table: _Table, row: list[str]) -> Iterator[Cell]:
    metric = table.get(row, "Metric Name")
    if metric:  # rows of rules have none
        yield _cell(table, row, metric, table.get(row, "Metric Unit"), table.get(row, table.value))


def _wide(table: _Table, row: list[str], units: list[str]) -> Iterator[Cell]:
    for index, (name, text) in enumerate(zip(table.header, row, strict=False)):
        if name not in _IDENTITY and text:
            yield _cell(table, row, name, units[index] if index < len(units) else "", text)


def _cell(table: _Table, row: list[str], metric: str, unit: str, text: str) -> Cell:
    shape = (table.get(row, "Grid Size"), table.get(row, "Block Size"), table.get(row, "CC"))
    kernel = table.get(row, "Kernel Name", "Function Name")
    own = table.get(row, "ID") if "ID" in table.header else f"{kernel} {shape}"
    launch = f"{table.number}/{table.get(row, 'Process ID')}/{own}"
    invocations = table.get(row, "Invocations")
    return Cell(launch, kernel, shape, int(invocations) if invocations.isdigit() else 1, metric, unit, text)
