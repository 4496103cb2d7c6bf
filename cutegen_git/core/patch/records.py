"""What the stages of the patch engine hand to each other.

find -> Block -> parse -> FileChange with Hunks -> place -> Placement -> Patch. All text is `str` decoded from
UTF-8 with surrogateescape, so that every byte of a reply or a file survives the way in and out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from cutegen_git.words.errors import PatchProblem


class BlockKind(str, Enum):
    """Which of the edit formats a piece of the reply is written in."""

    DIFF = "diff"  # unified diff, fenced or bare
    SEARCH = "search"  # SEARCH/REPLACE blocks
    ENVELOPE = "envelope"  # *** Begin Patch
    CODE = "code"  # a fence that may be a whole file


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of the reply that may hold edits."""

    kind: BlockKind
    lines: tuple[str, ...]  # content without fence lines, without line ends
    first: int  # first line in the reply, fence line included (0-based)
    last: int  # one past the last line
    hint: str = ""  # a file name written just before the block or in the fence's info
    closed: bool = True  # False: the reply ended inside the fence or envelope
    label: str = ""  # the language after the fence mark
    named: bool = False  # the hint is a name that stands alone, not a mention in a sentence


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a hunk."""

    sign: str  # " " kept, "-" removed, "+" added
    text: str  # without sign and line end
    raw: str = ""  # kept lines: the line as sent, in case it never had a sign
    no_newline: bool = False  # "\ No newline at end of file" followed


@dataclass(frozen=True, slots=True)
class Hunk:
    """One hunk; numbers are hints and may be absent."""

    items: tuple[Item, ...]
    header: str = ""  # the @@ line as sent, for messages
    old_start: int | None = None  # 1-based
    old_count: int | None = None
    new_start: int | None = None
    new_count: int | None = None
    anchors: tuple[str, ...] = ()  # section heading or @@ anchors that come before the place
    soft_tail: int = 0  # trailing empty lines that may be only decoration
    block: int = 0  # which Block of the reply

    def olds(self) -> list[Item]:
        return [item for item in self.items if item.sign != "+"]

    def changes(self) -> int:
        return sum(item.sign != " " for item in self.items)


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a reply wants done to one file; names are as sent."""

    old: str | None  # None: not stated; "/dev/null": there is none
    new: str | None
    hunks: tuple[Hunk, ...] = ()
    rename: tuple[str, str] | None = None
    copy: tuple[str, str] | None = None
    creates: bool = False  # "new file mode"
    deletes: bool = False  # "deleted file mode"
    modes: tuple[str, ...] = ()  # modes other than 100644
    binary: bool = False
    whole: tuple[str, ...] | None = None  # the complete new text, instead of hunks
    block: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """Why one hunk (or one file) was refused."""

    problem: PatchProblem
    path: str  # "" where no file is known
    text: str  # for the model: place, expected beside found, what to send
    hunk: Hunk | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """Lines [start, end) of the original are replaced by `lines` (each with its line end)."""

    start: int
    end: int
    lines: tuple[str, ...]
    hunk: Hunk


@dataclass(frozen=True, slots=True)
class Patch:
    """An accepted reply. Only changed files are in `files`; None means deleted."""

    files: Mapping[str, bytes | None]
    diff: str  # what `git diff` prints for the change (bytes that are not UTF-8 as surrogate escapes)
    added: int  # lines, as the diff counts them
    removed: int
    prose: str  # the reply without its edits and without thinking
