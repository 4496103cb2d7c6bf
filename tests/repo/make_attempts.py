"""A run in small: replies become attempts, verdicts, tags and moves of main, all with recorded dates. Continues
where it was killed. Started by test_crash as `python make_attempts.py DIR COUNT`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cutegen_git.hands.repo import ATTEMPTS, MAIN, TOOL, Identity, RefUpdate, Repo

MODEL = Identity("model", "model@cutegen.invalid")
PATH = "refs/heads/path/tiling"
VERDICTS = "refs/notes/cutegen/verdict/lab"


def make_all(folder: Path, count: int) -> None:
    with Repo.open(folder) as repo, repo.lock(wait_s=0):
        repo.refuse_unready(devices=["h200"])
        repo.recover()
        for number in range(1, count + 1):
            make(repo, number)


def make(repo: Repo, number: int) -> None:
    """The attempt; every third improves, moves its path and main, and is tagged."""
    label, at = f"{number:04d}", 1_700_000_000 + 10 * number
    ref = f"{ATTEMPTS}{label}"
    made = repo.resolve(ref)
    if made is None:
        repo.inbox_put(label, f"// {label}\n".encode())
        base = repo.resolve(PATH) or repo.resolve(MAIN) or ""
        files = {"kernel/kernel.cu": repo.inbox()[label] * number, f"kernel/part{number % 2}.cuh": b"p\n"}
        tree = repo.tree_with(base, {**files, f"kernel/part{1 - number % 2}.cuh": None})
        made = repo.commit(tree, [base], f"attempt {label}\n", author=MODEL, at=at)
        repo.transaction([RefUpdate(ref, None, made)], f"attempt {label}", inbox_done=[label])
    repo.notes_append(VERDICTS, made, f"passed {label}", at=at)
    if number % 3 == 0:
        repo.tag(f"h200/{label}-1.{number:02d}x", made, f"claim {label}\n", at=at)
        promote(repo, made, label, at)


def promote(repo: Repo, made: str, label: str, at: int) -> None:
    head, main = repo.resolve(PATH), repo.resolve(MAIN) or ""
    updates = [] if head == made else [RefUpdate(PATH, head, made)]
    if not repo.is_ancestor(made, main):
        merge = repo.commit(repo.tree_of(made), [main, made], f"merge {label}\n", author=TOOL, at=at)
        updates.append(RefUpdate(MAIN, main, merge))
    repo.transaction(updates, f"advance to {label}")


if __name__ == "__main__":
    make_all(Path(sys.argv[1]), int(sys.argv[2]))
