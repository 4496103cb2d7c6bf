"""`new --example` with nothing changed: the start of the recorded repository, the same commit and id.

So the recorded run can be made again to the same ids, and neither torch nor a GPU is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cutegen_git.core import taskfile
from cutegen_git.hands.model import recording
from cutegen_git.hands.repo import MAIN, Repo
from cutegen_git.words.errors import ModelError
from cutegen_git.words.task import Task


@dataclass(frozen=True, slots=True)
class Started:
    """A task repository at the start of a recording."""

    folder: Path
    task: Task
    attempts: int  # that the recording has


def start(name: str, folder: Path) -> Started | None:
    """The repository; None where the example has no recording. `folder` was found to be free."""
    try:
        place = recording.find(name)
    except ModelError:
        return None
    if recording.has_replies(place):
        return None
    with recording.opened(name) as source, Repo.open(source) as recorded:
        root = recorded.history(MAIN, first_parent=True)[-1]
        [commit] = recorded.commits([root])
        files = recorded.files_at(root)
        attempts = len(recorded.refs("refs/cutegen/attempt/"))
    Repo.create(folder, files, commit.message, commit.at).close()
    return Started(folder, taskfile.parse(files["task.toml"].decode()), attempts)
