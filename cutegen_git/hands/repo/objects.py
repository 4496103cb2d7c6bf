"""Blobs, commits and tags as values: read in bulk, written byte for byte, the same ids every time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cutegen_git.words.errors import RepoError

from .batch import Batch, Object
from .git import Git


@dataclass(frozen=True, slots=True)
class Identity:
    """Who wrote or committed."""

    name: str
    email: str

    def __post_init__(self) -> None:
        if not self.name.strip(" .,:;'\"") or re.search(r"[<>\n\0]", self.name + self.email):
            raise RepoError(f"{self.name!r} <{self.email}> cannot stand in a commit")


TOOL = Identity("cutegen-git", "cutegen-git@cutegen.invalid")  # no version in it: ids must not change with it


@dataclass(frozen=True, slots=True)
class RawCommit:
    """A commit as git stores it."""

    id: str
    parents: tuple[str, ...]
    tree: str
    author: Identity
    author_at: int  # seconds since 1970, UTC
    committer: Identity
    at: int  # committer date, seconds since 1970, UTC
    message: str


@dataclass(frozen=True, slots=True)
class RawTag:
    """An annotated tag."""

    ref: str  # full ref name it was found under
    id: str  # of the tag object
    target: str  # commit it points at
    name: str  # as the tag object says
    tagger: Identity
    at: int  # seconds since 1970, UTC
    message: str  # with the signature, where it is signed


def write_blob(git: Git, data: bytes) -> str:
    """The id of the stored bytes; no filter touches them."""
    return git.out("hash-object", "-w", "--stdin", stdin=data)


def write_blobs(git: Git, texts: Sequence[bytes]) -> list[str]:
    """The ids of many blobs, stored in one call: a hundred or more become one pack."""
    if len(texts) < 2:
        return [write_blob(git, data) for data in texts]
    parts = [
        b"blob\nmark :%d\ndata %d\n%s\nget-mark :%d\n" % (number, len(data), data, number)
        for number, data in enumerate(texts, 1)
    ]
    return git.out("fast-import", "--quiet", "--done", stdin=b"".join([*parts, b"done\n"])).split()


def write_commit(
    git: Git, tree: str, parents: Sequence[str], message: str, author: Identity, committer: Identity, at: int
) -> str:
    """The id of the commit, dates `at` +0000."""
    words = ["commit-tree", tree]
    for parent in parents:
        words += ["-p", parent]
    date = f"@{at} +0000"
    env = {
        "GIT_AUTHOR_NAME": author.name,
        "GIT_AUTHOR_EMAIL": author.email,
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_NAME": committer.name,
        "GIT_COMMITTER_EMAIL": committer.email,
        "GIT_COMMITTER_DATE": date,
    }
    return git.out(*words, stdin=_message(message), env=env)


def write_tag(git: Git, name: str, target: str, message: str, tagger: Identity, at: int) -> str:
    """The id of the annotated tag object; the ref is the caller's to create."""
    head = f"object {target}\ntype commit\ntag {name}\ntagger {tagger.name} <{tagger.email}> {at} +0000\n\n"
    return git.out("mktag", stdin=head.encode() + _message(message))


def _message(text: str) -> bytes:
    if "\0" in text or not text.strip():
        raise RepoError("a commit or tag message is empty or has a NUL in it")
    return (text if text.endswith("\n") else text + "\n").encode("utf-8", "replace")


def read_commits(batch: Batch, ids: Iterable[str]) -> list[RawCommit]:
    """The commits in the order asked for; RepoError names the first that is missing."""
    wanted = list(ids)
    found = batch.read_many(wanted)
    return [_commit(name, item) for name, item in zip(wanted, found, strict=True)]


def _commit(name: str, found: Object | None) -> RawCommit:
    if found is None or found.kind != "commit":
        raise RepoError(f"commit {name} is not in this repository: fetch it, or run cutegen-git sync")
    head, message = _split(found.data)
    author, author_at = _who(_first(head, "author"))
    committer, at = _who(_first(head, "committer"))
    parents = tuple(value for key, value in head if key == "parent")
    return RawCommit(found.id, parents, _first(head, "tree"), author, author_at, committer, at, message)


def read_tags(batch: Batch, refs: dict[str, str]) -> list[RawTag]:
    """The annotated tags among the refs (name -> id), in their order; lightweight tags are left out."""
    names = list(refs)
    tags = []
    for ref, found in zip(names, batch.read_many([refs[name] for name in names]), strict=True):
        if found is None or found.kind != "tag":
            continue
        head, message = _split(found.data)
        tagger, at = _who(_first(head, "tagger"))
        tags.append(RawTag(ref, found.id, _first(head, "object"), _first(head, "tag"), tagger, at, message))
    return tags


def _split(data: bytes) -> tuple[list[tuple[str, str]], str]:
    """Header lines as pairs (a continued line belongs to the one above), and the text."""
    head, _, body = data.partition(b"\n\n")
    pairs: list[tuple[str, str]] = []
    for line in head.decode("utf-8", "replace").split("\n"):
        key, _, value = line.partition(" ")
        if line.startswith(" ") and pairs:
            pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]}\n{value}")
        else:
            pairs.append((key, value))
    coding = _first(pairs, "encoding") or "utf-8"
    try:
        return pairs, body.decode(coding, "replace")
    except LookupError:
        return pairs, body.decode("utf-8", "replace")


def _first(pairs: list[tuple[str, str]], wanted: str) -> str:
    return next((value for key, value in pairs if key == wanted), "")


_WHO = re.compile(r"(.*?) ?<([^>]*)> ?(-?\d+)?.*", re.DOTALL)


def _who(text: str) -> tuple[Identity, int]:
    found = _WHO.fullmatch(text)
    if not found:
        return Identity("unknown", ""), 0
    try:
        who = Identity(found[1], found[2])
    except RepoError:
        who = Identity("unknown", found[2])
    return who, int(found[3] or 0)
