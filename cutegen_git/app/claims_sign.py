"""Which lines of a runner's notes count: where `[runners]` lists a key, those that the key signed.

Signatures stand in refs/notes/cutegen/sig/<runner>, one line `<line id> <base64>` on the object of the line itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path

from cutegen_git.hands import signing
from cutegen_git.hands.repo import Repo
from cutegen_git.words.errors import CutegenError, TaskError, ToolError
from cutegen_git.words.task import Task

KEY_VARIABLE = "CUTEGEN_GIT_SIGNING_KEY"  # environment: file of this runner's private key


class Signed(str, Enum):
    """How a line or tag stands to the key of its runner."""

    NO_KEY = "no key"  # the runner lists none: nothing to check
    GOOD = "good"
    MISSING = "missing"
    WRONG = "wrong"
    UNKNOWN = "unknown"  # ssh-keygen is not here

    @property
    def counts(self) -> bool:
        return self in (Signed.NO_KEY, Signed.GOOD)


def sig_ref(runner: str) -> str:
    return f"refs/notes/cutegen/sig/{runner}"


def key_of(task: Task, runner: str) -> str | None:
    """The public key that main lists for a runner; None where it lists none."""
    listed = task.runners.get(runner)
    return listed.key if listed else None


def key_file_for(task: Task, runner: str, env: Mapping[str, str]) -> Path | None:
    """The private key that this machine signs with as a runner; None where it signs nothing.

    TaskError where main lists a key for the runner and this machine has none, or another: nothing that it wrote
    would count, which is better known before a GPU has worked for it.
    """
    named, listed = env.get(KEY_VARIABLE, "").strip(), key_of(task, runner)
    if not named:
        if listed is None:
            return None
        raise TaskError(
            f"[runners] lists a key for {runner}: its verdicts count only when signed; set {KEY_VARIABLE} to the file of"
            " the private key"
        )
    file = Path(named).expanduser()
    if listed is not None:
        probe = f"{runner} signs".encode()
        if not signing.check(probe, signing.sign(probe, file, signing.VERDICT), listed, signing.VERDICT):
            raise TaskError(f"{file} is not the key that [runners] lists for {runner}")
    return file


def sign_line(repo: Repo, runner: str, commit: str, line: str, namespace: str, key_file: Path) -> None:
    """Write the signature of a line beside it. Before the line itself: so no reader ever sees it unsigned."""
    signature = signing.sign(line.encode(), key_file, namespace)
    repo.notes_append(sig_ref(runner), commit, f"{_id(line)} {signature}")


def signed(line: str, note: str, key: str | None, namespace: str) -> Signed:
    """How a line stands to a key, given the note with the signatures of its object."""
    if key is None:
        return Signed.NO_KEY
    wanted = _id(line)
    found = [words[1] for text in note.splitlines() if len(words := text.split()) == 2 and words[0] == wanted]
    if not wanted or not found:
        return Signed.MISSING
    try:
        good = any(signing.check(line.encode(), signature, key, namespace) for signature in found)
    except ToolError:
        return Signed.UNKNOWN
    return Signed.GOOD if good else Signed.WRONG


def counted(
    repo: Repo, task: Task, runner: str, notes: Mapping[str, str], *, namespace: str = signing.VERDICT
) -> Iterator[tuple[str, str]]:
    """(commit, line) of a runner's notes that count. CutegenError where signatures cannot be checked here."""
    key = key_of(task, runner)
    signatures = repo.notes_read(sig_ref(runner)) if key else {}
    for commit, text in notes.items():
        for line in text.splitlines():
            found = signed(line, signatures.get(commit, ""), key, namespace)
            if found is Signed.UNKNOWN:
                raise CutegenError(
                    f"the verdicts of {runner} are signed and ssh-keygen is not here to check them: install OpenSSH"
                )
            if found.counts:
                yield commit, line


def _id(line: str) -> str:
    found = re.search(r" id=([0-9a-f]{12})$", line)
    return found[1] if found else ""
