"""What an exported kernel takes and gives. Shipped with every export, so it imports nothing of cutegen-git."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import torch

Sizes = dict[str, Any]  # axis -> elements; symbolic while torch.compile looks


class KernelTensor(NamedTuple):
    """One tensor of the kernel's signature."""

    name: str
    dtype: torch.dtype
    align: int  # bytes that divide the pointer
    constant: bool = False  # a weight: packed once, again when it changes
    alias: str = ""  # output only: the input whose memory it overwrites


class KernelSpec(NamedTuple):
    """What the kernel takes and gives, from the task that it was verified on."""

    name: str
    tensors: tuple[KernelTensor, ...]  # inputs
    outputs: tuple[KernelTensor, ...]
    scalars: tuple[tuple[str, str], ...]  # (name, "float" | "int" | "bool")
    members: tuple[tuple[str, str, int], ...]  # of struct Args: name, how struct packs it, offset in bytes
    size: int  # of struct Args, bytes
    arch: str  # what it was compiled for: "sm_89"
    static: tuple[str, ...]  # compile-time axes
    statics: tuple[tuple[int, ...], ...]  # the sizes of them that were verified
    axes: Callable[
        [Sequence[Any]], Sizes | None
    ]  # from the shapes of `tensors`; None: they do not fit together
    layouts: Callable[[Sizes], dict[str, tuple[Any, Any]]]  # name -> shape, strides

    def sizes(self, tensors: Sequence[torch.Tensor]) -> Sizes | str:
        """The axes, or why these tensors are not what was verified. Looks at no memory: it can be traced."""
        for spec, tensor in zip(self.tensors, tensors, strict=True):
            if not isinstance(tensor, torch.Tensor):
                return f"{spec.name} is no tensor"
            if tensor.dtype != spec.dtype:
                return f"{spec.name} is {tensor.dtype}, the kernel takes {spec.dtype}"
        found = self.axes([tensor.shape for tensor in tensors])
        if found is None:
            return f"the shapes {[tuple(tensor.shape) for tensor in tensors]} do not fit together"
        if self.static and tuple(found[axis] for axis in self.static) not in self.statics:
            return f"{', '.join(self.static)} have sizes that the kernel is not built for"
        return found


def same_strides(tensor: torch.Tensor, strides: Iterable[int]) -> bool:
    """A dimension of one element has no stride to speak of."""
    pairs = zip(tensor.shape, tensor.stride(), strides, strict=True)
    return all(have == want or size == 1 for size, have, want in pairs)


WARNED: set[tuple[str, str]] = set()


def warn_fallback(name: str, why: str) -> None:
    """Says once for each reason that the reference ran: a slow result must not go unseen."""
    if (name, why) not in WARNED:
        WARNED.add((name, why))
        warnings.warn(f"{name}: the torch reference ran, not the kernel: {why}", RuntimeWarning, stacklevel=3)
