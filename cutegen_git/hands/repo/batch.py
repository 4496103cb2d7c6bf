"""One `git cat-file --batch-command` child per repository: reads any number of objects without a process each."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType

from cutegen_git.words.errors import RepoError, ToolError

from .git import TIMEOUT_S, Git, stop

_IN_FLIGHT = 64  # requests unanswered at a time: they must fit in the pipe, or both sides wait for ever


@dataclass(frozen=True, slots=True)
class Object:
    """A git object."""

    id: str
    kind: str  # "blob", "tree", "commit", "tag"
    data: bytes


class Batch:
    """Reads objects by id, by full ref name, or by `<id>^{tree}` and `<id>:<path>`."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._child: subprocess.Popen[bytes] | None = None

    def read(self, name: str) -> Object | None:
        """The object; None if there is none of that name."""
        return self.read_many([name])[0]

    def read_many(self, names: Sequence[str]) -> list[Object | None]:
        """The objects in the order asked for."""
        return self._ask("contents", names, with_data=True)

    def id_of(self, name: str) -> str | None:
        """The object id that a name stands for now."""
        found = self._ask("info", [name], with_data=False)[0]
        return found.id if found else None

    def infos(self, names: Sequence[str]) -> list[Object | None]:
        """Ids and kinds without the data."""
        return self._ask("info", names, with_data=False)

    def close(self) -> None:
        """End the child."""
        child, self._child = self._child, None
        if child is None:
            return
        for stream in (child.stdin, child.stdout, child.stderr):
            if stream is not None:
                stream.close()
        try:
            child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            stop(child, group=True)
            child.wait()

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:  # fmt: skip
        self.close()

    def _ask(self, verb: str, names: Sequence[str], *, with_data: bool) -> list[Object | None]:
        if any("\n" in name or not name for name in names):
            raise RepoError("an object name is empty or has a line break in it")
        child = self._child = self._child or self._git.start(["cat-file", "--batch-command"])
        watch = threading.Timer(TIMEOUT_S, stop, args=(child,), kwargs={"group": True})
        watch.daemon = True
        watch.start()
        found: list[Object | None] = []
        try:
            for start in range(0, len(names), _IN_FLIGHT):
                found += self._exchange(child, verb, names[start : start + _IN_FLIGHT], with_data=with_data)
        except BaseException:
            stop(child, group=True)  # answers that nobody read would be taken for the next ones
            self.close()
            raise
        finally:
            watch.cancel()
        return found

    def _exchange(
        self, child: subprocess.Popen[bytes], verb: str, names: Sequence[str], *, with_data: bool
    ) -> Iterable[Object | None]:
        assert child.stdin is not None
        try:
            child.stdin.write("".join(f"{verb} {name}\n" for name in names).encode())
            child.stdin.flush()
        except BrokenPipeError as error:
            raise self._died(child) from error
        return [self._answer(child, with_data=with_data) for _ in names]

    def _answer(self, child: subprocess.Popen[bytes], *, with_data: bool) -> Object | None:
        assert child.stdout is not None
        line = child.stdout.readline()
        if not line.endswith(b"\n"):
            raise self._died(child)
        words = line.split()
        if line.endswith((b" missing\n", b" ambiguous\n")):
            return None
        if len(words) != 3 or not words[2].isdigit():
            raise self._died(child)
        size = int(words[2])
        data = child.stdout.read(size + 1)[:-1] if with_data else b""
        if with_data and len(data) != size:
            raise self._died(child)
        return Object(words[0].decode(), words[1].decode(), data)

    def _died(self, child: subprocess.Popen[bytes]) -> ToolError:
        stop(child, group=True)
        said = child.stderr.read().decode("utf-8", "replace") if child.stderr else ""
        return ToolError(["git", "cat-file", "--batch-command"], child.poll(), "", said)
