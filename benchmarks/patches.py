"""Our patch engine against ready-made tools, on the replies of tests/corpus/G1. Writes benchmarks/patches.md.

    python -m venv /tmp/others && /tmp/others/bin/pip install whatthepatch unidiff aider-chat
    python benchmarks/patches.py /tmp/others/bin/python

Every run starts in a fresh copy of the case's tree. The other tools know nothing of allowed files or finish
reasons; cases that need such a policy are counted apart.
"""

from __future__ import annotations

import datetime
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import tomllib

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT / "tests" / "corpus" / "G1"
ENV = {
    **os.environ,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "LC_ALL": "C.UTF-8",
    "PYTHONPATH": str(ROOT),
}
POLICY = {"outside-allowed-files", "path-traversal", "absolute-path", "symlink", "binary-patch", "truncated"}

TOOLS: dict[str, list[str]] = {
    "ours": [sys.executable, __file__, "--ours"],
    "git apply": ["git", "apply"],
    "git apply --recount": ["git", "apply", "--recount"],
    "patch -p1 -F3": ["patch", "-p1", "-F3", "--batch", "--no-backup-if-mismatch", "-i"],
    "unidiff + strict applier": ["OTHERS", __file__, "--unidiff"],
    "whatthepatch": ["OTHERS", __file__, "--whatthepatch"],
    "aider udiff": ["OTHERS", __file__, "--aider"],
}


# One tool on one reply; run in the folder to change. Exit code 0: the tool says that it did it.


def text_of(path: Path) -> str:
    return path.read_bytes().decode()


def ours(reply: Path) -> int:
    from cutegen_git.commands.apply_reply import read_tree, write
    from cutegen_git.core.patch import apply_reply
    from cutegen_git.words.errors import PatchError

    facts = tomllib.loads((reply.parent / "case.toml").read_text())
    files, links = read_tree(Path())
    try:
        patch = apply_reply(
            reply.read_bytes(),
            files,
            allowed=facts["allowed_files"],
            finish_reason=facts["finish_reason"],
            links=links,
        )
    except PatchError:
        return 1
    write(Path(), patch)
    return 0


def put(new: dict[str, str | None]) -> int:
    """The small applier behind the tools that only parse: below the folder, into folders that exist."""
    if not new or any(
        Path(name).is_absolute() or ".." in Path(name).parts or not Path(name).parent.is_dir() for name in new
    ):
        return 1
    for name, text in new.items():
        if text is None:
            Path(name).unlink()
        else:
            Path(name).write_bytes(text.encode())
    return 0


def plain(name: str) -> str:
    return re.sub(r"^[ab]/", "", name)


def strict_unidiff(diff: Path) -> int:
    """unidiff only parses: exact lines at the stated place, hunks in order, all files or none."""
    from unidiff import PatchSet

    new: dict[str, str | None] = {}
    for file in PatchSet(text_of(diff)):
        source, goal = plain(file.source_file), plain(file.target_file)
        old = [] if file.is_added_file else text_of(Path(source)).splitlines(keepends=True)
        if not len(file) and not file.is_rename:
            return 1
        out: list[str] = []
        at = 0
        for hunk in file:
            start = hunk.source_start - 1 if hunk.source_length else hunk.source_start
            before, after = hunk_sides(hunk)
            if start < at or old[start : start + len(before)] != before:
                return 1
            out += old[at:start] + after
            at = start + len(before)
        if file.is_removed_file or (file.is_rename and source != goal):
            new[source] = None
        if not file.is_removed_file:
            new[goal] = "".join(out + old[at:])
    return put(new)


def hunk_sides(hunk: Any) -> tuple[list[str], list[str]]:
    """The lines before and after; a marker takes the newline of the line above it."""
    before: list[str] = []
    after: list[str] = []
    last: list[list[str]] = []
    for line in hunk:
        if line.line_type == "\\":
            for side in last:
                side[-1] = side[-1].rstrip("\n")
            continue
        last = [before] * (not line.is_added) + [after] * (not line.is_removed)
        for side in last:
            side.append(line.value)
    return before, after


def what_the_patch(diff: Path) -> int:
    import whatthepatch  # type: ignore[import-not-found]

    new: dict[str, str | None] = {}
    for one in whatthepatch.parse_patch(text_of(diff)):
        if one.header is None or one.changes is None:
            continue
        source, goal = plain(one.header.old_path), plain(one.header.new_path)
        text = text_of(Path(source)) if Path(source).is_file() else ""
        lines = whatthepatch.apply_diff(one, text)
        if source not in (goal, "/dev/null"):
            new[source] = None
        if goal != "/dev/null":
            new[goal] = "\n".join(lines) + ("\n" if text.endswith("\n") or not text else "")
    return put(new)


def aider(reply: Path) -> int:
    """Its coder on the whole reply, as it stands: no chat loop around it."""
    from aider.coders.udiff_coder import UnifiedDiffCoder  # type: ignore[import-not-found]
    from aider.io import InputOutput  # type: ignore[import-not-found]

    coder = UnifiedDiffCoder.__new__(UnifiedDiffCoder)
    coder.root, coder.abs_root_path_cache = str(Path().resolve()), {}
    coder.io = InputOutput(pretty=False, yes=True)
    coder.partial_response_content = reply.read_text(errors="replace")
    edits = coder.get_edits()
    coder.apply_edits(edits)
    return 0 if edits else 1


# The comparison


def extracted(reply: str) -> str:
    """The usual way: the first diff fence, else the first fence that holds a "+++ " line, else all of it."""
    fences = re.findall(r"^```(\w*)[^\n]*\n(.*?)^```\s*$", reply, re.DOTALL | re.MULTILINE)
    labelled = [body for label, body in fences if label in ("diff", "patch")]
    likely = [body for _, body in fences if re.search(r"^\+\+\+ ", body, re.MULTILINE)]
    return next(iter([*labelled, *likely, reply]))


