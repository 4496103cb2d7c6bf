"""A person or another program as the model: a prompt file out, a reply file in.

`.cutegen/handoff/<label>.prompt.md` is answered by `.cutegen/handoff/<label>.reply.md`. A reply counts only
for the prompt that lies beside it: one for another prompt is put aside under another name, never used or lost.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from pathlib import Path

from cutegen_git.hands.model.talk import Ask, NoReply, Reply, Say, to_stderr
from cutegen_git.words.errors import ModelTrouble, RepoError

FOLDER = Path(".cutegen/handoff")


class Handoff:
    """Files in the task repository, which git ignores."""

    def __init__(
        self,
        repo_dir: Path,
        *,
        wait: bool,
        author: str = "handoff",
        say: Say = to_stderr,
        poll_s: float = 0.5,
        settle_s: float = 1.0,
    ) -> None:
        self.name = "handoff"
        self._repo_dir, self._wait, self._author, self._say = repo_dir, wait, author, say
        self._poll_s, self._settle_s = poll_s, settle_s

    def ask(self, request: Ask) -> Reply:
        """The reply file's bytes. Without one: waits, or NoReply that says which file to write."""
        folder = self._folder()
        prompt, answer = _files(folder, request.label)
        self._put_prompt(prompt, answer, _prompt_bytes(request, answer.name))
        told = False
        while (text := self._whole(answer)) is None:
            if not self._wait and not _has_text(answer):
                where = _shown(answer, self._repo_dir)
                raise NoReply(
                    ModelTrouble.NO_ANSWER,
                    f"the prompt is in {_shown(prompt, self._repo_dir)}: write the reply into {where},"
                    " then run the same command again",
                )
            if not told and self._wait:
                told = True
                self._say(
                    f"waiting for {_shown(answer, self._repo_dir)}, the reply to"
                    f" {_shown(prompt, self._repo_dir)} (Ctrl-C stops; the same command goes on from here)"
                )
            time.sleep(self._poll_s)
        # A person's time is not counted against the run's minutes.
        return Reply(text, self._author)

    def _folder(self) -> Path:
        root = self._repo_dir.resolve()
        folder = root / FOLDER
        if root not in folder.resolve().parents:  # a repository may hold `.cutegen` as a link to anywhere
            raise RepoError(f"{FOLDER} leads out of {self._repo_dir}; remove the link")
        folder.mkdir(parents=True, exist_ok=True)
        ignore = folder.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
        return folder

    def _put_prompt(self, prompt: Path, answer: Path, wanted: bytes) -> None:
        if prompt.is_file() and prompt.read_bytes() == wanted:
            return
        if answer.exists():
            mark = hashlib.sha256(answer.read_bytes()).hexdigest()[:8]
            aside = answer.with_name(f"{answer.stem}.other-{mark}.md")
            answer.replace(aside)
            why = "another prompt" if prompt.exists() else "no prompt of ours"
            self._say(
                f"{answer.name} answers {why} and is not used; it is kept as {_shown(aside, self._repo_dir)}"
            )
        fresh = prompt.with_name(f".{prompt.name}.{os.getpid()}")
        fresh.write_bytes(wanted)
        fresh.replace(prompt)

    def _whole(self, answer: Path) -> bytes | None:
        """The reply once nothing has been written to it for a moment."""
        try:
            before = answer.stat()
            if time.time() - before.st_mtime < self._settle_s:  # also for a time of writing in the future
                time.sleep(self._settle_s)
            text = answer.read_bytes()
            after = answer.stat()
        except FileNotFoundError:
            return None
        same = (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size)
        return text if same and text.strip() else None


def _files(folder: Path, label: str) -> tuple[Path, Path]:
    if not re.fullmatch(r"[a-z]?\d{1,9}", label):
        raise ValueError(f"no label: {label}")
    return folder / f"{label}.prompt.md", folder / f"{label}.reply.md"


def _prompt_bytes(request: Ask, answer_name: str) -> bytes:
    head = (
        f"<!-- cutegen-git: prompt of attempt {request.label} on {request.parent[:12]}."
        f" Write the reply into {answer_name} beside this file. -->\n\n"
    )
    text = f"{head}{request.system.rstrip()}\n\n---\n\n{request.user.rstrip()}\n"
    return text.encode("utf-8", "surrogatepass")


def _has_text(answer: Path) -> bool:
    try:
        return bool(answer.read_bytes().strip())
    except FileNotFoundError:
        return False


def _shown(path: Path, repo_dir: Path) -> str:
    """The path as a user in the repository's parent or in it would type it."""
    return str(repo_dir / path.relative_to(repo_dir.resolve()))
