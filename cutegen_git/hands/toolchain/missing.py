"""The error for a tool that is not installed."""

from __future__ import annotations

from cutegen_git.words.errors import ToolError

FIX = "run: cutegen-git doctor --fix"


class ToolMissing(ToolError):
    """A tool is not installed. The text is one line that names the fix."""

    def __init__(self, tool: str, fix: str = FIX) -> None:
        super().__init__([tool], None, "", "", why="not found")
        self.args = (f"{tool} is not installed; {fix}",)
