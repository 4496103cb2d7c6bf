"""Where a watching machine takes attempts from and pushes verdicts to, and whose a runner's name is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cutegen_git.hands import sync as hands_sync
from cutegen_git.hands.repo import RefUpdate, Repo, remote
from cutegen_git.words.errors import CutegenError

RUNNERS = "refs/cutegen/runner/"  # <name> -> blob: digest of the machine that writes under the name


class CannotMeasure(CutegenError):
    """Waiting will not help: a person has to look at this machine."""


class Source(Protocol):
    """Where attempts come from and verdicts go."""

    @property
    def name(self) -> str: ...
    def refs(self) -> Mapping[str, str]: ...  # as the remote has them now
    def sync(self) -> hands_sync.Report: ...
    def claim(self, runner: str, word: str) -> bool: ...  # False: the name belongs to another machine


@dataclass(frozen=True, slots=True)
class Origin:
    """The remote that the user configured, or named."""

    repo: Repo
    given: str | None = None
    share_transcripts: bool = True

    @property
    def name(self) -> str:
        return self._remote().name

    def refs(self) -> Mapping[str, str]:
        return remote.listed(self.repo.place, self._remote())

    def sync(self) -> hands_sync.Report:
        share = self.share_transcripts
        return hands_sync.sync(self.repo, self.given, cwd=Path.cwd(), share_transcripts=share)

    def claim(self, runner: str, word: str) -> bool:
        """True where the name is this machine's. The push only creates, so two machines cannot both get it."""
        there, ref = self._remote(), f"{RUNNERS}{runner}"
        mine = self.repo.blob(f"{word}\n".encode())
        owner = remote.listed(self.repo.place, there, ref).get(ref)
        if owner is None:
            remote.push(self.repo.place, there, [RefUpdate(ref, None, mine)])
            owner = remote.listed(self.repo.place, there, ref).get(ref)
        return owner == mine

    def _remote(self) -> remote.Remote:
        found = remote.find(self.repo.place, self.given, cwd=Path.cwd())
        if found is None or found.bundle is not None:
            raise CannotMeasure("watching takes a remote: git remote add origin URL, or name one")
        return found
