"""Wires the verbs together, and is the one place where an exception becomes text and an exit code.

Exit codes are git's, so that `git bisect run` understands them: 0 done, 1 the kernel falls short,
125 cannot be judged here, 128 bad world or our bug, 129 usage, 130 Ctrl-C.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

import typer

from cutegen_git import __version__
from cutegen_git.words.errors import CutegenError, PatchError, ToolError

from . import (
    apply_reply,
    doctor,
    explain_build,
    explain_profile,
    export,
    log,
    new,
    next_,
    prompt,
    refine,
    report,
    show,
    sync,
    verify,
)

USAGE, BUG, INTERRUPTED = 129, 128, 130

# typer carries its own copy of click from 0.20 on; its exceptions are reached through a name that both have.
_CLICK_ERROR = typer.BadParameter.__mro__[2]

_HELP = """Write, measure and review CuTe kernels in git.

Start with [bold]cutegen-git new g --example gemm[/] and [bold]cutegen-git refine g[/].
[bold]verify[/] works alone on any kernel, without a model; [bold]log[/] and [bold]show[/] need neither GPU nor torch.
"""


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cutegen-git {__version__}")
        raise typer.Exit


def build_app() -> typer.Typer:
    """The command line, verb by verb, in the order of its help."""
    app = typer.Typer(
        name="cutegen-git",
        help=_HELP,
        no_args_is_help=True,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
    )

    @app.callback()
    def root(
        version: bool = typer.Option(
            False, "--version", callback=_version, is_eager=True, help="Print the version."
        ),
    ) -> None:
        del version

    for verb in (
        new,
        refine,
        verify,
        log,
        show,
        report,
        export,
        sync,
        doctor,
        apply_reply,
        explain_build,
        explain_profile,
        prompt,
        next_,
    ):
        verb.register(app)
    return app


def folder_first(argv: list[str]) -> list[str]:
    """`-C DIR` before the verb moved behind it, as git takes it."""
    if len(argv) >= 3 and argv[0] == "-C":
        return [argv[2], "-C", argv[1], *argv[3:]]
    return argv


def main() -> None:
    """The console script: runs and exits."""
    sys.exit(run(sys.argv[1:]))


def run(argv: list[str]) -> int:
    """The exit code of one command line."""
    try:
        code = build_app()(args=folder_first(argv), standalone_mode=False, prog_name="cutegen-git")
        return code if isinstance(code, int) else 0
    except CutegenError as error:
        _complain(error, verbose="-v" in argv)
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        print("cutegen-git: stopped; run the same command again to continue", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if isinstance(error, _CLICK_ERROR):
            error.show()  # type: ignore[attr-defined]  # of whichever click typer carries
            return USAGE
        print(
            f"cutegen-git: our bug: {error!r}\nThe log is {_log_bug(argv)}; please report it.",
            file=sys.stderr,
        )
        return BUG


def _complain(error: CutegenError, *, verbose: bool) -> None:
    print(f"cutegen-git: {error}", file=sys.stderr)
    if isinstance(error, ToolError):
        path = _log_text(f"{' '.join(error.argv)}\ncode {error.code}\n{error.stdout}\n{error.stderr}\n")
        print(f"cutegen-git: the whole output is in {path}", file=sys.stderr)
    if verbose and not isinstance(error, PatchError):
        traceback.print_exc()


def _log_bug(argv: list[str]) -> Path:
    versions = f"cutegen-git {__version__}, Python {sys.version.split()[0]}, {sys.platform}"
    return _log_text(f"{versions}\ncutegen-git {' '.join(argv)}\n\n{traceback.format_exc()}")


def _log_text(text: str) -> Path:
    path = Path(tempfile.gettempdir()) / f"cutegen-git-{os.getpid()}-{int(time.time())}.log"
    path.write_text(text)
    return path
