"""`new`: a task repository from a torch reference."""

from __future__ import annotations

import time
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from cutegen_git.app import new_example, new_folder
from cutegen_git.core.taskfile_signature import format_item
from cutegen_git.hands.console import Console
from cutegen_git.hands.data import root
from cutegen_git.words.errors import CutegenError, TaskError
from cutegen_git.words.task import Family, Role

if TYPE_CHECKING:
    from cutegen_git.app.new import Made


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("new")(new)


def new(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The repository to make.")],
    example: Annotated[
        str | None, typer.Option("--example", metavar="NAME", help="A task that comes along: gemm.")
    ] = None,
    from_kernelbench: Annotated[
        Path | None,
        typer.Option("--from-kernelbench", metavar="FILE", help="A KernelBench problem, unchanged."),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference", metavar="FILE", help="Your own: inputs() and reference(), see the manual."
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Name of the task.")] = None,
    family: Annotated[
        Family | None, typer.Option(help="Kind of workload; guessed from torch's operations.")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(metavar="DEVICE", help="Home device: its verdicts move main. [default: rtx4090]"),
    ] = None,
    runner: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Written into task.toml: whose verdicts count."),
    ] = None,
    rank: Annotated[
        list[str] | None, typer.Option(metavar="M=4096,N=4096", help="Sizes to time at. Repeatable.")
    ] = None,
    check: Annotated[
        list[str] | None, typer.Option(metavar="M=33,N=65", help="Sizes to check at. Repeatable.")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="MODEL", help="Written into task.toml.")] = None,
    force_fixed: Annotated[
        bool, typer.Option("--force-fixed", help="One fixed shape, even where sizes could change.")
    ] = False,
    fit: Annotated[
        bool, typer.Option("--fit", help="Make rank sizes smaller until they fit the home device.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Make a task repository: reference, sizes to check and to time, and how to judge.

    cutegen-git new g --example gemm

    cutegen-git new relu --from-kernelbench KernelBench/level1/19_ReLU.py
    """
    console = Console(quiet=quiet, as_json=as_json)
    changed = any((name, family, device, runner, rank, check, model, force_fixed, fit))
    if example and not (changed or from_kernelbench or reference) and _recorded(console, example, folder):
        return
    source, origin, plain = _source(example, from_kernelbench, reference, folder)
    app = _app()
    request = app.Request(
        folder=folder,
        source=source,
        origin=origin,
        name=name or app.name_from(plain),
        device=device or "rtx4090",
        runner=runner,
        family=family,
        ranks=[_axes("--rank", text) for text in rank or []],
        checks=[_axes("--check", text) for text in check or []],
        model=model,
        force_fixed=force_fixed,
        shrink=fit,
    )
    made = app.make(request, console.busy, at=int(time.time()))
    console.result(_text(made, guessed=family is None), _record(made))
    console.say(f"next: cutegen-git refine {folder}")


def _recorded(console: Console, example: str, folder: Path) -> bool:
    """True where the example has a recording, and the task repository is now at its start."""
    new_folder.refuse(folder)
    started = new_example.start(example, folder)
    if started is None:
        return False
    task = started.task
    facts = {
        "folder": str(folder),
        "task": task.name,
        "device": task.device,
        "recorded_attempts": started.attempts,
    }
    console.result(
        f"{folder}\ntask        {task.name}\nrecorded    {started.attempts} attempts, measured on {task.device}"
        f"\nto measure your own card instead: --device rtx4090",
        facts,
    )
    console.say(f"next: cutegen-git refine {folder}")
    return True


def _app() -> ModuleType:
    """The work behind the verb, imported late: it needs torch, and help and errors do not."""
    try:
        from cutegen_git.app import new as app
    except ImportError as error:
        if (error.name or "").split(".")[0] != "torch":
            raise
        raise CutegenError('new runs the reference in torch: pip install "cutegen-git[judge]"') from error
    return app


def _source(
    example: str | None, kernelbench: Path | None, reference: Path | None, folder: Path
) -> tuple[bytes, str, str]:
    """Bytes of the reference, where it is from for people, and the name to fall back on."""
    if sum(given is not None for given in (example, kernelbench, reference)) != 1:
        raise typer.BadParameter(
            "give exactly one of --example NAME, --from-kernelbench FILE, --reference FILE"
        )
    if example is not None:
        return _example(example), f"the example {example}", example
    path = kernelbench or reference
    assert path is not None
    try:
        source = path.read_bytes()
    except OSError as error:
        raise TaskError(f"{path} cannot be read: {error.strerror}") from error
    if kernelbench is not None:
        return source, f"the KernelBench file {path.name}", path.name
    return source, path.name, folder.name if path.stem == "reference" else path.name


def _example(name: str) -> bytes:
    base = root("examples")
    known = sorted(path.parent.name for path in base.glob("*/reference.py"))
    if name not in known:
        raise TaskError(f"there is no example {name!r}; known are {', '.join(known)}")
    return (base / name / "reference.py").read_bytes()


def _axes(flag: str, text: str) -> dict[str, int]:
    """The sizes in "M=4096,N=64"."""
    sizes: dict[str, int] = {}
    for part in text.split(","):
        axis, _, size = (word.strip() for word in part.partition("="))
        if not axis or not size.isdecimal() or int(size) < 1 or axis in sizes:
            raise typer.BadParameter(f"{flag} {text}: write sizes as M=4096,N=4096")
        sizes[axis] = int(size)
    return sizes


def _text(made: Made, *, guessed: bool) -> str:
    task = made.task
    rows = [("", str(made.folder)), ("task", task.name)]
    rows.append(("family", task.family.value + (" (guessed; --family overrides)" if guessed else "")))
    rows += [("input", format_item(item)) for item in task.signature.inputs]
    rows += [("output", format_item(item)) for item in task.signature.outputs]
    rows.append(("axes", ", ".join(task.signature.axes) or "none: one fixed shape"))
    for role, title in ((Role.RANK, "timed at"), (Role.CHECK, "checked at")):
        rows += [(title, workload.label()) for workload in task.of_role(role)]
    rows.append(("device", f"{task.device} ({task.arch})"))
    rows += [("note", note) for note in made.notes]
    lines, before = [], ""
    for title, value in rows:
        lines.append(f"{title if title != before else '':<11} {value}" if title else value)
        before = title
    return "\n".join(lines)


def _record(made: Made) -> dict[str, object]:
    task = made.task
    return {
        "path": str(made.folder.absolute()),
        "name": task.name,
        "family": task.family.value,
        "form": made.form,
        "device": task.device,
        "axes": list(task.signature.axes),
        "inputs": [format_item(item) for item in task.signature.inputs],
        "constants": [spec.name for spec in task.signature.tensors() if spec.constant],
        "outputs": [format_item(item) for item in task.signature.outputs],
        "rank": [dict(workload.axes) for workload in task.of_role(Role.RANK)],
        "check": [dict(workload.axes) for workload in task.of_role(Role.CHECK)],
        "fixed": dict(made.fixed),
        "notes": list(made.notes),
    }
