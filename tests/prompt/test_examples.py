"""What the prompts show as CuTe that compiles does compile, with real nvcc."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutegen_git.hands import toolchain as chain
from cutegen_git.hands.build import build
from cutegen_git.hands.cache import Cache
from cutegen_git.hands.model.templates import shipped
from cutegen_git.words.task import Family, Role, Signature, Task, TensorSpec, Workload

TASK = Task(
    "product",
    Family.MATMUL,
    "sm_89",
    "rtx4090",
    Signature(
        (TensorSpec("lhs", "float32", ("P", "R")), TensorSpec("rhs", "float32", ("R", "Q"))),
        (TensorSpec("out", "float32", ("P", "Q")),),
        ("P", "Q", "R"),
    ),
    (Workload({"P": 64, "Q": 64, "R": 64}, Role.RANK),),
)
_TENSORS = "  // mL, mR, mO, gL, gR, gO, cL, cR, cO as in the complete kernel above, with tiles BM, BN, BK.\n"


def _forms(simple: str, pipelined: str) -> str:
    """The kernel that the matmul menu shows, its tensors made as its comment says."""
    start, end = simple.index("  Tensor mL"), simple.index("  __shared__")
    tensors = simple[start:end].replace("Rows", "BM").replace("Cols", "BN").replace("Deep", "BK")
    assert pipelined.count(_TENSORS) == 1
    return simple + pipelined.replace(_TENSORS, tensors)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["simple", "pipelined"])
def test_the_kernels_shown_compile_without_spills(which: str, tmp_path: Path) -> None:
    templates = shipped()
    source = templates["example.cu"]
    if which == "pipelined":
        source = _forms(source, templates["family/matmul.cu"])
    cache = Cache.default()
    chain.fetch_cutlass(cache)
    done = build(
        TASK,
        {"kernel.cu": source.encode()},
        toolchain=chain.find(cache=cache),
        cache=Cache(tmp_path),
        target_sm=None,
    )
    assert done.ok, done.log
    kernels = [kernel for kernel in done.libraries[0].resources if kernel.arch == "sm_89"]
    assert len(kernels) == (2 if which == "pipelined" else 1)
    assert all(kernel.spill_store_bytes == 0 for kernel in kernels)
