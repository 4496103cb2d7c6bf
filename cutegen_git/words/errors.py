"""Exceptions for a bad world. A bad kernel is a value (see `words.verdict.Outcome`), never an exception.

CutegenError            shown as one line; exit code 128
  TaskError             the user's task.toml, reference or command is at fault
  PatchError            a model's reply cannot become a patch; its text is written to be sent back to the model
  RepoError             git or the task repository is in a state that the tool will not touch
  ModelError            the provider gave no usable answer
  ToolError             an outside command failed: the command, its code and both tails
"""

from __future__ import annotations

from enum import Enum

TAIL_CHARS = 4000


class CutegenError(Exception):
    """A problem outside the kernel. `str()` is one sentence that names the fix."""

    exit_code: int = 128


class TaskError(CutegenError):
    """The user's file or argument is wrong."""


class RepoError(CutegenError):
    """The repository cannot be used as it is."""


class ToolError(CutegenError):
    """An outside command failed in a way that says nothing about the kernel."""

    def __init__(self, argv: list[str], code: int | None, stdout: str, stderr: str, *, why: str = "") -> None:
        self.argv, self.code, self.why = argv, code, why
        self.stdout, self.stderr = stdout[-TAIL_CHARS:], stderr[-TAIL_CHARS:]
        last = next(
            (line for line in reversed((stderr or stdout).strip().splitlines()) if line.strip()), "no output"
        )
        ended = why or ("timed out" if code is None else f"exit code {code}")
        super().__init__(f"{' '.join(argv[:3])} failed ({ended}): {last.strip()}")


class ModelTrouble(str, Enum):
    """Why a provider gave no reply. The loop decides by this; the text is for people."""

    RATE_LIMIT = "rate-limit"  # 429 to the end of the retries
    QUOTA = "quota"  # the account is empty: retrying is useless
    AUTH = "auth"  # 401, 403: wrong or missing key
    NOT_FOUND = "not-found"  # 404: no such model
    CONTEXT_LENGTH = "context-length"  # the prompt is too long for the model
    SERVER = "server"  # 5xx, connection lost, to the end of the retries
    TIMEOUT = "timeout"  # our own wall clock ran out
    NOT_CONFIGURED = "not-configured"  # no model named, or litellm is not installed
    NO_ANSWER = "no-answer"  # handoff: no reply file yet; replay: nothing recorded for this attempt


class ModelError(CutegenError):
    """The provider gave no reply. Nothing of a key is ever in the text."""

    def __init__(self, trouble: ModelTrouble, message: str) -> None:
        self.trouble = trouble
        super().__init__(message)


class PatchProblem(str, Enum):
    """The classes of a reply that cannot become a patch (names are shown to models and stored in commits)."""

    NO_DIFF = "no-diff"
    TRUNCATED = "truncated"
    CONTEXT_NOT_FOUND = "context-not-found"
    AMBIGUOUS_CONTEXT = "ambiguous-context"
    NO_CONTEXT = "no-context"
    ELIDED_CONTENT = "elided-content"
    REVERSED_OR_ALREADY_APPLIED = "reversed-or-already-applied"
    CONFLICTING_DIFFS = "conflicting-diffs"
    OVERLAPPING_HUNKS = "overlapping-hunks"
    TARGET_EXISTS = "target-exists"
    FILE_NOT_FOUND = "file-not-found"
    NO_FILE_NAME = "no-file-name"
    OUTSIDE_ALLOWED_FILES = "outside-allowed-files"
    PATH_TRAVERSAL = "path-traversal"
    ABSOLUTE_PATH = "absolute-path"
    SYMLINK = "symlink"
    BINARY_PATCH = "binary-patch"
    MODE_CHANGE = "mode-change"


class PatchError(CutegenError):
    """A reply gives no patch. `str()` goes back to the model: class, place, what did not match, what to send."""

    exit_code = 1

    def __init__(self, problem: PatchProblem, text: str) -> None:
        self.problem = problem
        super().__init__(text)
