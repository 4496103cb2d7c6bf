"""The single questions of `verify --offline`, each answered by one line. Git and arithmetic only: no torch, no GPU."""

from __future__ import annotations

from collections.abc import Iterator

from cutegen_git.core import stats, taskfile
from cutegen_git.core.log import Claim
from cutegen_git.hands import machine, signing
from cutegen_git.words.errors import TaskError
from cutegen_git.words.task import Role, Task
from cutegen_git.words.verdict import JUDGE_VERSION, Outcome, Timing, Verdict

from . import claims_sign
from .claims_evidence import Evidence, Line, no, note, ok, unknown
from .claims_sign import Signed
from .project import ATTEMPTS, KERNEL, MAIN, Project

RATIO_STEP, US_STEP = 0.5e-4, 0.5e-3  # what rounding to four decimals, and to nanoseconds, may move


def answers(project: Project, evidence: Evidence) -> Iterator[Line]:
    """Every question in the order in which a reader would ask them."""
    era = task_of_era(project, evidence.claim.task)
    yield _named(project, evidence)
    yield _kernel(project, evidence)
    yield _task(project, evidence, era)
    yield from _verdict(project, evidence)
    if evidence.verdict is not None:
        yield _decided(evidence, era or project.task)
    yield _judge(evidence.claim)
    if evidence.verdict is not None:
        yield _runner(project, evidence)
        yield from _signatures(project, evidence)


def _named(project: Project, evidence: Evidence) -> Line:
    claim, tag = evidence.claim, evidence.tag
    wanted = f"{claim.device}/{claim.label}-{claim.timing.speedup:.2f}x"
    if evidence.name != wanted or tag.name != evidence.name:
        return no(f"the tag is called {evidence.name} (in its object {tag.name}), its message says {wanted}")
    held = project.repo.refs(f"{ATTEMPTS}{claim.label}").get(f"{ATTEMPTS}{claim.label}")
    if held is not None and held != tag.target:
        return no(f"the tag names commit {tag.target[:10]}, attempt {claim.label} is {held[:10]}")
    return ok(f"the tag's message is a claim: {claim.label} on {claim.device}, {claim.timing.speedup:.2f}x")


def _kernel(project: Project, evidence: Evidence) -> Line:
    held = project.repo.tree_of(evidence.tag.target, KERNEL)
    if held != evidence.claim.kernel_tree:
        return no(
            f"kernel/ of the commit is tree {held[:10] or 'missing'}, the claim is about {evidence.claim.kernel_tree[:10]}"
        )
    return ok(f"kernel/ of the commit is what was measured (tree {held[:10]})")


def _task(project: Project, evidence: Evidence, era: Task | None) -> Line:
    claimed = evidence.claim.task
    if claimed == project.task_hash:
        return ok(f"the task is that of main ({claimed})")
    if era is None:
        return no(f"main never had the task {claimed} that the claim is about")
    return note(f"stale: main had the task {claimed}, and has {project.task_hash} now; measure again")


def task_of_era(project: Project, wanted: str) -> Task | None:
    """The task with this hash as main has or had it; None if it never had."""
    if wanted == project.task_hash:
        return project.task
    repo = project.repo
    seen: set[tuple[str, ...]] = set()
    for commit in repo.history(MAIN, first_parent=True):
        entries = repo.entries(commit)
        ids = tuple(entries[name].id for name in ("task.toml", "reference.py") if name in entries)
        if len(ids) < 2 or ids in seen:
            continue
        seen.add(ids)
        toml, reference = (repo.read_blob(id) for id in ids)
        if taskfile.task_hash(toml, reference) == wanted:
            try:
                return taskfile.parse(toml.decode("utf-8", "replace"))
            except TaskError:
                return None
    return None


def _verdict(project: Project, evidence: Evidence) -> Iterator[Line]:
    claim, verdict = evidence.claim, evidence.verdict
    if not evidence.line:
        if not project.repo.notes_refs("verdict"):
            yield unknown("verdicts are not here: run cutegen-git sync")
        else:
            yield no(
                f"no runner's notes hold the verdict {claim.verdict}; run cutegen-git sync if notes may be missing"
            )
        return
    if verdict is None:
        yield no(f"the line of verdict {claim.verdict} was altered after it was written")
        return
    odd = _differences(claim, verdict, evidence)
    if odd:
        yield no(f"verdict {claim.verdict} says otherwise than the tag: {', '.join(odd)}")
    else:
        yield ok(f"verdict {claim.verdict} is there, unaltered, and says the same")


