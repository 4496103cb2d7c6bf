"""task.toml as `new` writes it: what the task states in a dozen lines, what may be said besides as comments."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from cutegen_git.core.taskfile_signature import format_item
from cutegen_git.words.task import Limits, Precision, Role, Task, TensorSpec, Workload

Value = str | int | float | bool | Sequence[str]
_REMARKS = {
    "arch": "what every commit is compiled for",
    "device": "home device: its verdicts move main",
    "static": "axes that are compile-time constants for rank workloads",
    "policy": "arithmetic allowed for inputs and products",
    "accumulate": "arithmetic allowed for sums",
    "deterministic": "false: two runs may differ in rounding",
    "attempts": "replies asked for, over the whole life of the task",
    "fixes": "in a row on one broken attempt",
    "usd": "paid to providers",
    "minutes": "sum of recorded durations",
    "tokens": "used where a provider reports no price",
    "unmeasured": "attempts ahead of the last measured one, without a GPU",
    "show": "stable | always | never | after:N",
    "count": "optimisation paths side by side",
    "name": '"anthropic/…", "openai/…", "ollama/…", "handoff", "replay:…"',
    "transcript": "false: prompts and replies stay on this machine",
}


def render(task: Task, *, notes: Sequence[str] = ()) -> str:
    """The text of task.toml; `notes` become comments above the workloads. `parse` gives the same task back."""
    parts = [
        "format = 1",
        f"[task]\nname = {_value(task.name)}\nfamily = {_value(task.family.value)}",
        _table("target", {"arch": task.arch, "device": task.device}, {}),
        _signature(task),
        "\n".join([*(f"# {line}" for note in notes for line in note.splitlines()), *_workloads(task)]),
        *_tensors(task),
        _optional_head(task),
        _table("build", {"static": task.static}, {"static": ()}),
        _table("precision", asdict(task.precision), asdict(Precision())),
        _table("stop", asdict(task.limits), asdict(Limits())),
        _table("profile", {"show": task.profile_show}, {"show": "stable"}),
        _table("paths", {"count": task.paths}, {"count": 1}),
        _table("model", {"name": task.model or ""}, {"name": ""}),
        _runners(task),
        _table("publish", {"transcript": task.publish_transcript}, {"transcript": True}),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _optional_head(task: Task) -> str:
    return "# What follows may be said besides; commented lines show what holds without them."


def _signature(task: Task) -> str:
    signature = task.signature
    lines = ["[signature]      # derived from reference.py; `verify` checks that it still holds"]
    lines.append(f"axes    = {_value(signature.axes)}")
    lines.append(f"inputs  = {_value([format_item(item) for item in signature.inputs])}")
    lines.append(f"outputs = {_value([format_item(item) for item in signature.outputs])}")
    return "\n".join(lines)


def _workloads(task: Task) -> list[str]:
    """The first of each role says what the role is."""
    first = {role: workloads[0] for role in Role if (workloads := task.of_role(role))}
    remarks = {Role.CHECK: "  # small and odd: gates", Role.RANK: "  # real: timed"}
    return [
        _workload(workload, remarks[workload.role] if workload is first[workload.role] else "")
        for workload in task.workloads
    ]


def _workload(workload: Workload, remark: str) -> str:
    axes = ", ".join(f"{name} = {size}" for name, size in workload.axes.items())
    inside = f"axes = {{ {axes} }}" if axes else "axes = {}"
    weight = f"\nweight = {_value(workload.weight)}" if workload.weight != 1.0 else ""
    return f"[[workload]]\n{inside}\nrole = {_value(workload.role.value)}{remark}{weight}"


def _tensors(task: Task) -> list[str]:
    blocks = [_tensor(spec) for spec in (*task.signature.tensors(), *task.signature.outputs)]
    return [block for block in blocks if block]


def _tensor(spec: TensorSpec) -> str:
    said: dict[str, Value] = {}
    if spec.constant:
        said["constant"] = True
    if spec.layout != "row":
        said["layout"] = spec.layout
    if spec.align_bytes != 16:
        said["align_bytes"] = spec.align_bytes
    if spec.alias is not None:
        said["alias"] = spec.alias
    lines = [f"{key} = {_value(value)}" for key, value in said.items()]
    return "\n".join([f"[tensors.{spec.name}]", *lines]) if said else ""


def _runners(task: Task) -> str:
    if not task.runners:
        return '# [runners]        # who may write verdicts that count\n# lab = { device = "rtx4090", key = "ssh-ed25519 …" }'
    lines = ["[runners]"]
    for name, runner in task.runners.items():
        key = f", key = {_value(runner.key)}" if runner.key is not None else ""
        lines.append(f"{name} = {{ device = {_value(runner.device)}{key} }}")
    return "\n".join(lines)


def _table(name: str, values: Mapping[str, Value], defaults: Mapping[str, Value]) -> str:
    """The table with the values that are not built in; the others as comments."""
    live = {key for key, value in values.items() if key not in defaults or defaults[key] != value}
    lines = [f"[{name}]" if live else f"# [{name}]"]
    for key, value in values.items():
        line = f"{key} = {_value(value)}"
        remark = f"  # {_REMARKS[key]}" if key in _REMARKS else ""
        lines.append(f"{line}{remark}" if key in live else f"# {line}{remark}")
    return "\n".join(lines)


def _value(value: Value) -> str:
    """The value in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        # JSON's escapes are TOML's too, but TOML also wants DEL escaped.
        return re.sub("\x7f", r"\\u007f", json.dumps(value, ensure_ascii=False))
    return f"[{', '.join(_value(item) for item in value)}]"
