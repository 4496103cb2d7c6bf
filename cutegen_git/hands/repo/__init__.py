"""git as the store: objects, refs, notes, locks and crash recovery (design git.md).

GitPython is the door to the git command; nothing of its ref and index classes is used. Texts are opaque here:
`core.log` reads and writes commit messages, verdict lines and tag messages.
"""

from .objects import TOOL, Identity, RawCommit, RawTag
from .refs import ATTEMPTS, HEADS, INBOX, MAIN, NOTES, PATHS, TAGS, RefChanged, RefUpdate
from .repo import Repo
from .trees import Entry

__all__ = [
    "ATTEMPTS",
    "HEADS",
    "INBOX",
    "MAIN",
    "NOTES",
    "PATHS",
    "TAGS",
    "TOOL",
    "Entry",
    "Identity",
    "RawCommit",
    "RawTag",
    "RefChanged",
    "RefUpdate",
    "Repo",
]
