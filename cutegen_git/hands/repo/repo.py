"""A task repository: the facade over the modules beside it. It moves bytes and ids and reads no message.

with Repo.open(path) as repo:
    tree = repo.tree_with(base, {"kernel/kernel.cu": source})
    commit = repo.commit(tree, [base], message, author=model, at=now)
    repo.transaction([RefUpdate("refs/cutegen/attempt/0001", None, commit)], "attempt 0001", inbox_done=["0001"])
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

from cutegen_git.words.errors import RepoError

from . import clone, diff, discover, journal, objects, readiness, refs, tidy, trees
from .batch import Batch
from .discover import Place
from .git import Git
from .lock import hold
from .notes import Notes
from .objects import TOOL, Identity, RawCommit, RawTag
from .refs import INBOX, TAGS, RefUpdate
from .trees import EXECUTABLE, FILE, WORDS, Entry
from .txn import Writer

RUN_LOCK = "cutegen.lock"


class Repo:
    """An open repository; close it, or use `with`. Nothing is written before the first writing call."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.git = Git(place.git_dir, git_dir=place.git_dir)
        self.batch = Batch(self.git)
        self.writer = Writer(self.git, self.batch, place)
        self.notes = Notes(self.git, self.batch, place, self.writer)
        self._id_bytes = 32 if place.object_format == "sha256" else 20

    # --- opening and closing

    @classmethod
    def open(cls, path: Path) -> Repo:
        """The repository whose top folder is `path`; RepoError where there is none or it has no commit."""
        repo = cls(discover.find(path))
        if repo.resolve("HEAD") is None and repo.resolve(refs.MAIN) is None:
            repo.close()
            raise RepoError(
                f"{path} has no commit yet: make a task with cutegen-git new, or commit the task first"
            )
        return repo

    @classmethod
    def create(
        cls, path: Path, files: Mapping[str, bytes], message: str, at: int, *, object_format: str = "sha1"
    ) -> Repo:
        """A new repository with one commit on main, checked out. `path` appears whole or not at all."""
        half, git = discover.initialise(path, object_format=object_format)
        try:
            with Batch(git) as batch:
                entries = {name: Entry(FILE, objects.write_blob(git, data)) for name, data in files.items()}
                tree = trees.changed(git, batch, None, entries, 32 if object_format == "sha256" else 20)
            commit = objects.write_commit(git, tree, [], message, TOOL, TOOL, at)
            refs.update(git, [RefUpdate(refs.MAIN, None, commit)], "cutegen-git new")
            git.check("read-tree", "-m", "-u", commit, env={"GIT_WORK_TREE": str(half)})
            discover.settle(half, path)
        except BaseException:
            shutil.rmtree(half, ignore_errors=True)
            raise
        return cls.open(path)

    def close(self) -> None:
        """End the child process."""
        self.batch.close()

    def __enter__(self) -> Repo:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:  # fmt: skip
        self.close()

    @property
    def root(self) -> Path:
        """Top folder of the worktree; the git dir of a bare repository."""
        return self.place.root

    @property
    def common_dir(self) -> Path:
        """Where refs, objects and locks are, shared by all worktrees."""
        return self.place.common_dir

    @property
    def object_format(self) -> str:
        """ "sha1" or "sha256"."""
        return self.place.object_format

    # --- state

    def refuse_unready(self, *, devices: Sequence[str] = ()) -> None:
        """RepoError with the fix unless `refine` may work here. `devices`: slugs that tags will be named by."""
        if journal.is_left(self.common_dir):
            self.recover()  # what a killed run left looks like a dirty worktree
        readiness.refuse_unready(self.git, self.place, devices)

    def dirty(self) -> list[str]:
        """`XY path` of each change in the worktree, and of untracked kernel files."""
        return readiness.dirty(self.git, self.place)

    def is_detached(self) -> bool:
        return readiness.branch(self.git) is None

    def branch(self) -> str | None:
        """Full ref name of the branch that HEAD is on; None when detached."""
        return readiness.branch(self.git)

    def is_bisecting(self) -> bool:
        return (self.place.git_dir / "BISECT_LOG").exists()

    def is_shallow(self) -> bool:
        return (self.common_dir / "shallow").exists()

    def lock(self, *, wait_s: float = 0.0) -> AbstractContextManager[int]:
        """Held by a whole run; RepoError names the process that has it. Single writes need no lock."""
        return hold(self.common_dir / RUN_LOCK, wait_s=wait_s, what=f"a run on {self.root}")

    def recover(self) -> None:
        """Put right what a killed run left, as every writing call does first; pack, where much lies loose. Idempotent."""
        with self.writer.turn():
            pass
        tidy.pack_loose(self.git, self.common_dir)

    # --- reading

    def resolve(self, rev: str) -> str | None:
        """The commit id that git understands by `rev`; None if it names no commit."""
        if not rev or "\0" in rev or "\n" in rev:
            return None
        done = self.git.run("rev-parse", "--quiet", "--verify", "--end-of-options", f"{rev}^{{commit}}")
        return done.text().strip() if done.ok else None

    def refs(self, *prefixes: str) -> dict[str, str]:
        """Full ref name -> object id (the tag object for annotated tags), sorted by name. Prefixes are whole folders."""
        return refs.listed(self.git, *prefixes)

    def tags(self, prefix: str = TAGS) -> list[RawTag]:
        """The annotated tags below the prefix."""
        return objects.read_tags(self.batch, self.refs(prefix))

    def commits(self, ids: Iterable[str]) -> list[RawCommit]:
        """The commits in the order asked for; RepoError if one is missing."""
        return objects.read_commits(self.batch, ids)

    def history(self, *starts: str, exclude: Sequence[str] = (), first_parent: bool = False) -> list[str]:
        """Ids of the commits reachable from `starts` and not from `exclude`, newest first, parents after children."""
        words = ["rev-list", "--topo-order", *(["--first-parent"] if first_parent else []), "--stdin"]
        names = "".join(
            f"{name}\n" for name in (*map(plain, starts), *(f"^{plain(name)}" for name in exclude))
        )
        return self.git.out(*words, stdin=names.encode()).split()

    def is_ancestor(self, old: str, new: str) -> bool:
        """True where `new` contains `old`."""
        return self.git.run("merge-base", "--is-ancestor", plain(old), plain(new)).ok

    def tree_of(self, commit: str, path: str = "") -> str:
        """Tree id of a folder in the commit; "" if there is no such folder."""
        found = self.batch.infos(
            [f"{commit}:{path.strip('/')}" if path.strip("/") else f"{commit}^{{tree}}"]
        )[0]
        return found.id if found is not None and found.kind == "tree" else ""

    def entries(self, commit: str, prefix: str = "") -> dict[str, Entry]:
        """Path -> mode and id of everything but folders, below the prefix (a folder or one file)."""
        words = ["--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", f"{plain(commit)}^{{tree}}"]
        wanted = prefix.rstrip("/")
        out = self.git.check(*words, "--", *([wanted] if wanted else [])).stdout
        pairs = (line.split("\t", 1) for line in out.decode("utf-8", "surrogateescape").split("\0") if line)
        return {path: Entry(head.split(" ")[0], head.split(" ")[2]) for head, path in pairs}

    def files_at(self, commit: str, prefix: str = "") -> dict[str, bytes]:
        """Path (from the root of the repository) -> bytes of the regular files. See `odd_at` for what is left out."""
        found = {
            path: item.id
            for path, item in self.entries(commit, prefix).items()
            if item.mode in (FILE, EXECUTABLE)
        }
        read = self.batch.read_many(list(found.values()))
        missing = [path for path, item in zip(found, read, strict=True) if item is None]
        if missing:
            raise RepoError(
                f"{missing[0]} of {commit} is not here: the clone is partial, run git fetch --refetch"
            )
        return {path: item.data for path, item in zip(found, read, strict=True) if item is not None}

    def odd_at(self, commit: str, prefix: str = "") -> dict[str, str]:
        """Path -> "a symbolic link", "a submodule", "an executable file": what a kernel folder may not hold."""
        return {
            path: WORDS.get(item.mode, f"a file of mode {item.mode}")
            for path, item in self.entries(commit, prefix).items()
            if item.mode != FILE
        }

    def read_blob(self, id: str) -> bytes:
        """The bytes of a blob; RepoError if it is not here."""
        found = self.batch.read(id)
        if found is None or found.kind != "blob":
            raise RepoError(f"blob {id} is not in this repository: run cutegen-git sync")
        return found.data

    def diff(self, old: str, new: str, paths: Sequence[str] = ()) -> str:
        """The diff between two commits or trees ("" for nothing as `old`), in one fixed form."""
        return diff.text(self.git, old, new, paths).decode("utf-8", "replace")

    def patch_id(self, old: str, new: str, paths: Sequence[str] = ()) -> str:
        """The same for the same edit elsewhere; "" where nothing changed."""
        return diff.patch_id(self.git, old, new, paths)

    # --- writing objects: harmless until a ref names them

    def blob(self, data: bytes) -> str:
        """The id of the stored bytes."""
        return objects.write_blob(self.git, data)

    def tree_with(self, base: str | None, files: Mapping[str, bytes | None]) -> str:
        """Tree id of `base` (commit or tree) with files set (mode 100644) or, where None, taken away."""
        entries = {
            path: None if data is None else Entry(FILE, self.blob(data)) for path, data in files.items()
        }
        return trees.changed(self.git, self.batch, base, entries, self._id_bytes)

    def commit(
        self,
        tree: str,
        parents: Sequence[str],
        message: str,
        *,
        author: Identity,
        committer: Identity = TOOL,
        at: int,
    ) -> str:
        """The id of the commit; the same arguments give the same id."""
        return objects.write_commit(self.git, tree, parents, message, author, committer, at)

    # --- moving refs

    def transaction(
        self, updates: Sequence[RefUpdate], reason: str, *, inbox_done: Sequence[str] = ()
    ) -> None:
        """Move all refs or none; replies of these labels leave the inbox. RefChanged: nothing was done, look again.

        A branch that is checked out takes index and files along; RepoError, before anything moves, where the
        user's changes are in the way.
        """
        done = [
            RefUpdate(f"{INBOX}{label}", id, None) for label in inbox_done if (id := self._in_inbox(label))
        ]
        self.writer.move([*updates, *done], reason)

    def tag(self, name: str, commit: str, message: str, at: int, *, tagger: Identity = TOOL) -> str:
        """The id of the new annotated tag (short or full name). RefChanged if another tag has the name."""
        short = name.removeprefix(TAGS)
        id = objects.write_tag(self.git, short, commit, message, tagger, at)
        if self.batch.id_of(f"{TAGS}{short}") != id:
            self.transaction([RefUpdate(f"{TAGS}{short}", None, id)], f"tag {short}")
        return id

    # --- inbox

    def inbox_put(self, label: str, data: bytes) -> str:
        """Keep a reply under its label before anything else happens to it; the blob's id."""
        id = self.blob(data)
        there = self._in_inbox(label)
        if there not in (None, id):
            raise RepoError(f"the inbox holds another reply for {label}: run cutegen-git refine to use it up")
        if there is None:
            self.transaction([RefUpdate(f"{INBOX}{label}", None, id)], f"reply {label}")
        return id

    def inbox(self) -> dict[str, bytes]:
        """Label -> reply, for replies that are not an attempt yet."""
        found = self.refs(INBOX)
        return {ref.removeprefix(INBOX): self.read_blob(id) for ref, id in found.items()}

    def _in_inbox(self, label: str) -> str | None:
        return self.batch.id_of(f"{INBOX}{label}")

    # --- notes

    def notes_refs(self, kind: str) -> dict[str, str]:
        """Writer -> full ref name of refs/notes/cutegen/<kind>/<writer>."""
        return self.notes.refs(kind)

    def notes_read(self, ref: str) -> dict[str, str]:
        """Object id -> text, of a whole notes ref."""
        return self.notes.read(ref)

    def notes_read_one(self, ref: str, id: str) -> str:
        """The note of one object; "" if there is none."""
        return self.notes.read_one(ref, id)

    def notes_append(self, ref: str, id: str, line: str, *, at: int | None = None) -> None:
        """Add one line to the note of an object."""
        self.notes.append(ref, [(id, line)], at=at)

    def notes_append_all(self, ref: str, lines: Iterable[tuple[str, str]], *, at: int | None = None) -> None:
        """Add many lines (object id, line) in one commit."""
        self.notes.append(ref, lines, at=at)

    def notes_replace(self, ref: str, id: str, text: str, *, at: int | None = None) -> None:
        """Set a whole note; "" takes it away."""
        self.notes.replace(ref, {id: text}, at=at)

    def verdicts_missing(self) -> bool:
        """True in a clone that has claims or paths and no verdicts or attempts: git does not fetch those by itself."""
        return readiness.verdicts_missing(self.git)

    def clone_letter(self) -> str:
        """What labels made in this clone begin with: "" for the first clone that proposes. Asks the remote, once."""
        return clone.letter(self.place, self.refs(refs.ATTEMPTS), self.blob)


def plain(rev: str) -> str:
    """The revision itself; RepoError for one that git would take for an option or for several."""
    if not rev or rev.startswith(("-", "^")) or "\n" in rev or "\0" in rev:
        raise RepoError(f"{rev!r} is not a revision")
    return rev