def _differences(claim: Claim, verdict: Verdict, evidence: Evidence) -> list[str]:
    pairs = {
        "outcome": (verdict.outcome, Outcome.PASSED),
        "commit": (verdict.commit, evidence.tag.target),
        "kernel": (verdict.kernel_tree, claim.kernel_tree),
        "task": (verdict.task, claim.task),
        "device": (verdict.device, claim.device),
        "judge": (verdict.judge, claim.judge),
        "numbers": (verdict.timing, claim.timing),
        "runner": (verdict.runner, evidence.runner),
    }
    return [name for name, (said, claimed) in pairs.items() if said != claimed]


def _decided(evidence: Evidence, task: Task) -> Line:
    """The decision taken again from the stored samples."""
    claim, samples = evidence.claim, evidence.samples
    if not samples:
        return unknown(f"the samples of verdict {claim.verdict} are not here: run cutegen-git sync")
    weights = {workload.label(): workload.weight for workload in task.of_role(Role.RANK)}
    try:
        found = stats.decide(samples, weights=weights)
    except (ValueError, TypeError, ZeroDivisionError, OverflowError) as error:
        return no(f"the samples decide nothing: {error}")
    if not same_timing(found, claim.timing):
        return no(
            f"the samples give {found.speedup:.4f}x [{found.low:.4f}, {found.high:.4f}], {found.device_us:.3f} us against"
            f" {found.baseline} {found.baseline_us:.3f} us; the claim is {claim.timing.speedup:.4f}x"
        )
    processes = {key.split("/")[2] for key in samples}
    count = sum(len(ticks) for key, ticks in samples.items() if not key.startswith("mhz:"))
    return ok(f"{count} samples from {len(processes)} processes give the same numbers")


def same_timing(one: Timing, two: Timing) -> bool:
    """Equal to what a recorded timing is rounded to."""
    ratios = ((one.speedup, two.speedup), (one.low, two.low), (one.high, two.high))
    times = ((one.device_us, two.device_us), (one.call_us, two.call_us), (one.baseline_us, two.baseline_us))
    return (
        one.baseline == two.baseline
        and all(abs(a - b) <= 1.02 * RATIO_STEP for a, b in ratios)
        and all(abs(a - b) <= 1.02 * US_STEP for a, b in times)
    )


def _judge(claim: Claim) -> Line:
    if claim.judge == JUDGE_VERSION:
        return ok(f"judged by the current judge, version {claim.judge}")
    return note(
        f"stale: judged by version {claim.judge} of the judge, this is {JUDGE_VERSION}; measure again"
    )


def _runner(project: Project, evidence: Evidence) -> Line:
    name = evidence.runner
    listed = project.task.runners.get(name)
    if listed is not None:
        if listed.device != evidence.claim.device:
            return no(f"[runners] lists {name} for {listed.device}, not for {evidence.claim.device}")
        return ok(f"[runners] on main lists {name}")
    if machine.is_own_runner(name, machine.environment()):
        return ok(f"{name} is this machine")
    text = f"claimed by {name}, not verified here: [runners] on main lists {'no such runner' if project.task.runners else 'nobody'}"
    return no(text) if project.task.runners else note(text)


def _signatures(project: Project, evidence: Evidence) -> Iterator[Line]:
    key = claims_sign.key_of(project.task, evidence.runner)
    if key is None:
        yield note(f"not signed by a known key: [runners] lists none for {evidence.runner}")
        return
    beside = project.repo.notes_read_one(claims_sign.sig_ref(evidence.runner), evidence.tag.target)
    yield _signed_line("the verdict", claims_sign.signed(evidence.line, beside, key, signing.VERDICT))
    yield _signed_line("the tag", signed_tag(evidence, key))


def signed_tag(evidence: Evidence, key: str) -> Signed:
    """How the tag's own signature stands to a key."""
    if not evidence.signature:
        return Signed.MISSING
    tag = evidence.tag
    text, _ = signing.split(tag.message)
    payload = signing.tag_payload(
        tag.name, tag.target, text, f"{tag.tagger.name} <{tag.tagger.email}>", tag.at
    )
    if not signing.is_available():
        return Signed.UNKNOWN
    return Signed.GOOD if signing.check(payload, evidence.signature, key, signing.TAG) else Signed.WRONG


def _signed_line(what: str, found: Signed) -> Line:
    said = {
        Signed.GOOD: ok(f"{what} is signed by the runner's key"),
        Signed.MISSING: no(f"{what} is not signed, and [runners] lists a key: it does not count"),
        Signed.WRONG: no(f"{what} is signed by another key than [runners] lists, or was altered"),
    }
    return said.get(found) or unknown(f"{what} is signed; ssh-keygen is not here to check it")
