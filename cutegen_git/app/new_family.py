"""The family of a reference, guessed from the operations that torch runs for it."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from cutegen_git.core.shapes import shape_of
from cutegen_git.judge.reference import Trace
from cutegen_git.words.task import Family, Signature

_MATMUL = {"mm", "bmm", "addmm", "baddbmm", "mv", "addmv", "dot", "vdot", "addbmm", "_int_mm", "_scaled_mm"}
_CONV = {"convolution", "_convolution", "convolution_overrideable"}
_NORM = {"native_layer_norm", "native_group_norm", "native_batch_norm", "_native_batch_norm_legit", "_fused_rms_norm",
         "native_norm", "_batch_norm_with_update", "cudnn_batch_norm"}  # fmt: skip
_SOFTMAX = {"_softmax", "_log_softmax"}
_SCAN = {"cumsum", "cumprod", "logcumsumexp", "cummax", "cummin", "_cummax_helper", "_cummin_helper"}
_REDUCTION = {"sum", "mean", "max", "min", "amax", "amin", "aminmax", "argmax", "argmin", "prod", "var", "std", "all",
              "any", "var_mean", "std_mean", "norm", "linalg_vector_norm", "logsumexp", "nansum", "median", "topk",
              "count_nonzero"}  # fmt: skip
_MOVEMENT = {"view", "_unsafe_view", "reshape", "permute", "transpose", "t", "expand", "slice", "select", "squeeze",
             "unsqueeze", "clone", "copy", "copy_", "_to_copy", "cat", "stack", "flip", "roll", "index", "index_select",
             "gather", "scatter", "pad", "constant_pad_nd", "as_strided", "detach", "alias", "split", "unbind", "empty",
             "zeros", "ones", "zeros_like", "ones_like", "full", "full_like", "arange", "triu", "tril", "repeat",
             "contiguous", "narrow", "unfold", "reflection_pad2d", "replication_pad2d", "diagonal", "diag_embed",
             "pixel_shuffle", "embedding", "lift_fresh", "empty_like", "new_zeros", "fill_", "zero_", "empty_strided",
             "upsample_nearest2d", "unsafe_split", "split_with_sizes", "rot90", "scatter_", "index_put_",
             "scalar_tensor", "eye", "_reshape_alias", "chunk", "movedim", "select_scatter"}  # fmt: skip


def guess(trace: Trace) -> Family:
    """The family that the operations tell."""
    kinds = {_kind(op) for op in trace.ops}
    kinds.discard(Family.MOVEMENT)
    ops = set(trace.ops)
    if Family.ATTENTION in kinds or (
        _SOFTMAX & ops and _count(trace.ops, _MATMUL) >= 2 and not kinds & {Family.CONV}
    ):
        return (
            Family.ATTENTION
            if len(kinds - {Family.MATMUL, Family.SOFTMAX, Family.ELEMENTWISE}) <= 1
            else Family.FUSED
        )
    for heavy in (Family.MATMUL, Family.CONV):
        if heavy in kinds:
            return heavy if kinds == {heavy} else Family.FUSED
    if _is_loss(trace.signature, kinds, ops):
        return Family.LOSS
    kinds.discard(Family.ELEMENTWISE)
    if not kinds:
        return Family.ELEMENTWISE if any(_kind(op) is Family.ELEMENTWISE for op in ops) else Family.MOVEMENT
    if kinds == {Family.REDUCTION} and _same_size(trace.signature):
        return Family.NORM  # x / mean(x**2): a reduction that comes back to every element
    if kinds == {Family.NORM, Family.REDUCTION}:
        return Family.FUSED
    return kinds.pop() if len(kinds) == 1 else Family.FUSED


def _kind(op: str) -> Family:
    for family, ops in (
        (Family.MATMUL, _MATMUL),
        (Family.CONV, _CONV),
        (Family.NORM, _NORM),
        (Family.SOFTMAX, _SOFTMAX),
        (Family.SCAN, _SCAN),
        (Family.REDUCTION, _REDUCTION),
        (Family.MOVEMENT, _MOVEMENT),
    ):
        if op in ops:
            return family
    if "attention" in op:
        return Family.ATTENTION
    if "pool" in op:
        return Family.REDUCTION
    return Family.LOSS if "_loss" in op or "cross_entropy" in op else Family.ELEMENTWISE


def _count(ops: Iterable[str], kind: set[str]) -> int:
    return sum(op in kind for op in ops)


def _is_loss(signature: Signature, kinds: set[Family], ops: set[str]) -> bool:
    if Family.LOSS in kinds:
        return True
    is_scalar = all(not spec.shape for spec in signature.outputs)
    data = [spec for spec in signature.tensors() if not spec.constant]
    return is_scalar and len(data) >= 2 and (Family.REDUCTION in kinds or "norm" in ops)


def _same_size(signature: Signature) -> bool:
    first = signature.tensors()[:1]
    return bool(first) and prod(shape_of(first[0], {})) == prod(shape_of(signature.outputs[0], {}))
