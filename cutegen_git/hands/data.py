"""Where the package's data lies: prompts, the template of a task repository, the examples.

In the repository they are top-level folders; the wheel carries them in `cutegen_git/data` (see pyproject.toml).
"""

from __future__ import annotations

from pathlib import Path

from cutegen_git.words.errors import CutegenError

PACKAGE = Path(__file__).resolve().parent.parent
NAMES = ("prompts", "kernel_repo_template", "examples")


def root(name: str) -> Path:
    """The folder of "prompts", "kernel_repo_template", "examples" or a folder in it, e.g. "examples/gemm"."""
    if name.split("/")[0] not in NAMES or ".." in name.split("/"):
        raise ValueError(f"no package data called {name!r}")
    for base in (PACKAGE / "data", PACKAGE.parent):
        if (base / name).is_dir():
            return base / name
    raise CutegenError(f"this installation lacks its folder {name!r}; install cutegen-git again")
