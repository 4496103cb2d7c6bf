"""The shipped prompt templates, as a mapping from name to text."""

from __future__ import annotations

from cutegen_git.hands import data

SUFFIXES = (".j2", ".md", ".cu")


def shipped() -> dict[str, str]:
    """Every template by its name below prompts/: "system.md.j2", "family/matmul.md", "example.cu"."""
    root = data.root("prompts")
    paths = sorted(path for path in root.rglob("*") if path.suffix in SUFFIXES)
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in paths}
