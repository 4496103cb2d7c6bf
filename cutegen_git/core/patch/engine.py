"""From a raw reply to a Patch, or one PatchError that lists all that is wrong. All or nothing over all files."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cutegen_git.words.errors import PatchProblem

from . import canon, explain, formats, names, repair
from .find import END_PATCH, Found, find
from .merge import Outcome, merge, tidy
from .place import Index
from .records import Block, BlockKind, Failure, FileChange, Hunk, Item, Patch
from .text import Doc, decode, doc, encode, join, reply_lines
from .unified import is_exact, is_short, parse

_CUT = {
    "length",
    "max_tokens",
    "max_output_tokens",
    "model_length",
    "content_filter",
    "incomplete",
    "token_limit",
}
_CHOICE = re.compile(
    r"\b(option|alternative|variant|version|approach)\s+(\d|[A-Z]\b|one|two)|\balternatively\b|^or[:,]",
    re.I | re.M,
)


def apply_reply(
    reply: bytes,
    files: Mapping[str, bytes],
    *,
    allowed: Sequence[str],
    finish_reason: str | None = None,
    links: Collection[str] = (),
) -> Patch:
    """The patch that a reply stands for, applied to `files` (all files of the task repository).

    `allowed` are globs of files that may change ("*" stops at "/"); `links` are paths that are symbolic links.
    Raises PatchError, whose text is written to be sent back to the model.
    """
    if (finish_reason or "").lower() in _CUT:
        raise explain.error(
            [_failure(PatchProblem.TRUNCATED, f"The reply was cut off by the provider ({finish_reason}).")]
        )
    found = find(reply_lines(decode(reply)))
    return _Task(files, tuple(allowed), frozenset(links), found).patch()


def _failure(problem: PatchProblem, text: str, path: str = "") -> Failure:
    return Failure(problem, path, text)


@dataclass(slots=True)
class _Task:
    """One reply on its way to a patch."""

    files: Mapping[str, bytes]
    allowed: tuple[str, ...]
    links: frozenset[str]
    found: Found
    failures: list[Failure] = field(default_factory=list)
    result: dict[str, bytes | None] = field(default_factory=dict)
    applied_before: int = 0  # hunks whose result was there already
    tasks: dict[str, list[Hunk]] = field(default_factory=dict)
    docs: dict[str, Doc] = field(default_factory=dict)
    repairs: list[str] = field(default_factory=list)
    open_ends: set[tuple[int, tuple[Item, ...]]] = field(
        default_factory=set
    )  # last lines before the reply ended

    def patch(self) -> Patch:
        changes = self.read()
        self.stop_if_failed()
        self.check_choice(changes)
        for change in changes:
            self.route(change)
        self.stop_if_failed()
        for path, hunks in self.tasks.items():
            self.apply(path, hunks)
        self.stop_if_failed()
        return self.finish()

    def stop_if_failed(self) -> None:
        if self.failures:
            raise explain.error(self.failures)

    def fail(self, problem: PatchProblem, text: str, path: str = "") -> None:
        self.failures.append(Failure(problem, path, text))

    # Reading

    def read(self) -> list[FileChange]:
        """All changes of the reply; thinking without an answer, or no edit at all, is refused here."""
        if self.found.cut_in_thought:
            self.fail(PatchProblem.TRUNCATED, "The reply ends inside its thinking block.")
            return []
        changes: list[FileChange] = []
        for number, block in enumerate(self.found.blocks):
            changes += self.read_block(block, number)
        if not self.failures and not changes:
            changes = self.read_code()
        if not self.failures and not changes:
            self.fail(PatchProblem.NO_DIFF, "The reply holds no edit that can be applied.")
        return changes

    def read_block(self, block: Block, number: int) -> list[FileChange]:
        if block.kind is BlockKind.SEARCH:
            changes, whole = formats.search_replace(block, number)
            if not whole:
                self.fail(PatchProblem.TRUNCATED, "A SEARCH/REPLACE block has no end.")
            return changes
        if block.kind is BlockKind.ENVELOPE:
            if not any(END_PATCH.match(line) for line in block.lines) and _needs_end(block):
                self.fail(PatchProblem.TRUNCATED, 'The patch has no "*** End Patch" line.')
            return formats.envelope(block, number)
        if block.kind is BlockKind.CODE:
            return []
        parsed = [
            replace(one, hunks=tuple(map(_with_signs, one.hunks))) for one in parse(block.lines, number)
        ]
        changes = [self.named(change, block) for change in parsed if _says_something(change)]
        if not block.closed and parsed and parsed[-1].hunks:
            self.open_ends.add((number, parsed[-1].hunks[-1].items[-1:]))
        if parsed and parsed[-1].hunks and self.is_cut(block, parsed[-1]):
            self.fail(
                PatchProblem.TRUNCATED, "The last hunk of the diff is not whole: the reply was cut off."
            )
        return changes

    def named(self, change: FileChange, block: Block) -> FileChange:
        """The change with the name from the text around it, where the diff itself has none."""
        if change.old or change.new or not block.hint:
            return change
        path = names.known(block.hint, self.files, self.allowed)
        return (
            replace(change, old=path, new=path) if path and names.is_allowed(path, self.allowed) else change
        )

    def is_cut(self, block: Block, change: FileChange) -> bool:
        """Did the reply end before its last hunk did?"""
        if block.closed:
            return False
        last = change.hunks[-1]
        fenced = bool(block.label) or self.found.lines[block.first].lstrip()[:3] in ("```", "~~~")
        tail = last.items[-1] if last.items else None
        if tail is None or not last.changes():
            return not is_exact(last)
        ends_kept = tail.sign == " " and self.is_file_line(change, tail.text, tail.raw)
        if (
            fenced
        ):  # a whole reply closes its fence: without that, the counts and the last line must prove it whole
            return tail.sign == "+" or not (is_exact(last) or (last.old_count is None and ends_kept))
        return is_short(last) and not ends_kept

    def is_file_line(self, change: FileChange, *texts: str) -> bool:
        path = names.known(change.new or change.old or "", self.files, self.allowed)
        paths = [path] if path else self.editable()
        return any(text in doc(decode(self.files[one])).texts for one in paths for text in texts)

    def editable(self) -> list[str]:
        return [
            path for path in self.files if names.is_allowed(path, self.allowed) and path not in self.links
        ]

    def check_choice(self, changes: Sequence[FileChange]) -> None:
        """Several diffs introduced as alternatives are a question, not a patch."""
        blocks = sorted({change.block for change in changes})
        headed = 0
        for block in (self.found.blocks[n] for n in blocks):
            floor = max((other.last for other in self.found.blocks if other.last <= block.first), default=0)
            headed += bool(
                _CHOICE.search("\n".join(self.found.lines[max(floor, block.first - 4) : block.first]))
            )
        whole = [decode(b"\n".join(encode(line) for line in self.found.blocks[n].lines)) for n in blocks]
        if headed and len(blocks) > 1 and len(set(whole)) > 1:
            self.fail(PatchProblem.CONFLICTING_DIFFS, "The reply offers several diffs as alternatives.")
            self.stop_if_failed()

    # Whole files

    def read_code(self) -> list[FileChange]:
        """A complete new file in a fence, where the reply holds no diff."""
        out: list[FileChange] = []
        for number, block in enumerate(self.found.blocks):
            if block.kind is not BlockKind.CODE:
                continue
            path = self.code_target(block)
            if path is None:
                continue
            if not block.closed:
                self.fail(
                    PatchProblem.TRUNCATED, f"The new text of {path} has no end: the fence is not closed."
                )
                return []
            out.append(FileChange(path, path, whole=block.lines, block=number))
        texts: dict[str, set[tuple[str, ...]]] = {}
        for change in out:
            texts.setdefault(change.new or "", set()).add(change.whole or ())
        for path, versions in texts.items():
            if len(versions) > 1:
                self.fail(
                    PatchProblem.CONFLICTING_DIFFS, f"The reply holds {len(versions)} texts of {path}.", path
                )
        return list({change.new: change for change in out}.values())

    def code_target(self, block: Block) -> str | None:
        """The file that a code fence replaces or creates as a whole, or None for a fragment."""
        first = next((line for line in block.lines if line.strip()), "")
        hint = block.hint or names.lone_name(first)
        path = names.known(hint, self.files, self.allowed) if hint else None
        if hint and path is None:
            new = names.spellings(hint)[0]
            return new if names.is_allowed(new, self.allowed) and names.unsafe(hint) is None else None
        editable = self.editable()
        candidates = [path] if path and names.is_allowed(path, self.allowed) else [] if path else editable
        olds = {one: doc(decode(self.files[one])).texts for one in candidates}
        whole = [one for one, old in olds.items() if formats.looks_whole(block.lines, old)]
        if len(candidates) > 1:  # without a name, only the exported function tells which file it is
            whole = [one for one in whole if formats.exported(olds[one])]
        return whole[0] if len(whole) == 1 else None

    # Routing: which file, and may it be touched?

    def route(self, change: FileChange) -> None:
        path, fresh = self.target(change)
        if path is None:
            return
        if fresh:
            self.create(path, change)
        elif change.whole is not None:
            self.rewrite(path, list(change.whole), change.block)
        elif self.is_deletion(change):
            self.delete(path, change)
        else:
            self.tasks.setdefault(path, []).extend(self.prepared(path, change))
        if change.rename or change.copy:
            self.move(path, change)

    def target(self, change: FileChange) -> tuple[str | None, bool]:
        """The file meant, and whether it is to be created; (None, False) after a refusal."""
        stated = [
            name for name in (change.old, change.new, *(change.rename or ()), *(change.copy or ())) if name
        ]
        real = [name for name in stated if name != names.NULL]
        if not real:
            return self.unnamed(change), False
        creating = change.old == names.NULL or change.creates
        if change.binary and not any(map(names.unsafe, real)):
            self.fail(
                PatchProblem.BINARY_PATCH, f"{real[-1]}: a patch must be text; binary content is refused."
            )
            return None, False
        for name in real:
            path = None if creating else names.known(name, self.files, self.allowed)
            failure = names.refuse(name, path, self.allowed, self.links)
            if failure:
                self.failures.append(failure)
                return None, False
        if self.refused_kind(change, real[-1]):
            return None, False
        if creating:
            path = names.spellings(real[-1])[0]
            return self.new_path(path, change), True
        path = next((one for one in (names.known(n, self.files, self.allowed) for n in real) if one), None)
        if path is None:
            return self.missing(real[0], change)
        return path, False

    def new_path(self, path: str, change: FileChange) -> str | None:
        clash = names.refuse_new(path, [one for one in self.files if self.files[one] or one != path])
        clash = clash or names.refuse_new(path, [one for one in self.result if one != path])
        if clash:
            self.failures.append(clash)
            return None
        return path

    def missing(self, name: str, change: FileChange) -> tuple[str | None, bool]:
        """A name of no file: a new file if the hunk says so, else a refusal."""
        path = names.spellings(name)[0]
        olds = any(hunk.olds() for hunk in change.hunks)
        zero = all(hunk.old_start in (None, 0) for hunk in change.hunks)
        if change.whole is not None or (change.hunks and not olds and zero):
            return self.new_path(path, change), True
        here = ", ".join(self.editable()) or "none"
        self.fail(
            PatchProblem.FILE_NOT_FOUND, f"There is no file {path}. Files that can be changed: {here}.", path
        )
        return None, False

    def refused_kind(self, change: FileChange, name: str) -> bool:
        """Links, submodules and mode changes never pass."""
        if "120000" in change.modes:
            self.fail(PatchProblem.SYMLINK, f"{name}: a patch must not make symbolic links.", name)
        elif change.modes:
            what = "a submodule" if "160000" in change.modes else "another file mode"
            self.fail(
                PatchProblem.MODE_CHANGE, f"{name}: a patch must not set {what}; change the text only.", name
            )
        else:
            return False
        return True

    def unnamed(self, change: FileChange) -> str | None:
        """The one file that fits hunks without a file name."""
        editable = self.editable()
        if len(editable) == 1:
            return editable[0]
        fitting = [path for path in editable if self.fits(path, change)]
        named = {word for line in self.found.prose.split("\n") for word in names.mentioned(line)}
        told = [path for path in fitting if path in named or path.rsplit("/", 1)[-1] in named]
        for group in (fitting, told):
            if len(group) == 1:
                return group[0]
        what = "fit several files" if fitting else "fit no file"
        self.fail(
            PatchProblem.NO_FILE_NAME, f"The diff names no file, and its hunks {what}: {', '.join(editable)}."
        )
        return None

    def fits(self, path: str, change: FileChange) -> bool:
        return merge(doc(decode(self.files[path])), self.prepared(path, change)).doc is not None

    # Changing

    def prepared(self, path: str, change: FileChange) -> list[Hunk]:
        """The hunks of one change, repaired as far as the whole diff shows its damage, split at elisions."""
        text = decode(self.files[path])
        hunks: list[Hunk] = list(change.hunks)
        if repair.is_escaped(hunks, text):
            hunks = [repair.unescaped(hunk) for hunk in hunks]
        index = Index(doc(text).texts)
        out: list[Hunk] = []
        for hunk in hunks:
            lost = next((item for item in hunk.items if _is_lost(index, item)), None)
            if lost:
                self.elided(path, hunk, lost)
            out += [replace(part, items=tidy(part.items)) for part in split_elisions(index, hunk)]
        return [hunk for hunk in out if hunk.changes()]

    def elided(self, path: str, hunk: Hunk, item: Item) -> None:
        kind = "added" if item.sign == "+" else "removed"
        text = f'{path}: the {kind} line "{item.text.strip()}" stands for code that was left out.'
        self.failures.append(Failure(PatchProblem.ELIDED_CONTENT, path, text, hunk))

    def apply(self, path: str, hunks: list[Hunk]) -> None:
        document = doc(decode(self.files[path]))
        if self.is_rewrite(document, hunks):
            self.rewrite(path, [item.text for item in hunks[0].items], hunks[0].block)
            return
        outcome = merge(document, hunks)
        self.applied_before += sum(misfit.already for misfit in outcome.misfits)
        if outcome.doc is not None:
            self.put(path, encode(join(outcome.doc)))
            return
        self.failures += self.explained(path, document, hunks, outcome)

    def is_rewrite(self, document: Doc, hunks: Sequence[Hunk]) -> bool:
        """A single hunk that only adds a complete new text of the file."""
        if len(hunks) != 1 or hunks[0].olds() or not document.texts:
            return False
        if hunks[0].old_count == 0 and hunks[0].old_start:
            return False
        return formats.looks_whole([item.text for item in hunks[0].items], document.texts)

    def explained(self, path: str, document: Doc, hunks: Sequence[Hunk], outcome: Outcome) -> list[Failure]:
        index = Index(document.texts)
        out = [explain.clash(path, pair) for pair in outcome.clashes]
        real = [misfit for misfit in outcome.misfits if not misfit.already]
        for misfit in real:
            number = next((n for n, hunk in enumerate(hunks, 1) if hunk is misfit.hunk), 1)
            failure = explain.misfit(path, document.texts, index, misfit, number)
            if (misfit.hunk.block, misfit.hunk.items[-1:]) in self.open_ends:
                failure = replace(failure, problem=PatchProblem.TRUNCATED)
            out.append(failure)
        return out

    def rewrite(self, path: str, lines: list[str], block: int) -> None:
        """The whole text of a file replaced; lines that stay keep their bytes."""
        lost = next((line for line in lines if repair.stands_for_code(line)), None)
        old = doc(decode(self.files.get(path, b"")))
        if lost is not None and lost not in old.texts:
            text = f'{path}: the line "{lost.strip()}" stands for code that was left out; it would be lost.'
            self.fail(PatchProblem.ELIDED_CONTENT, text, path)
            return
        self.put(path, encode(join(rewritten(old, lines))))

    def create(self, path: str, change: FileChange) -> None:
        if change.copy:
            return
        if change.whole is not None:
            lines = list(change.whole)
        else:
            items = [item for hunk in change.hunks for item in hunk.items[: len(hunk.items) - hunk.soft_tail]]
            if any(item.sign == "-" for item in items):
                self.fail(
                    PatchProblem.CONTEXT_NOT_FOUND,
                    f"{path} is created, yet the diff removes lines from it.",
                    path,
                )
                return
            lines = [item.text if item.sign == "+" else item.raw for item in items]
        if any(repair.stands_for_code(line) for line in lines):
            self.fail(PatchProblem.ELIDED_CONTENT, f"{path}: a new file must be written out in full.", path)
            return
        open_end = (
            bool(change.hunks) and bool(change.hunks[-1].items) and change.hunks[-1].items[-1].no_newline
        )
        self.put(path, encode("\n".join(lines) + ("" if open_end or not lines else "\n")))

    def is_deletion(self, change: FileChange) -> bool:
        return change.deletes or change.new == names.NULL

    def delete(self, path: str, change: FileChange) -> None:
        """The file goes only if the diff shows what it loses, or says nothing but "deleted"."""
        hunks = self.prepared(path, change)
        if hunks:
            document = doc(decode(self.files[path]))
            outcome = merge(document, hunks)
            if outcome.doc is None:
                self.failures += self.explained(path, document, hunks, outcome)
                return
            if any(text.strip() for text in outcome.doc.texts):
                text = f"{path} is deleted, but the diff removes only a part of its lines."
                self.fail(PatchProblem.CONTEXT_NOT_FOUND, text, path)
                return
        self.put(path, None)

    def move(self, path: str, change: FileChange) -> None:
        """A rename or a copy, with or without hunks."""
        source, goal = change.rename or change.copy or ("", "")
        new = names.spellings(goal)[0] if goal else path
        if self.new_path(new, change) is None:
            return
        text = self.files[path]
        hunks = self.tasks.pop(path, [])
        if hunks:
            document = doc(decode(text))
            outcome = merge(document, hunks)
            if outcome.doc is None:
                self.failures += self.explained(path, document, hunks, outcome)
                return
            text = encode(join(outcome.doc))
        if change.rename:
            self.put(path, None)
        self.put(new, text)

    def put(self, path: str, content: bytes | None) -> None:
        if path in self.result and self.result[path] != content:
            self.fail(PatchProblem.CONFLICTING_DIFFS, f"The reply gives {path} two different texts.", path)
            return
        if content is not None and b"\0" in content:
            self.fail(PatchProblem.BINARY_PATCH, f"{path} would hold a NUL byte.", path)
            return
        self.result[path] = content

    def finish(self) -> Patch:
        changed = {path: new for path, new in self.result.items() if new != self.files.get(path)}
        if not changed:
            if self.applied_before or self.result:
                text = "The reply changes nothing: the file holds all of its result already, or - and + are swapped."
                self.fail(PatchProblem.REVERSED_OR_ALREADY_APPLIED, text)
            else:
                self.fail(PatchProblem.NO_DIFF, "The diff holds no added and no removed line.")
            self.stop_if_failed()
        diff, added, removed = canon.unified(self.files, changed)
        return Patch(changed, diff, added, removed, self.found.prose, tuple(self.repairs))


def _needs_end(block: Block) -> bool:
    return any(line.startswith("*** Begin Patch") for line in block.lines)


def _is_lost(index: Index, item: Item) -> bool:
    """Does a changed line stand for code that the reply left out?"""
    if item.sign == " " or not (
        repair.stands_for_code(item.text) if item.sign == "+" else repair.is_elision(item.text)
    ):
        return False
    return not index.has(item.text, repair.SPACED)


def _with_signs(hunk: Hunk) -> Hunk:
    """The hunk without a gutter that hides the signs."""
    plain = None if hunk.changes() else repair.without_gutter(hunk)
    return plain if plain and plain.changes() else hunk


def _says_something(change: FileChange) -> bool:
    """Is there anything to do, or to refuse?"""
    edits = any(hunk.changes() for hunk in change.hunks)
    return bool(
        edits
        or change.rename
        or change.copy
        or change.deletes
        or change.binary
        or change.modes
        or change.creates
    )


def split_elisions(index: Index, hunk: Hunk) -> list[Hunk]:
    """The hunk cut at kept lines that are only dots, where the file has no such line."""
    cuts = [
        n
        for n, item in enumerate(hunk.items)
        if item.sign == " " and repair.is_elision(item.text) and not index.has(item.text, repair.SPACED)
    ]
    if not cuts:
        return [hunk]
    parts: list[Hunk] = []
    edges = [-1, *cuts, len(hunk.items)]
    for low, high in zip(edges, edges[1:], strict=False):
        items = hunk.items[low + 1 : high]
        if items:
            first = low < 0
            part = replace(
                hunk, items=items, old_start=hunk.old_start if first else None, old_count=None, new_start=None
            )
            parts.append(
                replace(part, soft_tail=hunk.soft_tail if high == len(hunk.items) else 0, new_count=None)
            )
    return parts


def rewritten(old: Doc, lines: Sequence[str]) -> Doc:
    """`lines` as the new text of `old`: equal lines keep their trailing blanks and line ends."""
    gone, born = canon.alignment(
        [encode(text.rstrip()) + b"\n" for text in old.texts],
        [encode(line.rstrip()) + b"\n" for line in lines],
    )
    texts: list[str] = []
    ends: list[str] = []
    at = 0
    for n, line in enumerate(lines):
        while not born[n] and gone[at]:
            at += 1
        texts.append(line if born[n] else old.texts[at])
        ends.append(old.end if born[n] else old.ends[at] or old.end)
        at += not born[n]
    if ends and old.ends and not old.ends[-1]:
        ends[-1] = ""
    return Doc(tuple(texts), tuple(ends))
