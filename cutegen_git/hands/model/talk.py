"""What every model takes and gives: one question, one raw reply, and an account of the requests it took."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from cutegen_git.core.transcript import Call
from cutegen_git.words.attempt import Spend
from cutegen_git.words.errors import ModelError, ModelTrouble

EMPTY, REFUSED, TRUNCATED = "empty-reply", "refused", "truncated"  # values of Reply.outcome

Say = Callable[[str], None]  # takes a line of talk


def to_stderr(text: str) -> None:
    """Where talk goes unless the caller has a better place."""
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to a model."""

    label: str  # of the attempt that the reply will become, "0003"
    system: str  # the stable part of the prompt: providers cache it
    user: str
    parent: str  # commit id that the attempt will hang on


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, raw. A reply that was paid for is a Reply, however useless."""

    text: bytes  # the content as it came; reasoning is not part of it
    model: str  # who wrote it, for the commit's author: "anthropic/…", "handoff", the recording's model
    finish_reason: str | None = None  # the provider's word, normalised by litellm
    usage: Spend = Spend()
    refusal: str | None = None  # the provider's or the model's words of refusal
    outcome: str | None = None  # EMPTY, REFUSED or TRUNCATED: there is no patch to look for; None otherwise
    calls: tuple[Call, ...] = ()  # every request it took, the failed ones too


class Model(Protocol):
    """A language model, a person, or a recording."""

    @property
    def name(self) -> str:
        """As the user names it: "anthropic/…", "handoff", "replay:SOURCE"."""
        ...

    def ask(self, request: Ask) -> Reply:
        """One reply. NoReply (a ModelError) where none was had."""
        ...


class NoReply(ModelError):
    """No reply at all; `calls` says what was tried, and what of it is known to have cost money."""

    def __init__(self, trouble: ModelTrouble, message: str, calls: Iterable[Call] = ()) -> None:
        self.calls = tuple(calls)
        super().__init__(trouble, message)
