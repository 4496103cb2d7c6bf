"""docs/review.md: every command in it is run on the shipped example, and prints what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from .scene import REAL

PAGE = Path(__file__).parents[2] / "docs" / "review.md"


def commands() -> list[tuple[str, list[str]]]:
    """Command -> the lines that the page shows below it."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"^```console\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def program(steps: list[tuple[str, list[str]]]) -> str:
    return "set -e\n" + "".join(
        f"printf '\\n### {n}\\n'\n{command}\n" for n, (command, _) in enumerate(steps)
    )


def run(folder: Path, text: str) -> list[str]:
    """Output of each command."""
    path = os.pathsep.join(
        [str(Path(sys.executable).parent), str(Path(str(REAL)).parent), os.environ["PATH"]]
    )
    env = {"PATH": path, "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["bash", "-c", text], cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    return re.split(r"\n### \d+\n", done.stdout)[1:]


def test_every_command_prints_what_the_page_says(tmp_path: Path) -> None:
    steps = commands()
    assert len(steps) > 25
    outputs = run(tmp_path, program(steps))
    assert len(outputs) == len(steps)
    for (command, shown), output in zip(steps, outputs, strict=True):
        printed = [line.rstrip() for line in output.splitlines()]
        at = 0
        for line in shown:
            pattern = re.compile(".*".join(map(re.escape, line.rstrip().split("…"))))
            at = next((n for n in range(at, len(printed)) if pattern.fullmatch(printed[n])), -1) + 1
            assert at or line == "…", f"$ {command}\n{line!r} is not in\n{output}"
        if "…" not in "".join(shown) and not command.startswith(("git cat-file", "git bisect")):
            assert len(printed) == len(shown), f"$ {command}\nprints\n{output}"
