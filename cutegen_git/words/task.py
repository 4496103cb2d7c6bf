"""What to compute: the records behind task.toml (design README, section 3). Reading the file is `core.taskfile`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Family(str, Enum):
    """The kinds of workload. Precision budgets, prompts and task lint are chosen by it."""

    MATMUL = "matmul"
    ELEMENTWISE = "elementwise"
    REDUCTION = "reduction"
    SOFTMAX = "softmax"
    NORM = "norm"
    ATTENTION = "attention"
    CONV = "conv"
    LOSS = "loss"
    SCAN = "scan"
    MOVEMENT = "movement"
    FUSED = "fused"
    OTHER = "other"


class Role(str, Enum):
    CHECK = "check"  # small and odd: gates
    RANK = "rank"  # real sizes: timed


Axes = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Workload:
    """One set of axis values."""

    axes: Axes  # every axis of the signature with its size in elements
    role: Role
    weight: float = 1.0  # share in the geometric mean of rank workloads

    def label(self) -> str:
        """The sizes as one word, e.g. "M4096-N4096-K4096"; "fixed" for a task without axes."""
        return "-".join(f"{name}{size}" for name, size in self.axes.items()) or "fixed"


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One tensor of the signature."""

    name: str  # field of Args
    dtype: str  # torch's name: "float32", "bfloat16", "float8_e4m3fn", "int64", "bool"
    shape: tuple[str, ...]  # each dimension an expression over the axes: "M", "2*K", "64"
    constant: bool = False  # a weight: `prepare` may pack it
    layout: str | tuple[str, ...] = (
        "row"  # "row", "col" (last two swapped) or one stride expression a dimension
    )
    align_bytes: int = 16  # the pointer is a multiple of this
    alias: str | None = None  # output only: shares memory with this input


class ScalarKind(str, Enum):
    FLOAT = "float"  # double in Args
    INT = "int"  # int64_t in Args
    BOOL = "bool"  # bool in Args


@dataclass(frozen=True, slots=True)
class ScalarSpec:
    """One scalar input, passed by value."""

    name: str
    kind: ScalarKind


@dataclass(frozen=True, slots=True)
class Signature:
    """What goes in and comes out, in the order of the reference's parameters."""

    inputs: tuple[TensorSpec | ScalarSpec, ...]
    outputs: tuple[TensorSpec, ...]
    axes: tuple[str, ...]  # in the order of Args

    def tensors(self) -> tuple[TensorSpec, ...]:
        """The input tensors, without scalars."""
        return tuple(item for item in self.inputs if isinstance(item, TensorSpec))

    def scalars(self) -> tuple[ScalarSpec, ...]:
        return tuple(item for item in self.inputs if isinstance(item, ScalarSpec))


@dataclass(frozen=True, slots=True)
class Precision:
    policy: str = "float32"  # the arithmetic that the task allows for inputs and products
    accumulate: str = "float32"  # the arithmetic that it allows for sums
    deterministic: bool = True  # False: two runs may differ in rounding (atomics)


@dataclass(frozen=True, slots=True)
class Limits:
    """`[stop]`: what a run may use up."""

    attempts: int = 20  # replies asked for, over the whole life of the task
    fixes: int = 3  # in a row on one broken attempt
    usd: float = 2.00  # paid to providers
    minutes: float = 60.0  # sum of recorded durations
    tokens: int = 2_000_000  # used where a provider reports no price
    unmeasured: int = 3  # attempts ahead of the last measured one, without a GPU


@dataclass(frozen=True, slots=True)
class Runner:
    """Who may write verdicts that count."""

    device: str  # device slug
    key: str | None = None  # ssh public key: then every verdict and tag must be signed by it


@dataclass(frozen=True, slots=True)
class Task:
    """A whole task.toml."""

    name: str
    family: Family
    arch: str  # what every commit is compiled for: "sm_89"
    device: str  # home device: its verdicts move main
    signature: Signature
    workloads: tuple[Workload, ...]
    static: tuple[str, ...] = ()  # axes that are compile-time constants
    precision: Precision = Precision()
    limits: Limits = Limits()
    profile_show: str = "stable"  # stable | always | never | after:N
    paths: int = 1
    model: str | None = None
    runners: Mapping[str, Runner] = field(default_factory=dict)
    publish_transcript: bool = True

    def of_role(self, role: Role) -> tuple[Workload, ...]:
        return tuple(workload for workload in self.workloads if workload.role is role)
