"""File names of a reply: what a header names, which file is meant, and what a reply may touch.

Refuses before anything is placed: absolute paths, "..", .git, links, and every file outside the allowed globs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase

from cutegen_git.words.errors import PatchProblem

from .records import Failure

NULL = "/dev/null"
_STAMP = re.compile(r"\s+(\(.*\)|\d{4}-\d\d-\d\d[ T].*|(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\s.*)$")
_ESCAPE = re.compile(r"\\([0-7]{3}|[abfnrtv\"\\])")
_CONTROL = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, '"': 34, "\\": 92}
_SAFE_NEW = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_PREFIXES = ("a/", "b/", "i/", "w/", "c/", "o/", "old/", "new/", "./")
_LONGEST = 500  # characters of a line that may still be, or hold, a file name
_NAME = re.compile(r"[\w.+~/\\:-]+\.[A-Za-z]\w*$")


def unquote(name: str) -> str:
    """A name in git's C quoting, unescaped."""

    def one(match: re.Match[str]) -> str:
        code = match.group(1)
        return chr(int(code, 8) if code[0].isdigit() else _CONTROL[code])

    raw = _ESCAPE.sub(one, name)
    try:
        return raw.encode("latin-1").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return raw


def header_name(text: str) -> str:
    """The name after "--- " or "+++ ": without time stamps, quotes, or the blanks that follow."""
    text = text.split("\t", 1)[0].strip()[:_LONGEST]
    if len(text) > 1 and text[0] == '"' and text[-1] == '"':
        return unquote(text[1:-1])
    text = _STAMP.sub("", text).strip().strip("`*'\"")
    return text.replace("&lt;", "<").replace("&gt;", ">")


def looks_like_name(text: str) -> bool:
    """Could this header text name a file, rather than be a line of code?"""
    name = header_name(text)
    return name == NULL or bool(_NAME.fullmatch(name)) or text.strip().startswith('"')


def lone_name(line: str) -> str:
    """The file name that a line of prose consists of, or ""."""
    if len(line) > _LONGEST:
        return ""
    text = re.sub(r"^(#+|[-*]|\d+\.|>|//+|/\*)\s+", "", line.strip())
    text = re.sub(r"\s*\*/$", "", text)
    text = re.sub(r"(?i)^\**(new |updated |full |complete )?(file( ?name)?|path)\**:\**\s*", "", text)
    text = text.strip().strip("*`'\"_[]()<>:").strip()
    return text if _NAME.fullmatch(text) else ""


def mentioned(line: str) -> list[str]:
    """File names in a line of prose."""
    return [word for word in re.findall(r"[\w./+-]+", line[:_LONGEST]) if _NAME.fullmatch(word.rstrip("."))]


def is_allowed(path: str, allowed: Sequence[str]) -> bool:
    """Does a glob of `allowed` match, one path segment at a time?"""
    parts = path.split("/")
    if any(part in ("", ".", "..") or part.lower().rstrip(". ") == ".git" for part in parts):
        return False
    return any(_glob_matches(parts, glob.split("/")) for glob in allowed)


def _glob_matches(parts: list[str], globs: list[str]) -> bool:
    if len(parts) != len(globs):
        return False
    return all(fnmatchcase(part, glob) for part, glob in zip(parts, globs, strict=True))


def unsafe(name: str) -> PatchProblem | None:
    """The class of a name that no repository file can have."""
    path = name.replace("\\", "/")
    if ".." in path.split("/"):
        return PatchProblem.PATH_TRAVERSAL
    for prefix in ("", *_PREFIXES):
        rest = path.removeprefix(prefix)
        if rest.startswith(("/", "~")) or re.match(r"[A-Za-z]:", rest):
            return PatchProblem.ABSOLUTE_PATH
    return None


def spellings(name: str) -> list[str]:
    """The paths that a header name may stand for, likeliest first."""
    path = re.sub(r"/+", "/", name.replace("\\", "/"))
    while path.startswith("./"):
        path = path[2:]
    out = []
    for prefix in _PREFIXES:
        if path.startswith(prefix):
            out.append(path.removeprefix(prefix))
    return [*dict.fromkeys([*out, path])]


def known(name: str, files: Collection[str], allowed: Sequence[str]) -> str | None:
    """The existing file that a header name means, or None.

    An invented folder is forgiven where one allowed file alone has that base name (case may differ).
    """
    for path in spellings(name):
        if path in files:
            return path
    editable = [path for path in files if is_allowed(path, allowed)]
    for path in spellings(name):
        folded = [one for one in editable if one.lower() == path.lower()]
        if len(folded) == 1:
            return folded[0]
    base = spellings(name)[-1].rsplit("/", 1)[-1].lower()
    same = [one for one in editable if one.rsplit("/", 1)[-1].lower() == base]
    return same[0] if len(same) == 1 else None


def refuse(name: str, path: str | None, allowed: Sequence[str], links: Collection[str]) -> Failure | None:
    """The failure for a header name that must not be followed; `path` is the file that it means, if any."""
    problem = unsafe(name)
    shown = spellings(name)[0] if problem is None else name
    if problem is PatchProblem.PATH_TRAVERSAL:
        return Failure(problem, name, f'The path {name!r} holds "..". Name files from the repository root.')
    if problem is PatchProblem.ABSOLUTE_PATH:
        return Failure(problem, name, f"The path {name!r} is absolute. Name files from the repository root.")
    target = path or shown
    parents = {"/".join(target.split("/")[:n]) for n in range(1, target.count("/") + 2)}
    if parents & set(links):
        return Failure(
            PatchProblem.SYMLINK, target, f"{target} is a symbolic link; a patch must not write there."
        )
    if not is_allowed(target, allowed):
        globs = ", ".join(allowed)
        text = (
            f"{target} must not be changed. A patch may touch only {globs}; leave every other file as it is."
        )
        return Failure(PatchProblem.OUTSIDE_ALLOWED_FILES, target, text)
    return None


def refuse_new(path: str, files: Collection[str]) -> Failure | None:
    """The failure for a path that cannot become a new file."""
    clash = next((one for one in files if one.lower() == path.lower()), None)
    if clash is not None:
        text = (
            f"{clash} exists already, but the diff creates it from /dev/null. "
            f"Send a diff against the existing text (--- a/{clash}, +++ b/{clash})."
        )
        return Failure(PatchProblem.TARGET_EXISTS, clash, text)
    if not all(_SAFE_NEW.fullmatch(part) for part in path.split("/")):
        text = f"{path!r} is not a good name for a new file: use letters, digits, and _ . + - only."
        return Failure(PatchProblem.OUTSIDE_ALLOWED_FILES, path, text)
    return None
