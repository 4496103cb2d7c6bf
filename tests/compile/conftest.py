"""A small task, a real tool chain and a cache for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutegen_git.hands import toolchain as chain
from cutegen_git.hands.cache import Cache
from cutegen_git.words.task import Family, Role, Signature, Task, TensorSpec, Workload


@pytest.fixture(scope="session")
def toolchain() -> chain.Toolchain:
    cache = Cache.default()
    chain.fetch_cutlass(cache)
    return chain.find(cache=cache)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def task() -> Task:
    """y = 2 x over N elements."""
    signature = Signature(
        inputs=(TensorSpec("x", "float32", ("N",)),),
        outputs=(TensorSpec("y", "float32", ("N",)),),
        axes=("N",),
    )
    workloads = (Workload({"N": 1000}, Role.CHECK), Workload({"N": 4096}, Role.RANK))
    return Task("double", Family.ELEMENTWISE, "sm_89", "rtx4090", signature, workloads)
