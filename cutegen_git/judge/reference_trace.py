"""What a reference does, learnt without data: operations, memory, random numbers. Runs on fake tensors."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from cutegen_git.words.task import Signature


@dataclass(frozen=True, slots=True)
class Trace:
    """One run at one set of sizes."""

    signature: Signature  # every dimension a number
    ops: tuple[str, ...]  # aten names in order: "mm", "relu", "_softmax"
    peak_bytes: int  # most that inputs, intermediates and outputs of torch's own form take at once
    output_bytes: int


class Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the operations inside, and how many bytes are alive at most."""

    def __init__(self, held: object) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.ops: list[str] = []
        self.random: str | None = None  # the first operation that draws random numbers
        self.peak_bytes = 0
        self._live: dict[StorageWeakRef, int] = {}
        self._note(held)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = func._schema.name.split("::")[-1]
        if func._schema.name.startswith("aten::"):
            self.ops.append(name)
        if torch.Tag.nondeterministic_seeded in func.tags and _draws(name, args, kwargs or {}):
            self.random = self.random or name
        result = func(*args, **(kwargs or {}))
        self._note(result)
        return result

    def _note(self, held: object) -> None:
        for tensor in tree_leaves(held):
            if isinstance(tensor, torch.Tensor) and tensor.layout is torch.strided:
                storage = tensor.untyped_storage()
                self._live[StorageWeakRef(storage)] = storage.nbytes()  # type: ignore[no-untyped-call]
        gone = [ref for ref in self._live if ref.expired()]  # type: ignore[no-untyped-call]
        for ref in gone:
            del self._live[ref]
        self.peak_bytes = max(self.peak_bytes, sum(self._live.values()))


def _draws(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the operation really draws: attention is tagged random for its dropout, which is mostly 0."""
    if "attention" not in name:
        return True
    floats = [value for value in (*args, *kwargs.values()) if isinstance(value, float)]
    return bool(floats) and floats[0] > 0.0


@contextlib.contextmanager
def fakes() -> Iterator[FakeTensorMode]:
    """Inside, tensors have shapes and no data, so that any size costs nothing."""
    log = logging.getLogger("torch._subclasses.fake_tensor")
    before, log.disabled = (
        log.disabled,
        True,
    )  # it prints a traceback for sizes that do not fit; ours is one line
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the user's own file, once a probe
            with FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.no_grad():
                yield mode
    finally:
        log.disabled = before
