"""A recording as the model: replies looked up by label, with the author, usage and end that were recorded.

SOURCE is a folder of `<label>.reply.md` (beside each, if need be, `<label>.json`), a repository, a bundle,
or the name of a shipped example. In git the replies are in the transcript notes of the attempts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cutegen_git.core import transcript
from cutegen_git.core.transcript import Transcript
from cutegen_git.hands.model import recording
from cutegen_git.hands.model.recording import REPLY
from cutegen_git.hands.model.talk import EMPTY, REFUSED, TRUNCATED, Ask, NoReply, Reply
from cutegen_git.words.attempt import Label, Spend
from cutegen_git.words.errors import ModelTrouble, TaskError

Recording = Mapping[str, Transcript]  # label -> what was said
_SPEND = ("tokens_in", "tokens_out", "cost_usd", "seconds")


class Replay:
    """Gives for each label what the recording has for it. Costs nothing and needs no network."""

    def __init__(self, source: str, *, repo_dir: Path) -> None:
        self.name = f"replay:{source}"
        self._source, self._repo_dir = source, repo_dir
        self._recording: Recording | None = None

    def ask(self, request: Ask) -> Reply:
        """The recorded reply; NoReply where the recording has none for this label."""
        if self._recording is None:
            self._recording = read(self._source, self._repo_dir)
        said = self._recording.get(request.label)
        if said is None:
            last = max(self._recording, key=_order, default=None)
            has = (
                f"it has {len(self._recording)} replies, the last is {last}" if last else "it has no replies"
            )
            raise NoReply(
                ModelTrouble.NO_ANSWER,
                f"the recording {self._source} ends here: no reply for attempt {request.label} ({has})",
            )
        return Reply(said.reply, said.model, said.finish_reason, said.spend, outcome=_outcome(said))


def read(source: str, repo_dir: Path) -> Recording:
    """All replies of a source. ModelError NOT_CONFIGURED where there is no such source."""
    place = recording.find(source, repo_dir)
    if recording.has_replies(place):
        return _of_folder(place)
    with recording.opened(source, repo_dir) as repository:
        return _of_repository(repository)


def _of_folder(folder: Path) -> Recording:
    found = {}
    for path in sorted(folder.glob(f"*{REPLY}")):
        label = path.name.removesuffix(REPLY)
        facts = _facts(folder / f"{label}.json")
        spend = facts.get("usage") or {}
        found[label] = Transcript(
            label=label,
            model=str(facts.get("model") or "replay"),
            system="",
            user="",
            reply=path.read_bytes(),
            finish_reason=facts.get("finish_reason"),
            spend=Spend(**{key: spend[key] for key in _SPEND if spend.get(key) is not None}),
        )
    return found


def _facts(path: Path) -> dict[str, Any]:  # Any: the JSON border
    if not path.is_file():
        return {}
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise TaskError(f"{path} is not JSON: {error}") from error
    if not isinstance(facts, dict) or not isinstance(facts.get("usage") or {}, dict):
        raise TaskError(f"{path} should hold one object: model, finish_reason, usage")
    return facts


def _of_repository(place: Path) -> Recording:
    from cutegen_git.hands.repo import Repo

    found = {}
    with Repo.open(place) as repo:
        attempts = set(repo.refs("refs/cutegen/attempt/").values())
        for ref in repo.notes_refs("transcript").values():
            for commit, note in repo.notes_read(ref).items():
                if commit in attempts:
                    found.update({said.label: said for said in transcript.load_all(note)})
    if attempts and not found:
        raise NoReply(
            ModelTrouble.NOT_CONFIGURED,
            "the recording has attempts and no transcripts: they were kept private, or not fetched"
            " (run `cutegen-git sync` there)",
        )
    return found


def _outcome(said: Transcript) -> str | None:
    """What the reply was when it came: told by its end and its text, as for a live one."""
    if said.finish_reason in ("length", "max_tokens"):
        return TRUNCATED
    if said.finish_reason == "content_filter":
        return REFUSED
    return None if said.reply.strip() else EMPTY


def _order(label: str) -> tuple[int, str]:
    parsed = Label.parse(label)
    return (parsed.number, parsed.clone) if parsed else (0, label)
