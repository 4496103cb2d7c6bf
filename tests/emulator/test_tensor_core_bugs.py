"""The bugs that a tensor-core GEMM invites, planted one by one in a right one; each is found by kind and line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from cutegen_git.devices.emulator.call import Role, Scalar

from .conftest import Builder, call_kernel, header, tensor
from .kernel_cases import CASES

pytestmark = pytest.mark.slow
HGEMM = next(c for c in CASES if c.name == "hgemm")
RIGHT = HGEMM.sources()["kernel.cu"].decode()
LOADS = ("copy(copyA", "copy(copyB")
STORES = ("copy_if(load",)


@dataclass(frozen=True)
class Bug:
    """A replacement in the text of the kernel, and what must be said of it."""

    old: str
    new: str
    kinds: set[str]
    at: tuple[str, ...]  # words of the lines that may be blamed
    shape: tuple[int, int, int] = (129, 127, 136)


BUGS = {
    "no wait": Bug("cp_async_wait<kStages - 2>();", "", {"pending-shared"}, LOADS),
    "one wait too few": Bug(
        "cp_async_wait<kStages - 2>();", "cp_async_wait<kStages - 1>();", {"pending-shared"}, LOADS
    ),
    "no barrier": Bug(
        "    __syncthreads();", "", {"race-shared", "uninit-shared", "pending-shared"}, LOADS + STORES
    ),
    "wrong stage": Bug(
        "int to = next % kStages;",
        "int to = (next + 1) % kStages;",
        {"race-shared", "pending-shared"},
        LOADS + STORES,
    ),
    "no K predicate": Bug(" && get<1>(c) < cols", "", {"oob-global"}, STORES),
    "no row predicate": Bug("get<0>(c) < rows && ", "", {"oob-global"}, STORES),
    "one row past C": Bug("get<0>(tCi(i)) < M", "get<0>(tCi(i)) <= M", {"oob-global"}, ("tCg(i) = acc(i)",)),
    "shared memory too small": Bug(
        "int bytes = sizeof(hgemm::Storage);",
        "int bytes = sizeof(hgemm::Storage) - 512;",
        {"oob-shared"},
        LOADS + STORES,
    ),
}


@pytest.mark.parametrize("name", sorted(BUGS))
def test_bug_in_a_tensor_core_gemm_is_found(builder: Builder, name: str) -> None:
    bug = BUGS[name]
    assert RIGHT.count(bug.old) == 1
    text = RIGHT.replace(bug.old, bug.new)
    built = builder(text, header(HGEMM.fields))
    lines = text.splitlines()
    for order in ("forward", "reverse", "random"):
        inputs = HGEMM.make_inputs(bug.shape, 0)
        out = np.zeros(bug.shape[:2], np.float32)
        fields = [tensor(k, v, Role.INPUT) for k, v in inputs.items()]
        fields += [
            tensor("C", out, Role.OUTPUT),
            *(Scalar(k, "int64", v) for k, v in HGEMM.axes(bug.shape).items()),
        ]
        result = call_kernel(built, fields, (order,))
        blamed = [(r.kind, lines[n - 1]) for r in result.reports for n in (r.line, *r.callers) if n]
        assert any(kind in bug.kinds and any(w in line for w in bug.at) for kind, line in blamed), (
            order,
            result.status,
            blamed,
        )
