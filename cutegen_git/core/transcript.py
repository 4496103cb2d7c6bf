"""Prompt, reply and money in git notes: one JSON object a line (design git.md, rows "transcript" and "ledger").

Notes of two writers are put together line by line, so a line is the whole of a record and plain ASCII.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from cutegen_git.words.attempt import Spend
from cutegen_git.words.errors import RepoError

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Transcript:
    """Everything that was said for one attempt."""

    label: str  # of the attempt, "0003"
    model: str  # who wrote the reply, "anthropic/…"
    system: str  # the prompt's stable part
    user: str  # the prompt's changing part
    reply: bytes  # raw, as it came
    finish_reason: str | None = None  # the provider's word for why the reply ended
    spend: Spend = Spend()


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a provider, with or without a reply."""

    at_s: int  # seconds since 1970, UTC, when it was sent
    seconds: float  # until the answer or the end of our patience
    status: int | None = None  # HTTP status; None where no answer came
    tokens: int | None = None  # in and out together; None where the provider did not say
    cost_usd: float | None = None  # None: unknown, never nothing
    trouble: str = ""  # words.errors.ModelTrouble, "" where a reply came


def dump(transcript: Transcript) -> str:
    """One line without a line end. `load` gives the same transcript back."""
    try:
        reply = {"reply": transcript.reply.decode("utf-8")}
    except UnicodeDecodeError:
        reply = {"reply_base64": base64.b64encode(transcript.reply).decode("ascii")}
    record = {
        "format": FORMAT,
        "label": transcript.label,
        "model": transcript.model,
        "system": transcript.system,
        "user": transcript.user,
        **reply,
        "finish_reason": transcript.finish_reason,
        "spend": asdict(transcript.spend),
    }
    return json.dumps(record, ensure_ascii=True)


def load(line: str) -> Transcript:
    """The transcript in one line of a note. RepoError where it is none, or of a later format."""
    record = _record(line)
    try:
        coded = record.get("reply_base64")
        reply = base64.b64decode(coded, validate=True) if coded is not None else record["reply"].encode()
        return Transcript(
            label=str(record["label"]),
            model=str(record["model"]),
            system=str(record["system"]),
            user=str(record["user"]),
            reply=reply,
            finish_reason=record["finish_reason"],
            spend=Spend(**record["spend"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RepoError(f"a transcript note is not readable ({error!r}): {line[:60]}") from error


def load_all(note: str) -> Iterator[Transcript]:
    """Every transcript in a note, the way `git notes show` prints it."""
    return (load(line) for line in note.split("\n") if line.strip())


def dump_calls(label: str, calls: Iterable[Call]) -> str:
    """Lines of the ledger note for the calls made for one attempt, each with its line end.

    A note keeps a line once, so each says which of the calls it is.
    """
    return "".join(
        json.dumps({"format": FORMAT, "label": label, "nth": nth, **asdict(call)}, ensure_ascii=True) + "\n"
        for nth, call in enumerate(calls, 1)
    )


def load_calls(note: str) -> list[tuple[str, Call]]:
    """(label, call) of every line of a ledger note."""
    found = []
    for line in note.split("\n"):
        if not line.strip():
            continue
        record = _record(line)
        try:
            label = str(record.pop("label"))
            record.pop("format")
            record.pop("nth", None)
            found.append((label, Call(**record)))
        except (KeyError, TypeError) as error:
            raise RepoError(f"a ledger note is not readable ({error!r}): {line[:60]}") from error
    return found


def _record(line: str) -> dict[str, Any]:  # Any: the JSON border
    try:
        record = json.loads(line)
    except ValueError as error:
        raise RepoError(f"a note is not JSON: {line[:60]}") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise RepoError(f"a note has another format than {FORMAT} (newer cutegen-git?): {line[:60]}")
    return record
