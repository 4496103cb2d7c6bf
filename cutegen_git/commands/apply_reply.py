"""`apply-reply`: a model's reply applied to a folder, as `refine` would do it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cutegen_git.core.patch import Patch, apply_reply
from cutegen_git.words.errors import PatchError

DEFAULT_ALLOW = "kernel/*.cu,kernel/*.cuh"
_MAX_BYTES = 8 * 1024 * 1024  # larger files cannot be the target of a patch


def register(app: typer.Typer) -> None:
    """Adds the command to the plumbing panel."""
    app.command("apply-reply", rich_help_panel="Plumbing")(command)


def command(
    reply: Annotated[str, typer.Argument(metavar="REPLY", help="File with the raw reply; - reads stdin.")],
    directory: Annotated[Path, typer.Option("-C", metavar="DIR", help="Folder to change.")] = Path(),
    allow: Annotated[
        str, typer.Option("--allow", metavar="GLOBS", help="Files that may change, comma separated.")
    ] = DEFAULT_ALLOW,
    finish_reason: Annotated[
        str | None,
        typer.Option("--finish-reason", metavar="R", help="What the provider said, such as stop or length."),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; print the diff.")] = False,
) -> None:
    """Apply a model's reply to the kernel files of a folder: wholly, or not at all.

    A refusal goes to stderr, and its class is the last line of stdout (exit code 1).
    """
    raw = read_input(reply, "REPLY")
    if not directory.is_dir():
        raise typer.BadParameter(f"{directory} is no folder", param_hint="-C")
    globs = [glob.strip() for glob in allow.split(",") if glob.strip()]
    files, links = read_tree(directory)
    try:
        patch = apply_reply(raw, files, allowed=globs, finish_reason=finish_reason, links=links)
    except PatchError as error:
        typer.echo(str(error).encode("utf-8", "replace").decode(), err=True)
        typer.echo(error.problem.value)
        raise typer.Exit(error.exit_code) from None
    if check:
        sys.stdout.buffer.write(patch.diff.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
    else:
        write(directory, patch)
        typer.echo(
            f"{len(patch.files)} file(s) changed, {patch.added} line(s) added, {patch.removed} removed"
        )


def read_input(name: str, hint: str) -> bytes:
    """The bytes of a file, or of stdin for "-"; a usage error where there is none."""
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"{name}: {error.strerror}", param_hint=hint) from None


def read_tree(directory: Path) -> tuple[dict[str, bytes], set[str]]:
    """The regular files below a folder (without .git), and the paths that are symbolic links."""
    files: dict[str, bytes] = {}
    links: set[str] = set()
    todo = [directory]
    while todo:
        for entry in sorted(todo.pop().iterdir()):
            name = entry.relative_to(directory).as_posix()
            if entry.is_symlink():
                links.add(name)
            elif entry.is_dir():
                if entry.name != ".git":
                    todo.append(entry)
            elif entry.is_file() and entry.stat().st_size <= _MAX_BYTES:
                files[name] = entry.read_bytes()
    return files, links


def write(directory: Path, patch: Patch) -> None:
    """Writes the files of a patch; new texts are all on disk before the first old one is replaced."""
    root = directory.resolve()
    staged: list[tuple[Path, Path]] = []
    for name, content in patch.files.items():
        target = root / name
        if content is None:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_symlink() or target.parent.resolve() != target.parent:
            raise typer.BadParameter(f"{name} leads out of {directory} through a symbolic link")
        new = target.with_name(f".{target.name}.new")
        new.write_bytes(content)
        staged.append((new, target))
    for new, target in staged:
        if target.exists():
            new.chmod(target.stat().st_mode & 0o777)
        new.replace(target)
    for name, content in patch.files.items():
        if content is None:
            (root / name).unlink(missing_ok=True)
