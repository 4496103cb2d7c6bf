"""One build's output as numbers and as a few lines for the model.

The first real error with the user's line, the template values that led there, and what to do about it; for a
success the resources of the kernels that matter. A fault of the machine is told apart from one of the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import compiler_text
from .compiler_kind import Category, blame_of, category_of, symbols_of
from .compiler_parse import Message, messages
from .compiler_ptxas import KernelUse, kernels

_SHARED = re.compile(r"too much shared data \((0x[0-9a-f]+|\d+) bytes, (0x[0-9a-f]+|\d+) max\)")


@dataclass(frozen=True, slots=True)
class Location:
    """A line of a file, as the compiler named it."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class FirstError:
    """The error to look at; the others may be its consequences."""

    message: str
    file: str = ""  # "" where the tool named none
    line: int = 0
    ptx_line: int = 0  # a line of the temporary PTX file, no line of the kernel


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build said."""

    status: str  # "ok", "error", "timeout"
    category: Category
    blame: str  # "kernel", "environment", "" for a success
    error_count: int
    warning_lines: int
    distinct_warnings: int
    first_error: FirstError | None
    user_location: Location | None  # the innermost line in the user's own files
    kernels: tuple[KernelUse, ...]
    symbols: tuple[str, ...]  # what the linker missed or met twice
    shared_bytes_requested: int | None
    shared_bytes_max: int | None
    feedback: str  # for the model; at most `compiler_text.LIMIT` characters

    @property
    def is_ok(self) -> bool:
        return self.status == "ok"

    @property
    def is_about_kernel(self) -> bool:
        """False where the build says nothing about the kernel, so that it must be tried again."""
        return self.blame != "environment"

    @property
    def heaviest(self) -> KernelUse | None:
        """The kernel that uses most registers."""
        return max(self.kernels, key=lambda one: (one.registers, one.spill_bytes), default=None)

    def as_json(self) -> dict[str, Any]:
        """A dictionary for JSON; what is not known is absent."""
        out: dict[str, Any] = {
            "status": self.status,
            "category": self.category.value,
            "error_count": self.error_count,
            "warning_lines": self.warning_lines,
            "distinct_warnings": self.distinct_warnings,
            "kernel_count": len(self.kernels),
        }
        if self.blame:
            out["blame"] = self.blame
        if self.first_error:
            error = self.first_error
            fields = {
                "file": error.file,
                "line": error.line,
                "ptx_line": error.ptx_line,
                "message": error.message,
            }
            out["first_error"] = {key: value for key, value in fields.items() if value}
        if self.user_location:
            out["user_location"] = {"file": self.user_location.file, "line": self.user_location.line}
        if self.symbols:
            out["symbols"] = list(self.symbols)
        if self.shared_bytes_requested is not None:
            out["shared_bytes_requested"] = self.shared_bytes_requested
            out["shared_bytes_max"] = self.shared_bytes_max
        out["kernels"] = [_kernel_json(use) for use in self.kernels]
        out["feedback"] = self.feedback
        return out


def _kernel_json(use: KernelUse) -> dict[str, Any]:
    return {name: getattr(use, name) for name in KernelUse.__dataclass_fields__}


def explain(output: str, *, exit_code: int | None, sources: Mapping[str, str] | None = None) -> BuildReport:
    """The report of one build. `exit_code` None: it was stopped for time. `sources`: the user's files by path."""
    found = messages(output)
    errors = [one for one in found if one.kind == "error"]
    warnings = [one for one in found if one.kind == "warning"]
    if exit_code not in (0, None) and not errors:
        errors = [Message("error", "", _last_line(output))]
    if exit_code == 0:
        errors = []
    category = category_of(errors, exit_code, output)
    first = errors[0] if errors else None
    place = user_location(first, sources) if first else None
    uses = tuple(kernels(output))
    shared = next((match for one in errors if (match := _SHARED.search(one.text))), None)
    return BuildReport(
        status="ok" if exit_code == 0 else "timeout" if exit_code is None else "error",
        category=category,
        blame="" if exit_code == 0 else blame_of(category),
        error_count=len(errors),
        warning_lines=len(warnings),
        distinct_warnings=len({(one.file, one.line, one.number, one.text) for one in warnings}),
        first_error=_first_error(first) if first else None,
        user_location=place,
        kernels=uses,
        symbols=symbols_of(errors),
        shared_bytes_requested=int(shared[1], 0) if shared else None,
        shared_bytes_max=int(shared[2], 0) if shared else None,
        feedback=compiler_text.feedback(category, errors, warnings, uses, sources or {}),
    )


def _first_error(error: Message) -> FirstError:
    if error.is_ptx:
        return FirstError(error.text, ptx_line=error.line)
    return FirstError(error.text, error.file, error.line)


def user_location(error: Message, sources: Mapping[str, str] | None) -> Location | None:
    """The innermost line of an error that lies in the user's own files."""
    steps = compiler_text.user_steps(error, sources or {})
    return Location(steps[0][0], steps[0][1]) if steps else None


def _last_line(output: str) -> str:
    lines: Sequence[str] = [line for line in output.strip().split("\n") if line.strip()]
    return lines[-1].strip()[:500] if lines else "the compiler failed without a message"
