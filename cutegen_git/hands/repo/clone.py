"""Which of several proposing clones this is: its labels begin with this clone's letter, claimed once by a push.

The first clone has no letter; it stands as refs/cutegen/clone/a at the remote. The next ones are b, c, …. The claim
is a push that only creates, so two clones cannot get one letter. Where the remote cannot be asked, the first letter
that no attempt here uses is taken, and a clash shows at the next sync.
"""

from __future__ import annotations

import secrets
import string
from collections.abc import Callable, Iterable
from pathlib import Path

from cutegen_git.words.errors import CutegenError

from . import remote
from .discover import Place
from .refs import ATTEMPTS, RefUpdate
from .remote import Remote

FILE = "cutegen-clone"  # in the git common dir: not shared, so a new clone claims a letter of its own
CLAIMS = "refs/cutegen/clone/"
_TIMEOUT_S = 30.0


def known(place: Place) -> tuple[str, str] | None:
    """(letter, secret word) of this clone; None if it has not proposed yet."""
    try:
        letter, word = (place.common_dir / FILE).read_text(encoding="ascii").split("\n")[:2]
    except (FileNotFoundError, ValueError):
        return None
    return letter, word


def letter(place: Place, attempts: Iterable[str], blob: Callable[[bytes], str]) -> str:
    """This clone's letter, chosen and kept the first time. `attempts`: full names of the attempt refs here."""
    found = known(place)
    if found is None:
        word = secrets.token_hex(8)
        found = _choose(place, list(attempts), blob(f"{word}\n".encode())), word
        half = place.common_dir / f"{FILE}.new"
        half.write_text(f"{found[0]}\n{found[1]}\n", encoding="ascii")
        half.replace(place.common_dir / FILE)
    return found[0]


def _choose(place: Place, attempts: list[str], claim: str) -> str:
    try:
        there = remote.find(place, None, cwd=Path.cwd())
        if there is not None and there.bundle is None:
            return _claim(place, there, claim)
        alone = there is None
    except CutegenError:
        alone = False
    used = _letters(attempts)
    return "" if alone or not used else _free(used)


def _claim(place: Place, there: Remote, claim: str) -> str:
    for _ in range(len(string.ascii_lowercase)):
        refs = remote.listed(place, there, f"{CLAIMS}*", f"{ATTEMPTS}*", timeout_s=_TIMEOUT_S)
        taken = {ref.removeprefix(CLAIMS) for ref in refs if ref.startswith(CLAIMS)}
        mine = _free(taken | _letters(refs), first="a")
        update = RefUpdate(f"{CLAIMS}{mine}", None, claim)
        pushed = remote.push(place, there, [update], timeout_s=_TIMEOUT_S)
        if pushed.went:
            return "" if mine == "a" else mine
        if not pushed.stale:
            break
    return _free(taken | _letters(refs), first="a").replace("a", "")


def _letters(refs: Iterable[str]) -> set[str]:
    """Letters that attempts among the refs use; "a" stands for none."""
    labels = (ref.removeprefix(ATTEMPTS) for ref in refs if ref.startswith(ATTEMPTS))
    return {label[0] if label[0].isalpha() else "a" for label in labels if label}


def _free(used: set[str], *, first: str = "b") -> str:
    letters = string.ascii_lowercase[string.ascii_lowercase.index(first) :]
    return next((sign for sign in letters if sign not in used), "z")


def own_claim(place: Place, blob: Callable[[bytes], str]) -> RefUpdate | None:
    """The claim as a ref to create at a remote; None for a clone that never proposed."""
    found = known(place)
    return RefUpdate(f"{CLAIMS}{found[0] or 'a'}", None, blob(f"{found[1]}\n".encode())) if found else None
