"""May a run begin here? Each refusal is one sentence that names the fix; nothing is ever repaired for the user."""

from __future__ import annotations

from collections.abc import Sequence

from cutegen_git.words.errors import RepoError

from . import worktree
from .discover import Place
from .git import Git
from .kinds import Kind, kind_of
from .refs import ATTEMPTS, HEADS, NOTES, PATHS, TAGS, listed

_SHOWN = 8


def branch(git: Git) -> str | None:
    """Full name of the branch that HEAD is on; None when detached."""
    done = git.run("symbolic-ref", "--quiet", "HEAD")
    return done.text().strip() if done.ok else None


def dirty(git: Git, place: Place) -> list[str]:
    """Changes in the worktree; none in a bare repository."""
    return [] if place.bare else worktree.dirty(git, place.root)


def refuse_unready(git: Git, place: Place, devices: Sequence[str]) -> None:
    """RepoError unless everything that a run needs is so."""
    if place.bare:
        raise RepoError(f"{place.root} is a bare repository: clone it and run there")
    state = worktree.under_way(place.git_dir)
    if state is not None:
        raise RepoError(state)
    if branch(git) is None:
        way = "git bisect reset" if (place.git_dir / "BISECT_LOG").exists() else "git switch main"
        raise RepoError(f"HEAD is detached, so results could become unreachable: {way}, then run again")
    age_s = worktree.index_lock_age_s(place.git_dir)
    if age_s is not None:
        lock = place.git_dir / "index.lock"
        raise RepoError(
            f"{lock} exists (since {age_s:.0f} s): another git works here, or one crashed and the lock may be deleted"
        )
    _refuse_names(git, devices)
    changes = dirty(git, place)
    if changes:
        more = f" and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
        shown = ", ".join(line.strip() for line in changes[:_SHOWN])
        raise RepoError(f"the worktree has changes ({shown}{more}): commit or discard them, then run again")


def _refuse_names(git: Git, devices: Sequence[str]) -> None:
    """git cannot hold both `path` and `path/tiling`: a ref is a file or a folder."""
    needed = [PATHS, NOTES, ATTEMPTS, "refs/cutegen/inbox/", *(f"{TAGS}{slug}/" for slug in devices)]
    needed += [
        f"{NOTES}{kind}/"
        for kind in ("verdict", "samples", "profile", "feedback", "transcript", "ledger", "claim")
    ]
    blocking = {
        "/".join(name.split("/")[:depth]) for name in needed for depth in range(3, name.count("/") + 1)
    }
    found = listed(git, HEADS, TAGS, "refs/notes/", "refs/cutegen/")
    for ref in sorted(blocking & found.keys()):
        kind, name = ref.removeprefix("refs/").split("/", 1)
        what = {"heads": "branch", "tags": "tag"}.get(kind)
        way = f"rename the {what} {name}" if what else f"move it away with git update-ref -d {ref}"
        raise RepoError(f"{ref} is in the way of {ref}/…, which cutegen-git needs: {way}")
    if "refs/cutegen" in found:
        raise RepoError("refs/cutegen is in the way: git update-ref -d refs/cutegen")


def verdicts_missing(git: Git) -> bool:
    """True where claims or paths came along and no verdict and no attempt did."""
    if listed(git, f"{NOTES}verdict/", ATTEMPTS):
        return False
    if listed(git, PATHS):
        return True
    names = [*listed(git, TAGS), *listed(git, "refs/remotes/")]
    return any(
        kind_of(name) is Kind.CLAIM or "/path/" in name.removeprefix("refs/remotes/") for name in names
    )
