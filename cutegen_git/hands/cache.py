"""The user's cache folder: content-addressed entries that appear whole or not at all.

An entry is a folder, written beside the cache's entries and renamed into place, so that two processes that make
the same one both end with a whole one. Nothing here is a record: the folder may be deleted at any time.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cutegen_git.words.errors import TaskError

LIMIT_BYTES = 4 * 1024**3
KEPT_KINDS = ("cutlass",)  # what only the network can bring back is never evicted
IN_USE_S = 900.0  # an entry used within this time may be open in another process
STALE_S = 24 * 3600.0  # an unfinished entry older than this belongs to a dead process
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def default_root(environment: Mapping[str, str] = os.environ) -> Path:
    """$CUTEGEN_GIT_CACHE, else cutegen-git in $XDG_CACHE_HOME, else in ~/.cache."""
    named = environment.get("CUTEGEN_GIT_CACHE")
    if named:
        return Path(named).expanduser().absolute()
    xdg = Path(environment.get("XDG_CACHE_HOME", ""))
    base = xdg if xdg.is_absolute() else Path.home() / ".cache"  # the standard ignores relative ones
    return base / "cutegen-git"


@dataclass(frozen=True, slots=True)
class Cache:
    """A cache folder. It is made at the first `put`."""

    root: Path
    limit_bytes: int = LIMIT_BYTES  # of all entries that may be evicted

    @staticmethod
    def default() -> Cache:
        return Cache(default_root())

    def get(self, kind: str, key: str) -> Path | None:
        """The entry's folder, now the most recently used one; None if there is none."""
        entry = self._entry(kind, key)
        try:
            os.utime(entry)
        except FileNotFoundError:
            return None
        except OSError:
            return entry if entry.is_dir() else None  # a read-only cache still serves
        return entry

    def put(self, kind: str, key: str, fill: Callable[[Path], None]) -> Path:
        """The entry's folder, filled by `fill` unless another process was first. `fill` gets an empty folder."""
        entry = self._entry(kind, key)
        unfinished = self._unfinished()
        try:
            fill(unfinished)
            entry.parent.mkdir(parents=True, exist_ok=True)
            _publish(unfinished, entry)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        self.evict()
        return entry

    def drop(self, kind: str, key: str) -> None:
        """Forget an entry that turned out to be damaged."""
        self._remove(self._entry(kind, key))

    def size_bytes(self) -> int:
        """Bytes of all files in the cache."""
        return _size(self.root)

    def evict(self) -> int:
        """Bytes freed: removes the entries unused for longest until the rest fits the limit."""
        now = time.time()
        self._sweep(now)
        entries = sorted(self._evictable())
        excess = sum(size for _, size, _ in entries) - self.limit_bytes
        freed = 0
        for used_at, size, entry in entries:
            if freed >= excess or used_at > now - IN_USE_S:
                break
            self._remove(entry)
            freed += size
        return freed

    def _entry(self, kind: str, key: str) -> Path:
        if not (_WORD.fullmatch(kind) and _WORD.fullmatch(key)):
            raise ValueError(f"no cache key: {kind}/{key}")
        return self.root / kind / key[:2] / key

    def _unfinished(self) -> Path:
        folder = self.root / "tmp"
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(exist_ok=True)
            return Path(tempfile.mkdtemp(dir=folder))
        except OSError as error:
            raise TaskError(
                f"cannot write to the cache {self.root} ({error.strerror}); "
                "name another folder with CUTEGEN_GIT_CACHE"
            ) from error

    def _evictable(self) -> list[tuple[float, int, Path]]:
        found: list[tuple[float, int, Path]] = []
        kinds = [kind for kind in _listed(self.root) if kind.name not in (*KEPT_KINDS, "tmp")]
        for entry in (entry for kind in kinds for shelf in _listed(kind) for entry in _listed(shelf)):
            try:
                found.append((entry.stat().st_mtime, _size(entry), entry))
            except OSError:
                continue  # another process removed it
        return found

    def _sweep(self, now: float) -> None:
        for folder in _listed(self.root / "tmp"):
            try:
                if folder.stat().st_mtime < now - STALE_S:
                    shutil.rmtree(folder, ignore_errors=True)
            except OSError:
                continue

    def _remove(self, entry: Path) -> None:
        """Rename first, so that no reader ever sees half an entry."""
        grave = self._unfinished()
        try:
            entry.rename(grave / "gone")
        except OSError:
            pass  # another process removed it
        shutil.rmtree(grave, ignore_errors=True)


def _publish(unfinished: Path, entry: Path) -> None:
    try:
        unfinished.rename(entry)
    except OSError:
        if not entry.is_dir():  # otherwise another process made the same entry first
            raise


def _listed(folder: Path) -> list[Path]:
    """What lies in a folder; nothing if another process just removed it."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _size(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(parent) / name).lstat().st_size
            except OSError:
                continue
    return total
