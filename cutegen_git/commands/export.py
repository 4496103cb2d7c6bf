"""`export`: a verified kernel for use outside its repository."""

from __future__ import annotations

import os
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from cutegen_git.app import export as app_export
from cutegen_git.app.export_facts import gather
from cutegen_git.app.project import Project
from cutegen_git.hands.console import Console
from cutegen_git.words.errors import TaskError


class Form(str, Enum):
    KERNELBENCH = "kernelbench"
    TORCH_OP = "torch-op"


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("export")(export)


def export(
    form: Annotated[
        Form, typer.Option("--as", help="One file with ModelNew, or an installable package with an operator.")
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="OUT", help="The file (`-` is stdout), or a new folder.")
    ],
    revision: Annotated[
        str, typer.Argument(metavar="[REV]", help="Attempt (12), `best`, or any git revision.")
    ] = "best",
    folder: Annotated[Path, typer.Option("-C", metavar="DIR", help="The task repository.")] = Path(),
    unverified: Annotated[
        bool, typer.Option("--unverified", help="Also a kernel without a passing verdict that counts here.")
    ] = False,
) -> None:
    """The kernel as a file that KernelBench evaluates, or as a package with a torch operator.

    Both call the kernel only for what was verified (dtypes, shapes, strides, alignment, compile-time sizes) and run
    the torch reference otherwise. Both ship the source and build it with nvcc on the GPU machine.

        cutegen-git export --as kernelbench -o model_new.py

        cutegen-git export best --as torch-op -o cutegen_gemm
    """
    console = Console()
    project = Project.open(folder)
    exported = gather(project, revision, unverified=unverified)
    if form is Form.KERNELBENCH:
        _write_file(console, output, app_export.kernelbench(exported).encode())
    else:
        _write_folder(output, app_export.torch_op(exported))
        name = app_export.package_name(exported.task)
        console.say(f"wrote {output}; `pip install {output}`, then `python -m {name} bench` on a GPU machine")
    console.say(exported.about[-1] if unverified else "\n".join(exported.about[:3]))


def _write_file(console: Console, path: Path, data: bytes) -> None:
    """Whole or not at all."""
    if str(path) == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    half = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        half.write_bytes(data)
        half.replace(path)
    except OSError as error:
        half.unlink(missing_ok=True)
        raise TaskError(
            f"cannot write {path}: {error.strerror or error}; name another file with -o"
        ) from None
    console.say(f"wrote {path} ({len(data) / 1024:.0f} KiB)")


def _write_folder(folder: Path, files: dict[str, bytes]) -> None:
    """A new folder, or an empty one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise TaskError(f"{folder} is not empty; name a new folder with -o")
        for name, data in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
    except OSError as error:
        raise TaskError(
            f"cannot write {folder}: {error.strerror or error}; name another folder with -o"
        ) from None
