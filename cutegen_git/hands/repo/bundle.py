"""Bundles: one file that holds a whole task repository, notes and attempts included.

git's own fetch from a bundle skips `fsckObjects`, so the pack goes through `index-pack --strict` here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cutegen_git.words.errors import CutegenError, RepoError

from .batch import Batch
from .git import Git
from .refs import MAIN

_FIRST = re.compile(rb"# v([23]) git bundle\n")


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle file, its head read."""

    path: Path
    refs: Mapping[str, str]  # full ref name -> id
    needs: tuple[str, ...]  # commits that must be here already
    object_format: str
    pack_at: int  # byte offset of the pack


def read(path: Path) -> Bundle:
    """The head of a bundle; RepoError if it is none."""
    try:
        with path.open("rb") as file:
            first = _FIRST.fullmatch(file.readline())
            if first is None:
                raise RepoError(f"{path} is not a git bundle")
            lines = []
            while (line := file.readline().rstrip(b"\n")) != b"":
                lines.append(line.decode("utf-8", "replace"))
            at = file.tell()
    except OSError as error:
        raise RepoError(f"{path} cannot be read: {error.strerror}") from error
    said = {line[1:].partition("=")[0]: line.partition("=")[2] for line in lines if line.startswith("@")}
    if set(said) - {"object-format"}:
        raise RepoError(f"{path} is a partial bundle ({', '.join(sorted(said))}): ask for a whole one")
    needs = tuple(line[1:].split(" ")[0] for line in lines if line.startswith("-"))
    pairs = (line.partition(" ") for line in lines if not line.startswith(("-", "@")))
    return Bundle(path, {name: id for id, _, name in pairs}, needs, said.get("object-format", "sha1"), at)


def take_in(git: Git, batch: Batch, bundle: Bundle, object_format: str) -> None:
    """Store the objects, each checked; no ref moves."""
    if bundle.object_format != object_format:
        raise RepoError(
            f"{bundle.path} has {bundle.object_format} ids and this repository has {object_format}"
        )
    lacking = [id for id, found in zip(bundle.needs, batch.infos(bundle.needs), strict=True) if found is None]
    if lacking:
        raise RepoError(
            f"{bundle.path} builds on commit {lacking[0]}, which is not here: take a whole bundle"
        )
    with bundle.path.open("rb") as file:
        file.seek(bundle.pack_at)
        pack = file.read()
    done = git.run("index-pack", "--stdin", "--fix-thin", "--strict", stdin=pack)
    if not done.ok:
        said = done.errors().strip().splitlines() or ["no output"]
        raise RepoError(
            f"{bundle.path} is damaged or forged, nothing was taken: {said[-1].removeprefix('fatal: ')}"
        )


def write(git: Git, path: Path, refs: Iterable[str], main: str | None) -> None:
    """A bundle of the refs, whole or not at all. HEAD in it is main, so that `git clone FILE` checks main out."""
    if not path.parent.is_dir():
        raise RepoError(f"{path.parent} is not a folder: make it, or export elsewhere")
    half = path.with_name(f".{path.name}.new")
    stdin = "".join(f"{ref}\n" for ref in refs).encode()
    try:
        git.check("bundle", "create", "--quiet", str(half.absolute()), "--stdin", stdin=stdin)
        if main is not None:
            _add_head(half, main)
        half.replace(path)
    except OSError as error:
        raise RepoError(f"{path} cannot be written: {error.strerror}") from error
    except CutegenError as error:
        raise RepoError(f"{path} cannot be written: {error}") from error
    finally:
        half.unlink(missing_ok=True)


def _add_head(path: Path, main: str) -> None:
    data = path.read_bytes()
    end = data.index(b"\n\n") + 1
    line = f"{main} HEAD\n".encode()
    if line not in data[:end] and f"{main} {MAIN}\n".encode() in data[:end]:
        path.write_bytes(data[:end] + line + data[end:])
