"""A task repository as the commands see it: the task of `main`, attempts, the verdicts that count, and writing them.

What git holds and where is design git.md; text <-> records is `core.log`; bytes and refs are `hands.repo`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from cutegen_git.core import history as records
from cutegen_git.core import log, taskfile
from cutegen_git.core.history import History, Judged
from cutegen_git.hands import machine, signing
from cutegen_git.hands.repo import TOOL, Identity, RefChanged, RefUpdate, Repo
from cutegen_git.words.attempt import Attempt, Commit, Label
from cutegen_git.words.errors import RepoError, TaskError
from cutegen_git.words.task import Task
from cutegen_git.words.verdict import Verdict

from . import claims_sign

MAIN = "refs/heads/main"
ATTEMPTS = "refs/cutegen/attempt/"
PATHS = "refs/heads/path/"
KERNEL = "kernel"


def notes_ref(kind: str, writer: str) -> str:
    return f"refs/notes/cutegen/{kind}/{writer}"


@dataclass
class Project:
    """An open task repository. Everything that git says is read anew after each write."""

    repo: Repo
    task: Task
    task_hash: str
    reference: bytes
    trusts_all: bool = False  # a recording is shown as it was recorded

    @classmethod
    def open(cls, folder: Path) -> Project:
        """The task repository in a folder. RepoError or TaskError, one line that names the fix."""
        repo = Repo.open(folder)
        main = repo.resolve(MAIN) or repo.resolve("HEAD")
        if main is None:
            raise RepoError(f"{folder} has no branch main; is it a task made by `cutegen-git new`?")
        files = repo.files_at(main)
        if "task.toml" not in files or "reference.py" not in files:
            raise RepoError(
                f"{folder} is a git repository but no task: main has no task.toml and reference.py; make one with `cutegen-git new`"
            )
        toml, reference = files["task.toml"], files["reference.py"]
        try:
            task = taskfile.parse(toml.decode())
        except UnicodeDecodeError:
            raise TaskError("task.toml is not UTF-8") from None
        return cls(repo, task, taskfile.task_hash(toml, reference), reference)

    # -- reading -------------------------------------------------------------------------------------------

    @property
    def main(self) -> str:
        """The commit id of main."""
        found = self.repo.resolve(MAIN)
        if found is None:
            raise RepoError("the branch main is missing; restore it with `git branch main <commit>`")
        return found

    def attempts(self) -> list[Commit]:
        """Every attempt of every era, by label."""
        labels = {
            commit: label
            for ref, commit in self.repo.refs(ATTEMPTS).items()
            if (label := Label.parse(ref.removeprefix(ATTEMPTS)))
        }
        found = []
        for raw in self.repo.commits(list(labels)):
            attempt = log.parse_commit(raw.message, labels[raw.id])
            if attempt:
                attempt = replace(attempt, label=labels[raw.id], task=attempt.task or self.task_hash)
                kernel = self.repo.tree_of(raw.id, KERNEL)
                found.append(Commit(raw.id, tuple(raw.parents), raw.tree, kernel, raw.at, attempt))
        return sorted(found, key=lambda commit: commit.attempt.label)

    def verdicts(self, *, trusted: bool = True) -> dict[str, list[Verdict]]:
        """Verdicts by commit id; without `trusted` also those of runners that `[runners]` does not list."""
        found: dict[str, list[Verdict]] = {}
        for runner, ref in self.repo.notes_refs("verdict").items():
            if trusted and not self.believes(runner):
                continue
            for commit, line in self._lines(runner, self.repo.notes_read(ref), trusted=trusted):
                verdict = log.parse_verdict(line)
                if verdict and verdict.runner == runner:
                    found.setdefault(commit, []).append(verdict)
        return found

    def _lines(self, runner: str, notes: Mapping[str, str], *, trusted: bool) -> Iterable[tuple[str, str]]:
        """(commit, line); where trust counts and the runner lists a key, only what that key signed."""
        if trusted and not self.trusts_all:
            return claims_sign.counted(self.repo, self.task, runner, notes)
        return [(commit, line) for commit, text in notes.items() for line in text.splitlines()]

    def believes(self, runner: str) -> bool:
        """True for this machine's own runners and those that `[runners]` on main lists."""
        own = machine.is_own_runner(runner, machine.environment())
        return self.trusts_all or own or runner in self.task.runners

    def history(self) -> History:
        """The current era, with the verdicts that count."""
        commits = [commit for commit in self.attempts() if commit.attempt.task == self.task_hash]
        return History(
            records.judged(commits, self.verdicts()),
            path_heads=self._path_heads(),
            main_kernel_tree=self.repo.tree_of(self.main, KERNEL),
            lost_usd=self._lost_usd(),
        )

    def _path_heads(self) -> dict[str, str]:
        """Slug -> the attempt that leads the path: its head, or what a merge at its head brought in."""
        heads = {ref.removeprefix(PATHS): head for ref, head in self.repo.refs(PATHS).items()}
        attempts = set(self.repo.refs(ATTEMPTS).values())
        merges = {slug: head for slug, head in heads.items() if head not in attempts}
        raws = self.repo.commits(merges.values())
        return heads | {slug: (raw.parents or (raw.id,))[-1] for slug, raw in zip(merges, raws, strict=True)}

    def _lost_usd(self) -> float:
        lost = 0.0
        for ref in self.repo.notes_refs("ledger").values():
            for text in self.repo.notes_read(ref).values():
                for line in text.splitlines():
                    record = json.loads(line) if line.startswith("{") else {}
                    lost += float(record.get("cost_usd") or 0)
        return lost

    def find(self, revision: str) -> Commit | None:
        """The attempt that "0012", "12", "best" or any git revision names."""
        commits = self.attempts()
        if revision == "best":
            best = self.history().best(self.task.device)
            return best.commit if best else None
        label = Label.parse(revision)
        if label:
            return next((commit for commit in commits if commit.attempt.label == label), None)
        wanted = self.repo.resolve(revision)
        return next((commit for commit in commits if commit.id == wanted), None) if wanted else None

    def kernel_files(self, commit: str) -> dict[str, bytes]:
        """Files under kernel/, by name relative to it."""
        files = self.repo.files_at(commit, KERNEL)
        return {path.removeprefix(f"{KERNEL}/"): data for path, data in files.items()}

    def odd_kernel_files(self, commit: str) -> dict[str, str]:
        """What kernel/ holds and may not: links, submodules, executables; full path -> what it is."""
        return self.repo.odd_at(commit, KERNEL)

    # -- writing -------------------------------------------------------------------------------------------

    def next_label(self) -> Label:
        """The label after the highest one of this clone, counting replies that still wait in the inbox."""
        used = [Label.parse(ref.removeprefix(ATTEMPTS)) for ref in self.repo.refs(ATTEMPTS)]
        mine = [label for label in used if label and label.clone == self.clone_letter]
        return Label(max((label.number for label in mine), default=0) + 1, self.clone_letter)

    @property
    def writer(self) -> str:
        """The name under which this clone writes what it proposed."""
        return f"proposer{'-' if self.clone_letter else ''}{self.clone_letter}"

    @cached_property
    def clone_letter(self) -> str:
        """This clone's letter for labels: "" for the first proposing clone."""
        return self.repo.clone_letter()

    def add_attempt(
        self,
        attempt: Attempt,
        parent: str,
        files: Mapping[str, bytes | None],
        *,
        author: Identity,
        at: int,
        transcript: str = "",
    ) -> Commit:
        """The new commit under its attempt ref; its reply leaves the inbox in the same transaction.

        The transcript is noted before the ref exists: a crash between the two loses nothing, since the inbox
        still holds the reply and gives the same commit again.
        """
        tree = self.repo.tree_with(parent, files) if files else self.repo.tree_of(parent)
        made = self.repo.commit(tree, [parent], log.render_commit(attempt), author=author, at=at)
        ref = notes_ref("transcript", self.writer)
        if transcript and self.task.publish_transcript and not self.repo.notes_read_one(ref, made):
            self.repo.notes_append(ref, made, transcript)
        updates = [RefUpdate(f"{ATTEMPTS}{attempt.label}", None, made)]
        self.repo.transaction(updates, f"attempt {attempt.label}", inbox_done=[str(attempt.label)])
        return Commit(made, (parent,), tree, self.repo.tree_of(made, KERNEL), at, attempt)

    def adopt(self, revision: str, at: int) -> Commit | None:
        """A person's commit made an attempt: it gets the next label. None where it has no kernel."""
        commit = self.repo.resolve(revision)
        if commit is None:
            return None
        known = next((found for found in self.attempts() if found.id == commit), None)
        if known or not self.repo.tree_of(commit, KERNEL):
            return known
        label = self.next_label()
        self.repo.transaction([RefUpdate(f"{ATTEMPTS}{label}", None, commit)], f"adopt {label}")
        return next(found for found in self.attempts() if found.id == commit)

    def record(self, verdict: Verdict, samples: Mapping[str, Sequence[int]], feedback: str) -> str:
        """The id of the verdict's line, which now stands in the runner's notes with its samples and feedback."""
        line = log.render_verdict(verdict)
        if key := self._key_file(verdict.runner):
            claims_sign.sign_line(self.repo, verdict.runner, verdict.commit, line, signing.VERDICT, key)
        if samples:
            text = json.dumps({"verdict": log.verdict_id(line), "ns": samples}, separators=(",", ":"))
            self.repo.notes_append(notes_ref("samples", verdict.runner), verdict.commit, text)
        if feedback:
            self.repo.notes_replace(notes_ref("feedback", verdict.runner), verdict.commit, feedback)
        self.repo.notes_append(notes_ref("verdict", verdict.runner), verdict.commit, line)
        return log.verdict_id(line)

    def _key_file(self, runner: str) -> Path | None:
        return claims_sign.key_file_for(self.task, runner, machine.environment())

    def feedback(self, commit: str) -> str:
        """What judging told the model about an attempt, of each believed runner; "" where nothing is stored."""
        refs = self.repo.notes_refs("feedback")
        texts = [
            self.repo.notes_read_one(ref, commit) for runner, ref in refs.items() if self.believes(runner)
        ]
        return "\n\n".join(dict.fromkeys(text.strip("\n") for text in texts if text))

    def claim(
        self, commit: Commit, verdict: Verdict, verdict_id: str, facts: Mapping[str, str], at: int
    ) -> str | None:
        """The short name of the new tag; None where this label already has a claim on this device."""
        label = commit.attempt.label
        if self.claims(label, verdict.device) or verdict.timing is None:
            return None
        name = log.tag_name(label, verdict)
        claim = log.Claim(
            label, verdict.device, verdict.timing, verdict_id, verdict.task, verdict.kernel_tree, verdict.judge, facts
        )  # fmt: skip
        message = log.render_claim(claim)
        if key := self._key_file(verdict.runner):
            short = name.removeprefix("refs/tags/")
            message = signing.sign_tag(short, commit.id, message, f"{TOOL.name} <{TOOL.email}>", at, key)
        try:
            self.repo.tag(name, commit.id, message, at=at)
        except RefChanged:  # a stranger's tag has the name; the verdict stands without a claim
            return None
        return name.removeprefix("refs/tags/")

    def claims(self, label: Label, device: str) -> list[str]:
        """Short names of the tags that claim a speedup of this attempt on a device, as far as they are believed.

        A stranger can push a tag of any name: one counts only if it stands on the attempt and names a verdict that counts.
        """
        commit = self.repo.resolve(f"{ATTEMPTS}{label}")
        counted = {
            log.verdict_id(log.render_verdict(v)) for found in self.verdicts().values() for v in found
        }  # ids are of the lines as they were written
        names = []
        for tag in self.repo.tags(f"refs/tags/{device}/"):
            claim = log.parse_claim(signing.split(tag.message)[0])
            if (
                claim
                and tag.ref.startswith(f"refs/tags/{device}/{label}-")
                and claim.label == label
                and tag.target == commit
                and claim.verdict in counted
            ):
                names.append(tag.ref.removeprefix("refs/tags/"))
        return names

    def advance(self, judged: Judged, path: str, *, message: str | None, at: int) -> str | None:
        """Move path/<slug> to the attempt and, with a message, merge it into main. The new main, if it moved.

        The merge has the attempt's kernel exactly: a real merge would mix in code that nobody measured. All
        other files are main's own, which is what the judge took them from.
        """
        commit = judged.commit
        ref = PATHS + path
        head = self.repo.resolve(ref)
        updates = []
        if head != commit.id:
            updates.append(RefUpdate(ref, head, self._forward(head, commit, at)))
        merged = None
        main = self.main
        if message is not None and self.repo.tree_of(main, KERNEL) != commit.kernel_tree:
            merged = self.repo.commit(
                self._with_kernel(main, commit), [main, commit.id], message, author=TOOL, at=at
            )
            updates.append(RefUpdate(MAIN, main, merged))
        if updates:
            self.repo.transaction(updates, f"advance {path} to {commit.attempt.label}")
        return merged

    def _forward(self, head: str | None, commit: Commit, at: int) -> str:
        """What a path moves to: the attempt, or where that is no descendant of its head a merge with its tree.

        A path never goes back: other clones could not follow.
        """
        if head is None or self.repo.is_ancestor(head, commit.id):
            return commit.id
        label = commit.attempt.label
        return self.repo.commit(
            commit.tree, [head, commit.id], f"{label} takes the lead\n", author=TOOL, at=at
        )

    def _with_kernel(self, main: str, commit: Commit) -> str:
        """Tree of main with the attempt's kernel folder in place of its own."""
        old = {path: None for path in self.repo.entries(main, KERNEL)}
        new = self.repo.files_at(commit.id, KERNEL)
        return self.repo.tree_with(main, {**old, **new})