def tree(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


def mark(case: Path, tool: list[str], others: str) -> str:
    """right, refused, wrong or dirty."""
    facts = tomllib.loads((case / "case.toml").read_text())
    with tempfile.TemporaryDirectory() as place:
        work = Path(place) / "a" / "b" / "task"
        shutil.copytree(case / "before", work)
        given = case / "reply.txt"
        if tool[-1] not in ("--ours", "--aider"):
            given = Path(place) / "given.diff"
            raw = (case / "reply.txt").read_bytes().decode("utf-8", "surrogateescape")
            given.write_bytes(extracted(raw).encode("utf-8", "surrogateescape"))
        outside = tree(Path(place))
        argv = [others if word == "OTHERS" else word for word in tool]
        done = subprocess.run(
            [*argv, str(given)], cwd=work, env=ENV, capture_output=True, timeout=120, check=False
        )
        before, after = tree(case / "before"), tree(work)
        strayed = {k for k in tree(Path(place)) if not k.startswith("a/b/task/")} - set(outside)
    if strayed:
        return "dirty"
    if done.returncode:
        if after != before:
            return "dirty"
        return "right" if facts["outcome"] == "error" else "refused"
    if facts["outcome"] == "error":
        return "wrong"
    return "right" if after in [tree(path) for path in case.glob("expected*") if path.is_dir()] else "wrong"


def versions(others: str) -> str:
    code = "from importlib.metadata import version as v; print('unidiff', v('unidiff'), '· whatthepatch', v('whatthepatch'), '· aider-chat', v('aider-chat'))"
    packages = subprocess.run([others, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    first = [
        subprocess.run([name, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]
        for name in ("git", "patch")
    ]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    return (
        f"cutegen-git at {commit} · {first[0]} · {first[1]} · {packages} · Python {platform.python_version()}"
    )


def timing() -> str:
    """How long the engine takes for each reply of the corpus, in this process."""
    sys.path.insert(0, str(ROOT))
    from cutegen_git.core.patch import apply_reply
    from cutegen_git.words.errors import PatchError

    times: list[float] = []
    for case in sorted(path for path in CORPUS.iterdir() if path.is_dir()):
        facts, files, reply = (
            tomllib.loads((case / "case.toml").read_text()),
            tree(case / "before"),
            (case / "reply.txt").read_bytes(),
        )
        best = float("inf")
        for _ in range(5):
            start = time.perf_counter()
            try:
                apply_reply(
                    reply, files, allowed=facts["allowed_files"], finish_reason=facts["finish_reason"]
                )
            except PatchError:
                pass
            best = min(best, time.perf_counter() - start)
        times.append(best * 1e3)
    times.sort()
    return f"median {times[len(times) // 2]:.1f} ms, slowest {times[-1]:.1f} ms (best of 5 in one process)"


def report(others: str) -> str:
    cases = sorted(path for path in CORPUS.iterdir() if path.is_dir())
    facts = {case: tomllib.loads((case / "case.toml").read_text()) for case in cases}
    marks = {case: {name: mark(case, tool, others) for name, tool in TOOLS.items()} for case in cases}
    free = [case for case in cases if facts[case].get("error_class") not in POLICY]
    lines = [
        "# Replies into patches: ours and ready-made tools",
        "",
        f"Made by `python benchmarks/patches.py PYTHON` on {datetime.date.today().isoformat()}; PYTHON is an environment with the other",
        "tools. Do not edit.",
        "",
        f"Versions: {versions(others)}.",
        "",
        f"{len(cases)} replies of `tests/corpus/G1`. *right*: the expected tree, or refused where the reply must be refused (the class of the",
        "refusal is not asked). *refused*: could have been applied; the tree is unchanged. *wrong*: success is reported and the tree is not",
        "the expected one, or something was applied that had to be refused. *dirty*: failure is reported and files were changed, or a",
        "file was written outside. The tools get the diff cut out of the reply the usual way (first diff fence, else first fence with",
        "`+++ `, else all); ours and aider get the whole reply. aider's coder runs alone, without the chat that would send errors back.",
        f"The last column leaves out the {len(cases) - len(free)} cases about paths, allowed files, binaries and cut replies, of which the other tools know nothing.",
        "",
        "| tool | right | refused | wrong | dirty | right without policy cases |",
        "|---|---|---|---|---|---|",
    ]
    for name in TOOLS:
        count = Counter(marks[case][name] for case in cases)
        fair = sum(marks[case][name] == "right" for case in free)
        lines.append(
            f"| {name} | {count['right']} / {len(cases)} | {count['refused']} | {count['wrong']} | {count['dirty']} | {fair} / {len(free)} |"
        )
    lines += [
        "",
        f"Time of our engine on these replies: {timing()}.",
        "",
        "| case | wanted | " + " | ".join(TOOLS) + " |",
        "|---" * (len(TOOLS) + 2) + "|",
    ]
    for case in cases:
        wanted = facts[case].get("error_class", "apply")
        row = " | ".join(found if found == "right" else f"**{found}**" for found in marks[case].values())
        lines.append(f"| {case.name} | {wanted} | {row} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    worker = {"--ours": ours, "--unidiff": strict_unidiff, "--whatthepatch": what_the_patch, "--aider": aider}
    if sys.argv[1] in worker:
        sys.exit(worker[sys.argv[1]](Path(sys.argv[2])))
    Path(__file__).with_suffix(".md").write_text(report(sys.argv[1]))
