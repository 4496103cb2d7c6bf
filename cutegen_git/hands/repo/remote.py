"""Talking to a remote with the user's credentials and none of the user's refspecs, hooks or habits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cutegen_git.hands.process import Done
from cutegen_git.words.errors import CutegenError, RepoError

from .discover import Place
from .git import Git, trouble
from .refs import HEADS, RefUpdate

PATTERNS = ("refs/heads/*", "refs/tags/*", "refs/notes/cutegen/*", "refs/cutegen/*")
_AT_ONCE = 300  # refs in one push: they stand on the command line


@dataclass(frozen=True, slots=True)
class Remote:
    """Where to sync with."""

    name: str  # as the user says it: a configured name, a URL or a path
    url: str
    configured: bool  # it has tracking refs refs/remotes/<name>/*
    bundle: Path | None  # set where it is a bundle file


def find(place: Place, given: str | None, *, cwd: Path) -> Remote | None:
    """The remote meant; None where none is given and none is configured. A relative path counts from `cwd`."""
    git = _git(place)
    names = git.run("remote", network=True).text().split()
    name = given or _default(git, names)
    if name is None:
        return None
    if name.startswith("-"):
        raise RepoError(f"{name} is not a remote")
    if name in names:
        url = git.out("ls-remote", "--get-url", name, network=True)
        return Remote(name, url, True, _file(url, place.root))
    here = cwd / name
    if here.exists():
        return Remote(name, str(here.resolve()), False, _file(str(here), cwd))
    if "/" not in name and ":" not in name:
        there = f" (there is {', '.join(names)})" if names else ""
        raise RepoError(f"no remote or bundle is called {name}{there}: name one, or give a URL")
    return Remote(without_login(name), name, False, None)


def _default(git: Git, names: Sequence[str]) -> str | None:
    chosen = git.run("config", "branch.main.remote", network=True).text().strip()
    for name in (chosen, "origin", *(names if len(names) == 1 else ())):
        if name in names:
            return name
    if names:
        raise RepoError(f"there are several remotes ({', '.join(names)}): name one")
    return None


def _file(url: str, base: Path) -> Path | None:
    path = base / url.removeprefix("file://")
    return path if path.is_file() else None


def _git(place: Place) -> Git:
    return Git(place.root, git_dir=place.git_dir)  # relative URLs count from the top of the worktree


def listed(place: Place, remote: Remote, *patterns: str, timeout_s: float | None = None) -> dict[str, str]:
    """Full ref name -> id, as the remote has it now."""
    words = ("ls-remote", "--quiet", "--refs", "--", _address(remote), *(patterns or PATTERNS))
    done = _git(place).run(*words, network=True, timeout_s=timeout_s)
    if not done.ok:
        raise _failed(done, remote, "read")
    pairs = (line.split("\t", 1) for line in done.text().splitlines() if "\t" in line)
    return {name: id for id, name in pairs}


def fetch(place: Place, remote: Remote, refs: Iterable[str]) -> None:
    """Bring the objects of these refs; only refs/remotes/<name>/* move."""
    specs = [
        f"+{ref}:refs/remotes/{remote.name}/{ref.removeprefix(HEADS)}"
        if remote.configured and ref.startswith(HEADS)
        else ref
        for ref in refs
    ]
    if not specs:
        return
    words = (
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--refmap=",
        "--stdin",
        "--",
        _address(remote),
    )
    done = _git(place).run(*words, stdin="".join(f"{spec}\n" for spec in specs).encode(), network=True)
    if not done.ok:
        raise _failed(done, remote, "fetched")


@dataclass(frozen=True, slots=True)
class Pushed:
    """What became of a push."""

    went: tuple[str, ...]  # refs that the remote has now
    refused: dict[str, str]  # ref -> the remote's reason
    stale: bool  # a ref moved there meanwhile: look again


def push(
    place: Place, remote: Remote, updates: Sequence[RefUpdate], *, timeout_s: float | None = None
) -> Pushed:
    """Move refs there from `old` to `new`, a few hundred at a time, each time all or none."""
    went: list[str] = []
    for start in range(0, len(updates), _AT_ONCE):
        some = updates[start : start + _AT_ONCE]
        done = _push(place, remote, some, timeout_s)
        if not done.ok:
            refused = _refused(done)
            if not refused:
                raise _failed(done, remote, "pushed to")
            stale = any("stale info" in why or "fetch first" in why for why in refused.values())
            return Pushed(tuple(went), refused, stale)
        went += [item.ref for item in some]
    return Pushed(tuple(went), {}, False)


def _push(place: Place, remote: Remote, updates: Sequence[RefUpdate], timeout_s: float | None) -> Done:
    words = ["push", "--porcelain", "--atomic", "--no-verify", "--no-signed", "--no-follow-tags"]
    words += [f"--force-with-lease={item.ref}:{item.old or ''}" for item in updates]
    specs = [f"{item.new}:{item.ref}" for item in updates]
    return _git(place).run(*words, "--", _address(remote), *specs, network=True, timeout_s=timeout_s)


def _refused(done: Done) -> dict[str, str]:
    """ref -> reason, without those that only fell with the others."""
    found = {}
    for line in done.text().splitlines():
        flag, _, rest = line.partition("\t")
        if flag == "!" and "atomic push" not in rest:
            names, _, why = rest.partition("\t")
            found[names.rpartition(":")[2]] = why
    return found


def _address(remote: Remote) -> str:
    return remote.name if remote.configured else remote.url


def without_login(text: str) -> str:
    """The text with name and password taken out of its URLs."""
    return re.sub(r"//[^/@\s]+@", "//", text)


_KNOWN = (
    ("does not appear to be a git repository", "is not a git repository, or may not be read"),
    ("Could not resolve host", "cannot be reached: no such host"),
    ("Could not read from remote repository", "cannot be read: check the address and your access"),
    ("unable to connect", "cannot be reached"),
    ("unable to access", "cannot be reached"),
    ("errno=", "cannot be reached"),
    ("Authentication failed", "refuses the login"),
    ("could not read Username", "asks for a login: set up a credential helper or ssh"),
    ("atomic push", "cannot take several refs at once; use another server or a bundle"),
    ("fsck error", "sent a damaged or forged object, nothing was taken"),
    ("couldn't find remote ref", "moved meanwhile: run again"),
)


def _failed(done: Done, remote: Remote, word: str) -> CutegenError:
    done = replace(
        done, argv=tuple(map(without_login, done.argv)), stderr=without_login(done.errors()).encode()
    )
    said = done.errors()
    for sign, sentence in _KNOWN:
        line = next((line for line in said.splitlines() if sign in line), None)
        if line is not None:
            return RepoError(f"{remote.name} {sentence} ({line.removeprefix('fatal: ').strip()})")
    if done.code is None:
        return RepoError(f"{remote.name} could not be {word} within the time limit: check the connection")
    return trouble(done)
