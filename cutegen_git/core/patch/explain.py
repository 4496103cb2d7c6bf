"""Refusals written for the model: what did not match, beside what the file holds, and what to send instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from cutegen_git.words.errors import PatchError, PatchProblem

from .place import Misfit
from .records import Edit, Failure, Hunk
from .repair import LEVELS, SPACED

_SHOWN = 14  # lines of code quoted for one hunk
HUNKS = 6  # hunks explained; the rest is counted

ADVICE = {
    PatchProblem.NO_DIFF: "Send one unified diff in a ```diff fence, with --- a/… and +++ b/… lines and @@ hunks.",
    PatchProblem.TRUNCATED: "Nothing was applied. Send the whole diff again, shorter: only the hunks that change.",
    PatchProblem.CONTEXT_NOT_FOUND: "Copy kept and removed lines exactly from the file as it is now, and send all hunks again.",
    PatchProblem.AMBIGUOUS_CONTEXT: "Add kept lines until the hunk fits one place only, or give the exact line number in @@, "
    "and send all hunks again.",
    PatchProblem.NO_CONTEXT: "Give two or three kept lines around the added ones.",
    PatchProblem.ELIDED_CONTENT: "Write out every line; keep what stays by not touching it.",
    PatchProblem.REVERSED_OR_ALREADY_APPLIED: "Send only what is still to be changed, with - for lines that are in the file now.",
    PatchProblem.CONFLICTING_DIFFS: "Send one diff with the version that you want.",
    PatchProblem.OVERLAPPING_HUNKS: "Make one hunk of the two.",
    PatchProblem.NO_FILE_NAME: "Start the diff with --- a/<file> and +++ b/<file>.",
}


def error(failures: Sequence[Failure]) -> PatchError:
    """The one exception for all that is wrong with a reply; the class is that of the first failure."""
    first = failures[0]
    many = len(failures)
    lines = [f"The reply was not applied ({first.problem.value}); no file was changed."]
    for failure in failures[:HUNKS]:
        name = f"[{failure.problem.value}] " if many > 1 else ""
        lines += ["", name + failure.text]
    if many > HUNKS:
        lines += ["", f"… and {many - HUNKS} more."]
    advice = [ADVICE[problem] for problem in dict.fromkeys(f.problem for f in failures) if problem in ADVICE]
    if advice:
        lines += ["", " ".join(advice)]
    return PatchError(first.problem, "\n".join(lines))


def title(path: str, hunk: Hunk, number: int) -> str:
    """How a hunk is called in messages."""
    header = f' "{_cut(hunk.header, 70)}"' if hunk.header else ""
    return f"{path}, hunk {number}{header}"


def misfit(path: str, lines: Sequence[str], found: Misfit, number: int, *, brief: bool = False) -> Failure:
    """A hunk without a place; `brief` leaves out the search for the nearest one."""
    name = title(path, found.hunk, number)
    if found.problem is PatchProblem.AMBIGUOUS_CONTEXT:
        text = f"{name}: {_ambiguous(lines, found)}"
    elif found.problem is PatchProblem.NO_CONTEXT:
        text = f"{name} has only added lines and nothing says where they go."
    else:
        text = f"{name}: " + ("does not fit." if brief else _nearest(lines, found.hunk))
    return Failure(found.problem, path, text, found.hunk)


def _ambiguous(lines: Sequence[str], found: Misfit) -> str:
    stated = found.hunk.old_start
    where = [f"  line {n + 1}{_section(lines, n)}" for n in found.lines[:8]]
    more = f"\n  and {len(found.lines) - 8} more" if len(found.lines) > 8 else ""
    said = f" The header says line {stated}, where it does not fit." if stated else ""
    return f"these lines fit {len(found.lines)} places.{said}\n" + "\n".join(where) + more


def _section(lines: Sequence[str], at: int) -> str:
    for n in range(at, -1, -1):
        if lines[n][:1].isalpha() or lines[n][:1] == "_":
            return f", in {_cut(lines[n].strip(), 70)}"
    return ""


def _nearest(lines: Sequence[str], hunk: Hunk) -> str:
    olds = [item.text for item in hunk.olds()]
    start = nearest(lines, hunk)
    if start is None:
        quoted = [f"  {text}" for text in olds[:_SHOWN] if text.strip()]
        return "none of these lines is in the file:\n" + "\n".join(quoted)
    there = range(max(0, start), min(len(lines), start + len(olds)))
    shown = _differences(olds, [lines[n] for n in there])
    head = f"these lines are not in the file as written. Nearest place: line {there.start + 1}.\n"
    return head + "  - = your kept or removed line, + = the file's line\n" + "\n".join(shown)


def nearest(lines: Sequence[str], hunk: Hunk) -> int | None:
    """The start that most of a hunk's old lines agree on, or None. Rare lines weigh more."""
    key = LEVELS[SPACED]
    where: dict[str, list[int]] = {}
    for n, line in enumerate(lines):
        where.setdefault(key(line), []).append(n)
    votes: Counter[int] = Counter()
    for k, item in enumerate(hunk.olds()[:200]):
        places = where.get(key(item.text), []) if item.text.strip() else []
        for n in places if len(places) <= 20 else []:
            votes[n - k] += 60 // len(places)
    if not votes:
        return None
    stated = (hunk.old_start or 1) - 1
    return max(votes, key=lambda start: (votes[start], -abs(start - stated)))


def _differences(olds: Sequence[str], found: Sequence[str]) -> list[str]:
    """The lines that differ, with one equal line around them."""
    out: list[str] = []
    matcher = SequenceMatcher(None, [o.rstrip() for o in olds], [f.rstrip() for f in found], autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            kept = list(olds[i1:i2])
            out += [f"    {line}" for line in kept[:1]] + (["    …"] if len(kept) > 2 else [])
            out += [f"    {line}" for line in kept[1:][-1:]]
        else:
            out += [f"  - {line}" for line in olds[i1:i2]] + [f"  + {line}" for line in found[j1:j2]]
    return [_cut(line, 160) for line in out[: 2 * _SHOWN]] + (["    …"] if len(out) > 2 * _SHOWN else [])


def clash(path: str, pair: tuple[Edit, Edit]) -> Failure:
    """Two hunks that want different things at one place."""
    first, second = pair
    apart = first.hunk.block != second.hunk.block
    problem = PatchProblem.CONFLICTING_DIFFS if apart else PatchProblem.OVERLAPPING_HUNKS
    who = "Two diffs of the reply" if apart else "Two hunks"
    want = "\n".join(
        f"  {'delete' if not edit.lines else 'write'}: {_cut(' / '.join(line.strip() for line in edit.lines[:3]), 120)}"
        for edit in pair
    )
    return Failure(
        problem, path, f"{who} change {path} line {second.start + 1} in different ways:\n{want}", second.hunk
    )


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
