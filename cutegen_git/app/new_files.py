"""The files of a new task repository, from the template.

README.md is a Jinja template. Workflows are full of `${{ }}`, so in them two words are replaced: `@tool@` by what pip
is to install, `@device@` by the home device.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from jinja2 import StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from cutegen_git import __version__
from cutegen_git.core.taskfile import render
from cutegen_git.core.taskfile_signature import format_item
from cutegen_git.hands.data import root
from cutegen_git.hands.repo.remote import without_login
from cutegen_git.words.errors import CutegenError
from cutegen_git.words.task import Role, Task, TensorSpec, Workload

WORKFLOWS = ".github/workflows/"
PACKAGE = "cutegen-git"


def files(task: Task, reference_py: bytes, *, origin: str, notes: Sequence[str]) -> dict[str, bytes]:
    """Path -> content. There is no kernel among them: the first attempt makes it."""
    found = _template(root("kernel_repo_template"))
    if "README.md" not in found:
        raise CutegenError(
            "this installation's kernel_repo_template lacks README.md; install cutegen-git again"
        )
    found["README.md"] = _readme(found["README.md"].decode(), task, origin, notes).encode()
    for path in found:
        if path.startswith(WORKFLOWS):
            found[path] = _workflow(found[path].decode(), tool=pinned(), device=task.device).encode()
    found["task.toml"] = render(task, notes=notes).encode()
    found["reference.py"] = reference_py
    return found


def _template(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().replace(b"\r\n", b"\n")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def pinned() -> str:
    """What pip has to install to get this very tool: a commit where it came from an https git URL, else the version.

    A folder on this machine means nothing to another one, so an editable install is named by its version.
    """
    try:
        text = metadata.distribution(PACKAGE).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        text = None  # run from a source tree
    came = json.loads(text or "{}")
    commit, url = came.get("vcs_info", {}).get("commit_id", ""), came.get("url", "")
    if commit and url.startswith("https://"):
        return f"{PACKAGE}[judge,cuda] @ git+{without_login(url)}@{commit}"
    return f"{PACKAGE}[judge,cuda]=={__version__}"


def _workflow(text: str, *, tool: str, device: str) -> str:
    """The workflow of this task."""
    return text.replace("@tool@", tool).replace("@device@", device)


def _readme(text: str, task: Task, origin: str, notes: Sequence[str]) -> str:
    world = SandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
    return world.from_string(text).render(
        task=task,
        origin=origin,
        notes=[note.replace("|", "\\|") for note in notes],
        inputs=[
            {"text": format_item(item), "is_weight": isinstance(item, TensorSpec) and item.constant}
            for item in task.signature.inputs
        ],
        outputs=[format_item(item) for item in task.signature.outputs],
        rank=[sizes(workload) for workload in task.of_role(Role.RANK)],
        check=[sizes(workload) for workload in task.of_role(Role.CHECK)],
    )


def sizes(workload: Workload) -> str:
    """ "M = 33, N = 65"; "the one fixed shape" for a task without axes."""
    return ", ".join(f"{name} = {size}" for name, size in workload.axes.items()) or "the one fixed shape"
