"""Sharing a whole task repository, which plain git does not: notes, attempts, claims and paths, both ways.

A clone brings heads and tags only. Here everything that is cutegen's travels under explicit names; nothing is
forced: attempts and claims are created once, branches move forward only, notes of one writer that went apart are
joined line by line. The inbox never travels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cutegen_git.hands.repo import HEADS, MAIN, RefChanged, RefUpdate, Repo, bundle, clone, join, remote
from cutegen_git.hands.repo.kinds import Kind, is_private, kind_of
from cutegen_git.hands.repo.remote import Remote
from cutegen_git.words.errors import RepoError

_TRIES = 6


@dataclass
class Report:
    """What a sync did."""

    source: str  # remote or bundle, as the user names it
    came: list[str] = field(default_factory=list)  # full names of refs created or moved here
    went: list[str] = field(default_factory=list)  # the same there
    stayed: list[str] = field(default_factory=list)  # one sentence for each ref that could not follow

    def lines(self) -> list[str]:
        """The report for people."""
        said = [
            f"{word} {self.source}: {counted(refs)}"
            for word, refs in (("from", self.came), ("to", self.went))
            if refs
        ]
        return [*(said or [f"nothing new between here and {self.source}"]), *self.stayed]


def sync(repo: Repo, given: str | None, *, cwd: Path, share_transcripts: bool = True) -> Report:
    """Fetch all, then push all where it is a remote. RepoError where there is nothing to sync with."""
    source = remote.find(repo.place, given, cwd=cwd)
    if source is None:
        raise RepoError(
            "no remote is configured: git remote add origin URL, or name a remote or a bundle file"
        )
    report = Report(source.name)
    repo.recover()
    for _ in range(_TRIES):
        report.stayed.clear()
        theirs = _fetch(repo, source)
        try:
            _take(repo, theirs, report)
        except RefChanged:
            continue  # a run or a runner writes here at the same time
        if source.bundle is not None or not _give(repo, source, theirs, report, share_transcripts):
            return report
    raise RepoError(f"{source.name} changes faster than it can be followed: run sync again")


def export(repo: Repo, path: Path, *, share_transcripts: bool = True) -> Report:
    """Write everything into a bundle file."""
    if repo.is_shallow():
        raise RepoError("the history of this clone is cut off: git fetch --unshallow, then export again")
    refs = [ref for ref in join.ours(repo) if share_transcripts or not is_private(ref)]
    others = [ref for ref in repo.refs("refs/heads/", "refs/tags/") if kind_of(ref) is None]
    bundle.write(repo.git, path, [*refs, *others], repo.resolve(MAIN))
    return Report(str(path), went=[*refs, *others])


def _fetch(repo: Repo, source: Remote) -> Mapping[str, str]:
    """Their refs, with the objects of all that is new here."""
    if source.bundle is not None:
        file = bundle.read(source.bundle)
        if join.wanted(repo, file.refs):
            bundle.take_in(repo.git, repo.batch, file, repo.object_format)
        return file.refs
    theirs = remote.listed(repo.place, source)
    remote.fetch(repo.place, source, join.wanted(repo, theirs))
    return theirs


def _take(repo: Repo, theirs: Mapping[str, str], report: Report) -> None:
    plan = join.plan(repo, theirs)
    report.stayed += plan.stayed
    heads = [item for item in plan.updates if item.ref.startswith(HEADS)]
    others = [item for item in plan.updates if not item.ref.startswith(HEADS)]
    repo.transaction(others, f"sync from {report.source}")
    _note(report.came, [item.ref for item in others])
    for item in heads:
        try:
            with repo.lock(wait_s=0):  # a run at work would lose the branch it stands on
                repo.transaction([item], f"sync from {report.source}")
        except RefChanged:
            raise
        except RepoError as error:
            report.stayed.append(f"{join.short(item.ref)} stays: {error}")
        else:
            _note(report.came, [item.ref])


def _give(
    repo: Repo, source: Remote, theirs: Mapping[str, str], report: Report, share_transcripts: bool
) -> bool:
    """Push what they lack; True where they moved meanwhile and all must be looked at again."""
    updates = [item for item in join.to_push(repo, theirs) if share_transcripts or not is_private(item.ref)]
    claim = clone.own_claim(repo.place, repo.blob)
    if claim is not None and any(item.ref.startswith("refs/cutegen/attempt/") for item in updates):
        updates += [claim] if claim.ref not in theirs else []
    heads = [item for item in updates if kind_of(item.ref) is Kind.HEAD]
    others = [item for item in updates if kind_of(item.ref) is not Kind.HEAD]
    # Branches apart: one may be refused for reasons of its own, e.g. because it is checked out there.
    return _push(repo, source, others, report) or _push(repo, source, heads, report)


def _push(repo: Repo, source: Remote, updates: Sequence[RefUpdate], report: Report) -> bool:
    """Push all together, then again without what was refused; True where something moved there meanwhile."""
    todo = list(updates)
    while todo:
        pushed = remote.push(repo.place, source, todo)
        _note(report.went, [ref for ref in pushed.went if kind_of(ref)])
        if pushed.stale:
            return True
        report.stayed += [
            f"{join.short(ref)} was not taken by {source.name}: {why}" for ref, why in pushed.refused.items()
        ]
        todo = [item for item in todo if item.ref not in pushed.refused and item.ref not in pushed.went]
    return False


def _note(names: list[str], more: Sequence[str]) -> None:
    names += [name for name in more if name not in names]


def counted(refs: Sequence[str]) -> str:
    """The refs in a few words: "3 attempts, 1 claim, verdict/h200-lab, main"."""
    kinds = {kind: [ref for ref in refs if kind_of(ref) is kind] for kind in Kind}
    words = []
    for kind, word in ((Kind.ATTEMPT, "attempt"), (Kind.CLAIM, "claim")):
        count = len(kinds[kind])
        words += [f"{count} {word}{'s' if count != 1 else ''}"] if count else []
    words += [join.short(ref) for ref in (*kinds[Kind.NOTES], *kinds[Kind.HEAD])]
    others = len([ref for ref in refs if kind_of(ref) is None])
    return ", ".join([*words, *([f"{others} other refs"] if others else [])])
