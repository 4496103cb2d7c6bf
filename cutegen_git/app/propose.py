"""From a reply to an attempt: kept raw before anything happens to it, then made a commit whatever it holds.

Every reply that was paid for becomes a commit. Where nothing applies its tree is its parent's, and only the
attempt ref holds it, so that budgets, memory and resume read one list.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from cutegen_git import __version__
from cutegen_git.core import intent, patch, transcript
from cutegen_git.core.transcript import Transcript
from cutegen_git.hands.repo import Identity
from cutegen_git.words.attempt import Attempt, Commit, Label
from cutegen_git.words.errors import PatchError, PatchProblem

from .project import KERNEL, Project

ALLOWED = (f"{KERNEL}/*.cu", f"{KERNEL}/*.cuh")
REPEATED = "repeated"


@dataclass(frozen=True, slots=True)
class Order:
    """What a reply was asked for: enough to make its commit again after a crash, with the same id."""

    label: str
    path: str
    move: str  # generate, fix, optimise
    parent: str  # commit id
    parent_attempt: str  # label, "" for none
    seen: str  # verdict ids that the prompt showed
    policy: str
    task: str  # task hash
    at: int  # when the reply came, seconds since 1970, UTC
    outcome: str = ""  # "empty-reply", "refused" or "truncated" where the provider's answer says so
    tool: str = f"cutegen-git {__version__}"  # who makes the commit; a replay copies the recorded one


def keep(project: Project, order: Order, said: Transcript) -> None:
    """The reply in the inbox: from here on it cannot be lost."""
    record = json.dumps({"order": asdict(order), "transcript": transcript.dump(said)})
    project.repo.inbox_put(order.label, record.encode())


def waiting(project: Project) -> list[tuple[Order, Transcript]]:
    """Replies that came before a crash and are no attempts yet, by label."""
    found = []
    for _, data in sorted(project.repo.inbox().items()):
        record = json.loads(data)
        found.append((Order(**record["order"]), transcript.load(record["transcript"])))
    return found


def settle(project: Project, order: Order, said: Transcript) -> Commit:
    """The attempt made from a kept reply; the reply leaves the inbox with the same ref transaction."""
    words = intent.read(said.reply.decode("utf-8", "replace"))
    outcome, files = read_reply(project, order, said)
    attempt = Attempt(
        label=Label.parse(order.label) or Label(0),
        path=order.path,
        move=order.move,
        subject=words.subject,
        body=words.body,
        parent_attempt=Label.parse(order.parent_attempt),
        outcome=outcome or None,
        model=said.model,
        prompt=prompt_digest(said.system, said.user),
        spend=said.spend,
        task=order.task,
        seen=order.seen,
        policy=order.policy,
        tool=order.tool,
    )
    if files:
        attempt = _unless_repeated(project, attempt, order.parent, files)
        files = {} if attempt.outcome else files
    return project.add_attempt(
        attempt, order.parent, files, author=author(said.model), at=order.at, transcript=transcript.dump(said)
    )


def read_reply(project: Project, order: Order, said: Transcript) -> tuple[str, Mapping[str, bytes | None]]:
    """(why nothing applies, {}) or ("", the changed files)."""
    if order.outcome:
        return order.outcome, {}
    try:
        files = project.repo.files_at(order.parent)
        applied = patch.apply_reply(said.reply, files, allowed=ALLOWED, finish_reason=said.finish_reason)
    except PatchError as error:
        return error.problem.value, {}
    return "", applied.files


def complaint(project: Project, commit: Commit, said: Transcript) -> str:
    """What the next prompt tells of a reply that gave no kernel: worked out again from the reply."""
    outcome = commit.attempt.outcome
    if outcome == REPEATED:
        return "This diff was tried before and is not measured again. Do something else."
    if outcome in {problem.value for problem in PatchProblem}:
        try:
            files = project.repo.files_at(commit.parents[0])
            patch.apply_reply(said.reply, files, allowed=ALLOWED, finish_reason=said.finish_reason)
        except PatchError as error:
            return str(error)
    return SPOKEN.get(outcome or "", f"The reply could not be used: {outcome}.")


SPOKEN = {
    "empty-reply": "The reply was empty. Send the diff.",
    "refused": "The reply refused the request. It asks for a CUDA kernel and nothing else; send the diff.",
    "truncated": "The reply was cut off at the token limit and nothing of it was applied. Send a smaller diff.",
}


def _unless_repeated(
    project: Project, attempt: Attempt, parent: str, files: Mapping[str, bytes | None]
) -> Attempt:
    """The attempt with its patch id; marked as repeated where the same diff or the same kernel was tried."""
    tree = project.repo.tree_with(parent, files)
    patch_id = project.repo.patch_id(parent, tree)
    kernel = project.repo.tree_of(tree, KERNEL)
    for known in project.attempts():
        before = known.attempt
        if before.task != attempt.task or before.label == attempt.label or before.outcome:
            continue
        same_place = bool(patch_id) and before.patch_id == patch_id and parent in known.parents
        if same_place or known.kernel_tree == kernel:
            return replace(attempt, outcome=REPEATED)
    return replace(attempt, patch_id=patch_id)


def author(model: str) -> Identity:
    """The model as a git author: its name, and an address that cannot be anybody's."""
    name = (
        " ".join("".join(c if c.isprintable() and c not in "<>" else " " for c in model).split())
        or "unknown model"
    )
    local = "".join(c if c.isalnum() or c in "._-" else "-" for c in name.lower()).strip("-.") or "model"
    return Identity(name, f"{local[:60]}@cutegen.invalid")


def prompt_digest(system: str, user: str) -> str:
    """12 hex digits that name a prompt."""
    return hashlib.sha256(f"{system}\0{user}".encode()).hexdigest()[:12]
