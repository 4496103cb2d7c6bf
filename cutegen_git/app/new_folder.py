"""Where a task repository may be made."""

from __future__ import annotations

from pathlib import Path

from cutegen_git.hands.repo.git import Git
from cutegen_git.words.errors import RepoError


def refuse(folder: Path) -> None:
    """RepoError where a task repository cannot be made."""
    if folder.exists() or folder.is_symlink():
        raise RepoError(f"{folder} exists already: choose another name, or remove it")
    for above in folder.absolute().parents:
        if (above / ".git").exists() and not _is_ignored(above, folder.absolute()):
            raise RepoError(
                f"{folder} would lie inside the git repository {above}: a task is a repository of its own; choose a place outside, or one that it ignores"
            )


def _is_ignored(repository: Path, folder: Path) -> bool:
    """True where the outer repository does not look at the folder, so that both can live."""
    return Git(repository).run("check-ignore", "--quiet", f"{folder}/").ok
