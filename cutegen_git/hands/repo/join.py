"""Joining what another repository has with what is here: a plan of ref moves, and a sentence for what cannot join."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .kinds import OBJECTS, Kind, kind_of
from .refs import ATTEMPTS, HEADS, NOTES, TAGS, RefUpdate
from .repo import Repo


@dataclass
class Plan:
    """What to do here."""

    updates: list[RefUpdate] = field(default_factory=list)
    stayed: list[str] = field(default_factory=list)  # one sentence for each ref that cannot join


def ours(repo: Repo) -> dict[str, str]:
    """Full ref name -> id of everything here that is cutegen's to share."""
    found = repo.refs(HEADS, TAGS, NOTES, ATTEMPTS)
    return {ref: id for ref, id in found.items() if kind_of(ref)}


def wanted(repo: Repo, theirs: Mapping[str, str]) -> list[str]:
    """Their refs whose objects are to be fetched."""
    here = ours(repo)
    news = {ref: id for ref, id in theirs.items() if kind_of(ref) and here.get(ref) != id}
    known = repo.batch.infos(list(news.values()))
    return [ref for ref, found in zip(news, known, strict=True) if found is None]


def plan(repo: Repo, theirs: Mapping[str, str]) -> Plan:
    """How their refs join ours. Their objects are here already."""
    here = ours(repo)
    made = Plan()
    news = {ref: id for ref, id in theirs.items() if kind_of(ref) and here.get(ref) != id}
    known = repo.batch.infos(list(news.values()))
    for (ref, id), found in zip(news.items(), known, strict=True):
        kind = kind_of(ref)
        if kind is None or found is None or found.kind != OBJECTS[kind]:
            made.stayed.append(f"{short(ref)} there is not what its name says: left alone")
        elif ref not in here:
            made.updates.append(RefUpdate(ref, None, id))
        else:
            _meet(repo, made, kind, ref, here[ref], id)
    return made


def _meet(repo: Repo, made: Plan, kind: Kind, ref: str, mine: str, other: str) -> None:
    """A ref that both have, at different places."""
    if kind in (Kind.ATTEMPT, Kind.CLAIM):
        made.stayed.append(
            f"{short(ref)} is another one there: both stay where they are, and it cannot be shared"
        )
    elif repo.is_ancestor(other, mine):
        return
    elif repo.is_ancestor(mine, other):
        made.updates.append(RefUpdate(ref, mine, other))
    elif kind is Kind.NOTES:
        made.updates.append(RefUpdate(ref, mine, repo.notes.merged(mine, other)))
    else:
        made.stayed.append(
            f"{short(ref)} went apart here and there: merge or rename one of them, then sync again"
        )


def to_push(repo: Repo, theirs: Mapping[str, str]) -> list[RefUpdate]:
    """What the other side lacks and can take without losing anything."""
    news = {ref: id for ref, id in ours(repo).items() if theirs.get(ref) != id}
    kinds = repo.batch.infos(list(news.values()))
    updates = []
    for (ref, id), found in zip(news.items(), kinds, strict=True):
        kind, old = kind_of(ref), theirs.get(ref)
        if kind is None or found is None or found.kind != OBJECTS[kind]:
            continue  # a branch or tag of the user that looks like ours
        moves = kind in (Kind.NOTES, Kind.HEAD)
        if old is None or (moves and repo.batch.id_of(old) is not None and repo.is_ancestor(old, id)):
            updates.append(RefUpdate(ref, old, id))
    return updates


def short(ref: str) -> str:
    """The ref as people say it."""
    kind = kind_of(ref)
    if kind is Kind.ATTEMPT:
        return f"attempt {ref.removeprefix(ATTEMPTS)}"
    if kind is Kind.NOTES:
        return f"notes {ref.removeprefix(NOTES)}"
    return ref.removeprefix(HEADS).removeprefix(TAGS)
