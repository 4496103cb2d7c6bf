"""The tasks that cheating and honest kernels are written for: few, so that references and baselines are used again."""

from __future__ import annotations

from cutegen_git.words.task import Family, Precision, Role, Signature, Task, TensorSpec, Workload

_FORM = """import torch


def inputs(axes, *, generator, device):
    def randn(*shape, dtype=torch.float32):
        return torch.randn(*shape, generator=generator, device=device).to(dtype)

    {unpack} = {axes}
    return {{{tensors}}}


def reference({names}):
    return {result}
"""
Sizes = tuple[tuple[int, ...], ...]
PLAIN = Precision()


def _reference(axes: str, result: str, **tensors: str) -> bytes:
    """A reference with its inputs, each `name="shape"`."""
    unpack = ", ".join(axes.lower()) + ("," if len(axes) == 1 else "")
    values = ", ".join(f'axes["{axis}"]' for axis in axes) + ("," if len(axes) == 1 else "")
    made = ", ".join(f'"{name}": randn({shape})' for name, shape in tensors.items())
    text = _FORM.format(unpack=unpack, axes=values, tensors=made, names=", ".join(tensors), result=result)
    return text.encode()


def _workloads(axes: str, checks: Sizes, rank: tuple[int, ...]) -> tuple[Workload, ...]:
    found = [Workload(dict(zip(axes, sizes, strict=True)), Role.CHECK) for sizes in checks]
    return (*found, Workload(dict(zip(axes, rank, strict=True)), Role.RANK))


def _task(name: str, family: Family, axes: str, inputs: tuple[TensorSpec, ...], output: TensorSpec, checks: Sizes,
          rank: tuple[int, ...], precision: Precision = PLAIN) -> Task:  # fmt: skip
    signature = Signature(inputs, (output,), tuple(axes))
    return Task(
        name, family, "sm_89", "rtx4090", signature, _workloads(axes, checks, rank), precision=precision
    )


_MN = ((1, 7), (3, 129), (64, 64), (65, 130))
_MNK = ((1, 1, 5), (17, 33, 70), (64, 48, 129), (70, 65, 300))
_ROWS = TensorSpec("X", "float32", ("M", "N"))
_A, _B = TensorSpec("A", "float32", ("M", "K")), TensorSpec("B", "float32", ("K", "N"))
_C = TensorSpec("C", "float32", ("M", "N"))
_HALVES = tuple(
    TensorSpec(name, "float16", shape)
    for name, shape in (("A", ("M", "K")), ("B", ("K", "N")), ("C", ("M", "N")))
)

TASKS: dict[str, tuple[Task, bytes]] = {
    "scale": (
        _task("scale", Family.ELEMENTWISE, "MN", (_ROWS, TensorSpec("W", "float32", ("N",), constant=True)),
              TensorSpec("Y", "float32", ("M", "N")), _MN, (4096, 4096)),
        _reference("MN", "X * W", X="m, n", W="n"),
    ),
    "clip": (
        _task("clip", Family.ELEMENTWISE, "MN", (_ROWS,), TensorSpec("Y", "float32", ("M", "N"), alias="X"), _MN, (4096, 4096)),
        _reference("MN", "torch.relu(X)", X="m, n"),
    ),
    "softmax": (
        _task("softmax", Family.SOFTMAX, "MN", (_ROWS,), TensorSpec("Y", "float32", ("M", "N")), _MN, (8192, 2048)),
        _reference("MN", "torch.softmax(X, -1)", X="m, n"),
    ),
    "product": (
        _task("product", Family.MATMUL, "MNK", (_A, _B), _C, _MNK, (1024, 1024, 1024)),
        _reference("MNK", "A @ B", A="m, k", B="k, n"),
    ),
    "any-order": (
        _task("any-order", Family.MATMUL, "MNK", (_A, _B), _C, _MNK, (1024, 1024, 1024), Precision(deterministic=False)),
        _reference("MNK", "A @ B", A="m, k", B="k, n"),
    ),
    "half": (
        _task("half", Family.MATMUL, "MNK", _HALVES[:2], _HALVES[2], _MNK, (1024, 1024, 1024), Precision("float16", "float32")),
        _reference("MNK", "A @ B", A="m, k, dtype=torch.float16", B="k, n, dtype=torch.float16"),
    ),
    "triangle": (
        _task("triangle", Family.MATMUL, "N", (TensorSpec("A", "float32", ("N", "N")), TensorSpec("B", "float32", ("N", "N"))),
              TensorSpec("C", "float32", ("N", "N")), ((1,), (33,), (129,), (200,)), (1024,)),
        _reference("N", "torch.tril(A) @ torch.tril(B)", A="n, n", B="n, n"),
    ),
}  # fmt: skip
