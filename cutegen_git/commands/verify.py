"""`verify`: judge a revision, record the verdict, tag what passed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cutegen_git.app import claims
from cutegen_git.app import verify as app_verify
from cutegen_git.app.bench import Bench
from cutegen_git.app.claims_again import measure_again
from cutegen_git.app.claims_line import Fate
from cutegen_git.app.project import Project
from cutegen_git.app.verify import Verified
from cutegen_git.app.watch import stopping, watch
from cutegen_git.app.watch_origin import Origin
from cutegen_git.app.where import Where
from cutegen_git.core.text import verdict_line
from cutegen_git.hands.console import Console
from cutegen_git.words.verdict import Outcome, Verdict

FALLS_SHORT, CANNOT_JUDGE = 1, 125


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("verify")(verify)


def verify(
    revisions: Annotated[
        list[str] | None,
        typer.Argument(metavar="[REV]...", help="Attempt (12), `best`, or any git revision."),
    ] = None,
    folder: Annotated[Path, typer.Option("-C", metavar="DIR", help="The task repository.")] = Path(),
    pending: Annotated[
        bool, typer.Option("--pending", help="Everything that has no verdict from this device.")
    ] = False,
    at_least: Annotated[
        float | None, typer.Option("--at-least", metavar="X", help="Exit with 1 below this speedup.", min=0.0)
    ] = None,
    not_slower_than: Annotated[
        str | None,
        typer.Option("--not-slower-than", metavar="REV", help="Exit with 1 if clearly slower than REV."),
    ] = None,
    offline: Annotated[
        str | None,
        typer.Option(
            "--offline", metavar="TAG", help="Decide a claim again from git alone: no GPU, no torch."
        ),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option("--watch", help="With --pending: fetch, judge and push for ever; for a GPU machine."),
    ] = False,
    every: Annotated[
        float, typer.Option("--every", metavar="SECONDS", help="With --watch: between two looks.", min=1.0)
    ] = 60.0,
    again: Annotated[bool, typer.Option("--again", help="Judge even where a verdict stands.")] = False,
    device: Annotated[
        Where,
        typer.Option(
            "--device",
            envvar="CUTEGEN_GIT_DEVICE",
            help="Where to judge; auto takes a GPU, else the emulator.",
        ),
    ] = Where.AUTO,
    nvcc: Annotated[Path | None, typer.Option(help="nvcc to build with.")] = None,
    cutlass: Annotated[Path | None, typer.Option(help="CUTLASS checkout to build with.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a verdict.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Judge attempts: build, check against torch, time, tag.

    Needs no model and no key. Works on a detached HEAD and records nothing during a bisect:

        git bisect start --first-parent --term-old fast --term-new slow

        git bisect run cutegen-git verify --at-least 1.30

    Exit code 0: passed. 1: the kernel falls short. 125: cannot be judged here.
    """
    if follow and not pending:
        raise typer.BadParameter("--watch goes with --pending")
    console = Console(quiet=quiet, as_json=as_json)
    project = Project.open(folder)
    if offline is not None:
        report = claims.offline(project, offline)
        console.result(
            report.text,
            {"tag": report.tag, "holds": report.exit_code == 0, "lines": report.text.splitlines()},
        )
        raise typer.Exit(report.exit_code)
    bench = Bench(project, console.busy, nvcc=nvcc, cutlass=cutlass, wanted=device.value)
    if follow:
        origin = Origin(project.repo, None, project.task.publish_transcript)
        with stopping(console.say) as stop:
            watch(project, bench, origin, console.say, every_s=every, stop=stop)
        return
    record = not project.repo.is_bisecting()
    with project.repo.lock(wait_s=5.0):
        project.repo.recover()
        for tag in [name for name in revisions or [] if claims.is_claim(project, name)]:
            raise typer.Exit(_again(console, project, bench, tag, record=record))
        wanted = app_verify.targets(project, revisions or [], pending=pending, here=bench.here)
        if not wanted:
            console.say(f"nothing is pending on {bench.here}")
        done = []
        for commit in wanted:
            verified = app_verify.verify_one(project, bench, commit, record=record, again=again)
            _show(console, verified)
            done.append(verified)
        if record:
            for judged, merged in app_verify.follow(project, bench):
                console.say(f"{judged.label} is the best of its path" + ("; main follows" if merged else ""))
    than = _standing(project, bench, not_slower_than, record) if not_slower_than else None
    raise typer.Exit(max((_code(console, item.verdict, at_least, than) for item in done), default=0))


def _again(console: Console, project: Project, bench: Bench, tag: str, *, record: bool) -> int:
    """A claim measured again: reproduced or refuted, and written down."""
    found = measure_again(project, bench, tag, record=record)
    fate = found.line.fate.value if found.line else None
    console.result(found.text, {"tag": found.tag, "fate": fate, **_record(found.verified.verdict)})
    if found.line is None:
        return CANNOT_JUDGE
    return 0 if found.line.fate is Fate.REPRODUCED else FALLS_SHORT


def _standing(project: Project, bench: Bench, revision: str, record: bool) -> Verdict:
    [commit] = app_verify.targets(project, [revision], pending=False, here=bench.here)
    return app_verify.verify_one(project, bench, commit, record=record).verdict


def _show(console: Console, verified: Verified) -> None:
    label = str(verified.commit.attempt.label)
    text = verdict_line(label, verified.verdict)
    if verified.tag:
        text += f"  tag {verified.tag}"
    elif verified.known:
        text += "  (verdict of before; --again judges anew)"
    console.result(
        text, {"attempt": label, "tag": verified.tag, "known": verified.known, **_record(verified.verdict)}
    )


def _record(verdict: Verdict) -> dict[str, object]:
    timing = verdict.timing
    return {
        "outcome": verdict.outcome.value,
        "device": verdict.device,
        "why": verdict.why,
        "speedup": timing.speedup if timing else None,
        "interval": [timing.low, timing.high] if timing else None,
        "device_us": timing.device_us if timing else None,
        "baseline": timing.baseline if timing else None,
        "baseline_us": timing.baseline_us if timing else None,
        "commit": verdict.commit,
        "runner": verdict.runner,
    }


def _code(console: Console, verdict: Verdict, at_least: float | None, than: Verdict | None) -> int:
    if not verdict.outcome.is_about_kernel:
        return CANNOT_JUDGE
    short = app_verify.falls_short(verdict, at_least=at_least, than=than)
    if short and verdict.outcome is Outcome.PASSED:
        console.say(f"falls short: {short}")
    return FALLS_SHORT if short else 0
