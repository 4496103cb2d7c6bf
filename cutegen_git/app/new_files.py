"""The files of a new task repository, from the template."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from cutegen_git.core.taskfile import render
from cutegen_git.core.taskfile_signature import format_item
from cutegen_git.hands.data import root
from cutegen_git.words.errors import CutegenError
from cutegen_git.words.task import Role, Task, TensorSpec, Workload


def files(task: Task, reference_py: bytes, *, origin: str, notes: Sequence[str]) -> dict[str, bytes]:
    """Path -> content. There is no kernel among them: the first attempt makes it."""
    found = {path: data for path, data in _template(root("kernel_repo_template")).items()}
    if "README.md" not in found:
        raise CutegenError(
            "this installation's kernel_repo_template lacks README.md; install cutegen-git again"
        )
    found["README.md"] = _readme(found["README.md"].decode(), task, origin, notes).encode()
    found["task.toml"] = render(task, notes=notes).encode()
    found["reference.py"] = reference_py
    return found


def _template(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().replace(b"\r\n", b"\n")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


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
