"""task.toml as a `Task`. What a task's hash covers, and which setting wins, is decided here too.

Reading is strict: a key that is not known is an error, since a mistyped limit would be no limit.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import fields, replace

import tomli

from cutegen_git.core.shapes import shape_of, strides_of
from cutegen_git.core.taskfile_render import render
from cutegen_git.core.taskfile_signature import parse_signature, with_tensors
from cutegen_git.core.taskfile_table import Table, nearest, refuse
from cutegen_git.words.errors import TaskError
from cutegen_git.words.task import Family, Limits, Precision, Role, Runner, Signature, Task, Workload

__all__ = ["FORMAT", "override", "parse", "render", "task_hash"]

FORMAT = 1
TABLES = (
    "format", "task", "target", "signature", "workload", "tensors", "build", "precision", "stop", "profile",
    "paths", "model", "runners", "publish",
)  # fmt: skip
POLICIES = ("float64", "float32", "tf32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "exact")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_ARCH = re.compile(r"sm_\d{2,3}[af]?")
_SHOW = re.compile(r"stable|always|never|after:\d{1,4}")


def parse(text: str) -> Task:
    """The task that this task.toml states. TaskError, one line, for anything unknown, wrong or missing."""
    try:
        raw = tomli.loads(text.removeprefix("\ufeff"))
    except tomli.TOMLDecodeError as error:
        raise TaskError(f"task.toml: {error}") from error
    root = Table(raw, "", TABLES)
    _check_format(root)
    task = _table(root, "task", ("name", "family"), must=True)
    target = _table(root, "target", ("arch", "device"))
    signature = parse_signature(_table(root, "signature", ("axes", "inputs", "outputs"), must=True))
    signature = with_tensors(signature, Table(raw.get("tensors", {}), "[tensors]"))
    workloads = _workloads(raw.get("workload"), signature)
    return Task(
        name=_matching(task, "name", _NAME, "letters, digits, '_', '.', '-' only", None),
        family=Family(task.choice("family", [family.value for family in Family])),
        arch=_matching(target, "arch", _ARCH, 'an architecture such as "sm_89"', "sm_89"),
        device=_matching(target, "device", _SLUG, 'a device such as "rtx4090"', "rtx4090"),
        signature=signature,
        workloads=workloads,
        static=_static(_table(root, "build", ("static",)), signature),
        precision=_precision(_table(root, "precision", [item.name for item in fields(Precision)])),
        limits=_limits(_table(root, "stop", [item.name for item in fields(Limits)])),
        profile_show=_matching(
            _table(root, "profile", ("show",)), "show", _SHOW, "stable, always, never or after:N", "stable"
        ),
        paths=_table(root, "paths", ("count",)).integer("count", 1, least=1),
        model=_model(_table(root, "model", ("name",))),
        runners=_runners(Table(raw.get("runners", {}), "[runners]")),
        publish_transcript=_table(root, "publish", ("transcript",)).boolean("transcript", True),
    )


def _check_format(root: Table) -> None:
    version = root.raw.get("format")
    if version is None:
        refuse(f"format is missing; write format = {FORMAT}")
    if version != FORMAT or isinstance(version, bool):
        refuse(f"format is {version!r}, but this version of cutegen-git reads format {FORMAT}")


def _table(root: Table, name: str, known: tuple[str, ...] | list[str], *, must: bool = False) -> Table:
    if must and name not in root:
        refuse(f"table [{name}] is missing")
    return Table(root.raw.get(name, {}), f"[{name}]", known)


def _matching(table: Table, key: str, form: re.Pattern[str], expected: str, default: str | None) -> str:
    value = table.text(key, default)
    if not form.fullmatch(value):
        table.wrong(key, expected)
    return value


def _workloads(value: object, signature: Signature) -> tuple[Workload, ...]:
    if value is None or value == []:
        refuse("no [[workload]]: state at least one to check and one to rank")
    if not isinstance(value, list):
        refuse("workload must be written [[workload]], once for each set of sizes")
    workloads = tuple(_workload(item, signature, nth) for nth, item in enumerate(value, 1))
    for role in Role:
        if not any(workload.role is role for workload in workloads):
            refuse(f'no [[workload]] has role = "{role.value}"')
    return workloads


def _workload(value: object, signature: Signature, nth: int) -> Workload:
    table = Table(value, f"[[workload]] {nth}", ("axes", "role", "weight"))
    axes = Table(table.raw.get("axes", {}), f"[[workload]] {nth} axes", signature.axes)
    sizes = {name: axes.size(name) for name in signature.axes}
    role = Role(table.choice("role", [role.value for role in Role]))
    workload = Workload(sizes, role, table.number("weight", 1.0, positive=True))
    for spec in (*signature.tensors(), *signature.outputs):
        strides_of(spec, sizes)
        small = min(shape_of(spec, sizes), default=1)
        if small < 0:
            refuse(f"[[workload]] {nth} makes tensor {spec.name} {small} elements long")
    return workload


def _static(table: Table, signature: Signature) -> tuple[str, ...]:
    static = table.texts("static", ())
    for axis in static:
        if axis not in signature.axes:
            refuse(f"[build] static names no axis {axis!r}; {nearest(axis, signature.axes)}")
    return tuple(dict.fromkeys(static))


def _precision(table: Table) -> Precision:
    plain = Precision()
    return Precision(
        table.choice("policy", POLICIES, plain.policy),
        table.choice("accumulate", POLICIES, plain.accumulate),
        table.boolean("deterministic", plain.deterministic),
    )


def _limits(table: Table) -> Limits:
    plain = Limits()
    return Limits(
        attempts=table.integer("attempts", plain.attempts),
        fixes=table.integer("fixes", plain.fixes),
        usd=table.number("usd", plain.usd),
        minutes=table.number("minutes", plain.minutes),
        tokens=table.integer("tokens", plain.tokens),
        unmeasured=table.integer("unmeasured", plain.unmeasured),
    )


def _model(table: Table) -> str | None:
    name = table.text("name", "").strip()
    return name or None


def _runners(table: Table) -> dict[str, Runner]:
    runners: dict[str, Runner] = {}
    for name, value in table.raw.items():
        if not _SLUG.fullmatch(name):
            refuse(f"[runners] {name!r}: a runner's name is of lower-case letters, digits and '-'")
        entry = Table(value, f"[runners] {name}", ("device", "key"))
        device = _matching(entry, "device", _SLUG, 'a device such as "rtx4090"', None)
        key = entry.text("key").strip() if "key" in entry else None
        if key is not None and not re.fullmatch(r"(ssh-|ecdsa-|sk-)\S+ \S+( [^\n]*)?", key):
            entry.wrong("key", 'an ssh public key such as "ssh-ed25519 AAAA…"')
        runners[name] = Runner(device, key)
    return runners


def task_hash(task_toml: bytes, reference_py: bytes) -> str:
    """16 hex digits that change when either file does: an edit of the task starts an era."""
    digest = hashlib.sha256()
    for content in (task_toml, reference_py):
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()[:16]


def override(
    task: Task,
    env: Mapping[str, str],
    *,
    model: str | None = None,
    attempts: int | None = None,
    fixes: int | None = None,
    usd: float | None = None,
    minutes: float | None = None,
    tokens: int | None = None,
    unmeasured: int | None = None,
) -> Task:
    """The task with what flags (None: not given) and CUTEGEN_GIT_* say about its model and limits; flags win."""
    flags = {"attempts": attempts, "fixes": fixes, "usd": usd, "minutes": minutes, "tokens": tokens,
             "unmeasured": unmeasured}  # fmt: skip
    values: dict[str, float] = {}
    for item in fields(Limits):
        flag = flags[item.name]
        found = (
            flag if flag is not None else _from_env(env, item.name, whole=item.name not in ("usd", "minutes"))
        )
        if found is not None:
            if not 0 <= found < float("inf"):
                raise TaskError(f"the limit {item.name} cannot be {found}")
            values[item.name] = found
    named = model if model is not None else env.get("CUTEGEN_GIT_MODEL", "").strip() or task.model
    return replace(task, model=named, limits=replace(task.limits, **values))  # type: ignore[arg-type]


def _from_env(env: Mapping[str, str], name: str, *, whole: bool) -> float | None:
    variable = f"CUTEGEN_GIT_{name.upper()}"
    text = env.get(variable, "").strip()
    if not text:
        return None
    try:
        return int(text) if whole else float(text)
    except ValueError:
        kind = "a whole number" if whole else "a number"
        raise TaskError(f"the environment variable {variable} must be {kind}, not {text!r}") from None
