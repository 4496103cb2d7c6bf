"""Honest forms of a reference's computation: what error a kernel may have is measured on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import log, sqrt

import torch

from cutegen_git.core.precision import MANTISSA_BITS, NAIVE_BLOCK, RULES, TORCH_OWN, Errors, Method, Rule
from cutegen_git.core.shapes import ITEM_BYTES
from cutegen_git.judge.dots import budget_of
from cutegen_git.judge.naive import Naive
from cutegen_git.judge.profiles import profile_of
from cutegen_git.judge.reference import Reference, Value
from cutegen_git.judge.standard import Standard, share_of
from cutegen_git.words.task import Axes, Family, Task

CPU_LIMIT = 1 << 22  # elements in and out: beyond, torch on the CPU takes too long
DRAWS = 3  # of inputs moved by one ulp
_LANES = 1024  # sums simulated for the naive form
_NAIVE_LIMIT = 8 * NAIVE_BLOCK  # products simulated a sum; longer sums are scaled from there
_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
Inputs = Mapping[str, Value]


@dataclass
class Honesty:
    """Makes standards for one task; remembers what depends on sizes only."""

    task: Task
    reference: Reference
    _naive: dict[tuple[int, str], Errors] = field(default_factory=dict)

    @property
    def rule(self) -> Rule:
        return RULES[self.task.family]

    def standards(self, inputs: Inputs, axes: Axes, kind: str, *, is_large: bool) -> tuple[Standard, ...]:
        """One standard an output. `is_large`: rank sizes, where fewer forms are run."""
        want = self.reference.run64(dict(inputs), axes)
        forms = self._forms(inputs, axes, is_large=is_large)
        scales = self._scales(inputs, axes) if self.rule.method is Method.DOT else None
        naive = self._naive_errors(inputs, axes, kind, want[0]) if scales else Errors(0.0, 0.0)
        signed = all(map(has_zero_mean, floats(inputs).values()))
        made = []
        for position, spec in enumerate(self.task.signature.outputs):
            bare = Standard(
                name=spec.name,
                dtype=spec.dtype,
                want=_exact(want[position], forms["eager"][position], spec.dtype),
                rule=self.rule,
                scale=scales[position] if scales else None,
            )
            honest = {name: results[position] for name, results in forms.items()}
            made.append(_allowing(bare, honest, naive, is_signed=signed))
        return tuple(made)

    def _forms(self, inputs: Inputs, axes: Axes, *, is_large: bool) -> dict[str, tuple[torch.Tensor, ...]]:
        forms = {"eager": self.reference.run(dict(inputs), axes)}
        device = forms["eager"][0].device
        elements = sum(t.numel() for t in (*tensors(inputs).values(), *forms["eager"]))
        if device.type != "cpu" and elements <= CPU_LIMIT:
            at_home = {n: v.cpu() if isinstance(v, torch.Tensor) else v for n, v in inputs.items()}
            forms["cpu"] = tuple(result.to(device) for result in self.reference.run(at_home, axes))
        if self.rule.method is Method.PROFILE:  # DOT simulates it, whatever the size
            with Naive():
                forms["naive"] = self.reference.run(dict(inputs), axes)
        draws = 0 if is_large and self.rule.method is Method.DOT else 1 if is_large else DRAWS
        for draw in range(draws):
            moved = {n: _moved(v, draw) if isinstance(v, torch.Tensor) else v for n, v in inputs.items()}
            forms[f"moved{draw}"] = self.reference.run64(moved, axes)
        policy = self.task.precision.policy
        if policy in MANTISSA_BITS and policy not in ("float32", "float64"):
            rounded = {
                n: _rounded(v, policy) if isinstance(v, torch.Tensor) else v for n, v in inputs.items()
            }
            forms["rounded"] = self.reference.run64(rounded, axes)
        return forms

    def _scales(self, inputs: Inputs, axes: Axes) -> tuple[torch.Tensor, ...]:
        """Sum of the absolute products behind each element: the reference of absolute values."""
        absolute = {n: _absolute(v) for n, v in inputs.items()}
        tiny = 1e-300  # an element with no products has no error either
        return tuple(result.to(torch.float64).abs() + tiny for result in self.reference.run64(absolute, axes))

    def _naive_errors(self, inputs: Inputs, axes: Axes, kind: str, want: torch.Tensor) -> Errors:
        length = self._length(inputs, axes)
        key = (length, kind)
        if key not in self._naive:
            self._naive[key] = naive_errors(list(floats(inputs).values()), length)
        rms = self._naive[key].rms
        # The largest of n errors of a normal kind.
        return Errors(rms, rms * sqrt(2 * log(2 * max(2, want.numel()))))

    def _length(self, inputs: Inputs, axes: Axes) -> int:
        """Products in a sum: what the reference makes of ones."""
        if self.task.family is Family.REDUCTION:
            out = sum(result.numel() for result in self.reference.run(dict(inputs), axes))
            return max(1, sum(t.numel() for t in tensors(inputs).values()) // max(1, out))
        ones = {**inputs, **{n: torch.ones_like(v) for n, v in floats(inputs).items()}}
        top = max(float(result.to(torch.float64).abs().max()) for result in self.reference.run64(ones, axes))
        return min(max(1, round(top)), 1 << 24)


def _allowing(
    bare: Standard, honest: Mapping[str, torch.Tensor], naive: Errors, *, is_signed: bool
) -> Standard:
    """The standard with what the honest forms allow."""
    if bare.dtype not in MANTISSA_BITS:
        return bare
    share = 0.0
    if is_signed and ITEM_BYTES[bare.dtype] == 2:  # small errors say something of the arithmetic
        share = max(share_of(honest[name], bare.want) for name in TORCH_OWN if name in honest)
    if bare.scale is not None:
        return replace(bare, share=share, budget=budget_of(bare, honest, naive))
    return replace(bare, share=share, profile=profile_of(bare, honest))


def naive_errors(data: list[torch.Tensor], length: int) -> Errors:
    """Errors, by the sum of absolute products, of float32 sums in order within NAIVE_BLOCK and pairwise above.

    Products are drawn from the first two tensors (or one), so that they have the distribution of the real ones.
    """
    count = min(length, _NAIVE_LIMIT)
    dice = torch.Generator().manual_seed(length)
    columns = [_drawn(tensor, (_LANES, count), dice) for tensor in data[:2]]
    products = columns[0] * columns[1] if len(columns) == 2 else columns[0]
    exact = products.to(torch.float64)
    blocks = [_in_order(block) for block in torch.split(products, NAIVE_BLOCK, dim=1)]
    total = _pairwise(blocks)
    scale = exact.abs().sum(dim=1).clamp(min=1e-300)
    errors = (total.to(torch.float64) - exact.sum(dim=1)).abs() / scale
    rms = float(errors.square().mean().sqrt())
    if any(not has_zero_mean(tensor) for tensor in data[:2]):
        # Positive data: partial sums grow, and a sum in order (honest, if not clever) errs in proportion to length.
        return Errors(rms * max(1.0, length / NAIVE_BLOCK), float(errors.max()))
    return Errors(rms * sqrt(count / length), float(errors.max()))


def _drawn(tensor: torch.Tensor, shape: tuple[int, int], dice: torch.Generator) -> torch.Tensor:
    places = torch.randint(tensor.numel(), shape, generator=dice)
    return tensor.reshape(-1)[places.to(tensor.device)].float().cpu()


def _in_order(block: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(block.shape[0])
    for column in block.t().contiguous():
        total = total + column
    return total


def _pairwise(parts: list[torch.Tensor]) -> torch.Tensor:
    while len(parts) > 1:
        odd = [parts[-1]] if len(parts) % 2 else []
        parts = [one + two for one, two in zip(parts[::2], parts[1::2], strict=False)] + odd
    return parts[0]


def _absolute(value: Value) -> Value:
    if isinstance(value, torch.Tensor):
        return value.abs() if value.is_floating_point() else value
    return abs(value) if isinstance(value, float) else value


def tensors(inputs: Inputs) -> dict[str, torch.Tensor]:
    return {name: value for name, value in inputs.items() if isinstance(value, torch.Tensor)}


def floats(inputs: Inputs) -> dict[str, torch.Tensor]:
    return {name: value for name, value in tensors(inputs).items() if value.is_floating_point()}


def has_zero_mean(tensor: torch.Tensor) -> bool:
    if not tensor.numel():
        return True
    part = tensor.reshape(-1)[: 1 << 22].to(torch.float64)
    return abs(float(part.mean())) <= 0.2 * float(part.square().mean().sqrt())


def _moved(tensor: torch.Tensor, draw: int) -> torch.Tensor:
    """Each float moved to a neighbouring number of its type, up or down; zeros and infinities stay."""
    if not tensor.is_floating_point():
        return tensor
    kind = _INTEGERS[tensor.element_size()]
    dice = torch.Generator(tensor.device).manual_seed(draw)
    step = torch.randint(0, 2, tensor.shape, generator=dice, device=tensor.device, dtype=torch.int8) * 2 - 1
    held = tensor.contiguous()
    moved = (held.view(kind) + step.to(kind)).view(tensor.dtype)
    return torch.where(
        (held == 0) | ~torch.isfinite(held.float()) | ~torch.isfinite(moved.float()), held, moved
    )


def _rounded(tensor: torch.Tensor, policy: str) -> torch.Tensor:
    """Inputs as the task's policy lets a kernel read them; TF32 keeps float32's exponent and 10 bits."""
    if not tensor.is_floating_point():
        return tensor
    if policy != "tf32":
        return tensor.to(getattr(torch, policy)).to(tensor.dtype)
    bits = tensor.float().contiguous().view(torch.int32)
    return ((bits + 0x1000) & ~0x1FFF).view(torch.float32).to(tensor.dtype)


def _exact(want: torch.Tensor, eager: torch.Tensor, dtype: str) -> torch.Tensor:
    """The reference as the comparison wants it: float64 for floats, torch's own values for the rest."""
    if dtype in MANTISSA_BITS:
        return want.to(torch.float64)
    return eager.to(torch.uint8) if dtype == "bool" else eager
