"""Calls an exported kernel on torch's tensors. Shipped with every export, so it imports nothing of cutegen-git.

A call is refused, with the reason, unless everything that was verified holds: dtypes, shapes that fit together,
compile-time axes, strides, alignment, device. Whoever calls then runs the torch reference instead. Memory comes
from torch's allocator and work goes to the current stream, so that CUDA graphs can capture a call.
"""

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from .export_spec import KernelSpec, Sizes, same_strides

NOT_SUPPORTED = 801  # cudaErrorNotSupported: the kernel itself refuses these sizes
SCALARS: Mapping[str, tuple[type, ...]] = {"float": (float, int), "int": (int,), "bool": (bool,)}


class KernelLibrary(NamedTuple):
    """The functions of a built kernel; None for those that it does without."""

    launch: Any
    workspace_bytes: Any
    prepare: Any
    setup: Any


def load_library(path: Path) -> KernelLibrary:
    loaded, pointer = ctypes.CDLL(str(path)), ctypes.c_void_p
    functions = KernelLibrary(*(getattr(loaded, name, None) for name in KernelLibrary._fields))
    functions.launch.argtypes = [pointer, pointer]
    if functions.workspace_bytes:
        functions.workspace_bytes.argtypes, functions.workspace_bytes.restype = [pointer], ctypes.c_size_t
    if functions.prepare:
        functions.prepare.argtypes = [pointer, pointer, pointer]
    if functions.setup:
        functions.setup.argtypes = [pointer]
    return functions


class KernelPlan(NamedTuple):
    """All that depends on shapes alone."""

    sizes: Sizes
    library: KernelLibrary
    data: bytes  # of Args: the axes, all else zero
    outputs: tuple[tuple[Any, Any], ...]  # shape, strides


class PackedWeights(NamedTuple):
    """What `prepare` made, and of what."""

    storages: tuple[StorageWeakRef, ...]
    versions: tuple[int, ...]
    buffer: torch.Tensor


class Kernel:
    """A kernel ready to be called. `build` gives the library for the sizes of the compile-time axes."""

    device_type = "cuda"

    def __init__(self, spec: KernelSpec, build: Callable[[tuple[int, ...], tuple[int, int]], Path]) -> None:
        self.spec, self.build = spec, build
        self.libraries: dict[Any, KernelLibrary] = {}
        self.plans: dict[Any, KernelPlan | str] = {}
        self.packed: dict[Any, PackedWeights] = {}
        self.ready: set[Any] = set()

    def run(
        self, values: Mapping[str, Any], allow: Callable[[Sizes], str] = lambda sizes: ""
    ) -> list[torch.Tensor] | str:
        """The outputs, or why the kernel was not called. `allow` may refuse sizes with a reason."""
        tensors = [values[spec.name] for spec in self.spec.tensors]
        plan = self.plan(tensors)
        if isinstance(plan, str):
            return plan
        why = allow(plan.sizes) or self.odd_value(values, tensors)
        if why:
            return why
        with self.on(tensors[0].device):
            return self.call(plan, dict(values), tensors)

    def odd_value(self, values: Mapping[str, Any], tensors: Sequence[torch.Tensor]) -> str:
        """What only the call itself shows: pointers and scalars. "" if all is well."""
        for spec, tensor in zip(self.spec.tensors, tensors, strict=True):
            if tensor.data_ptr() % spec.align:
                return f"{spec.name} is not aligned to {spec.align} bytes"
        for name, kind in self.spec.scalars:
            value = values[name]
            if not isinstance(value, SCALARS[kind]) or (isinstance(value, bool) and kind != "bool"):
                return f"{name} is no {kind}"
        return ""

    def plan(self, tensors: Sequence[torch.Tensor]) -> KernelPlan | str:
        """Kept for every set of shapes, strides, dtypes and devices."""
        if not all(isinstance(tensor, torch.Tensor) for tensor in tensors):
            return "an input is no tensor"
        key = tuple((t.shape, t.stride(), t.dtype, t.device) for t in tensors)
        if key not in self.plans:
            if len(self.plans) >= 256:
                self.plans.clear()
            self.plans[key] = self.new_plan(tensors)
        return self.plans[key]

    def new_plan(self, tensors: Sequence[torch.Tensor]) -> KernelPlan | str:
        devices = {tensor.device for tensor in tensors}
        if len(devices) != 1 or next(iter(devices)).type != self.device_type:
            return f"the inputs are on {', '.join(sorted(map(str, devices)))}"
        sizes = self.spec.sizes(tensors)
        if isinstance(sizes, str):
            return sizes
        layouts = self.spec.layouts(sizes)
        for spec, tensor in zip(self.spec.tensors, tensors, strict=True):
            if not same_strides(tensor, layouts[spec.name][1]):
                return f"{spec.name} has strides {tensor.stride()}, the kernel takes {layouts[spec.name][1]}"
        capability = self.capability(tensors[0].device)
        if capability[0] * 10 + capability[1] < int("".join(filter(str.isdigit, self.spec.arch))):
            return f"this GPU is older than {self.spec.arch}"
        library = self.library(tuple(sizes[axis] for axis in self.spec.static), capability)
        data = bytearray(self.spec.size)
        for name, form, offset in self.spec.members:
            if name in sizes:
                struct.pack_into(form, data, offset, sizes[name])
        return KernelPlan(
            sizes, library, bytes(data), tuple(layouts[spec.name] for spec in self.spec.outputs)
        )

    def library(self, static: tuple[int, ...], capability: tuple[int, int]) -> KernelLibrary:
        """Built and loaded at the first need."""
        key = (static, capability)
        if key not in self.libraries:
            self.libraries[key] = load_library(self.build(static, capability))
        return self.libraries[key]

    def call(
        self, plan: KernelPlan, values: dict[str, Any], tensors: Sequence[torch.Tensor]
    ) -> list[torch.Tensor] | str:
        """Everything in the order that the kernel's ABI promises: workspace, setup, prepare, launch."""
        device, library = tensors[0].device, plan.library
        outputs = []
        for spec, (shape, strides) in zip(self.spec.outputs, plan.outputs, strict=True):
            made = torch.empty_strided(shape, strides, dtype=spec.dtype, device=device)
            if spec.alias:
                values[spec.alias] = made.copy_(values[spec.alias])
            outputs.append(made)
        given = {spec.name: made for spec, made in zip(self.spec.outputs, outputs, strict=True)}
        memory = self.filled(plan.data, {**values, **given})
        arguments = (ctypes.c_uint64 * (len(memory) // 8)).from_buffer(memory)
        place, stream = ctypes.addressof(arguments), self.stream(device)
        held = []  # until launch has been enqueued: afterwards the stream's order protects it
        if library.workspace_bytes:
            held.append(torch.empty(library.workspace_bytes(place), dtype=torch.uint8, device=device))
            struct.pack_into("<Q", memory, self.offset("workspace"), held[-1].data_ptr())
        code = self.set_up(plan, place, device)
        if not code and library.prepare:
            code, buffer = self.pack(plan, values, place, device)
            held.append(buffer)
            struct.pack_into("<Q", memory, self.offset("packed"), buffer.data_ptr())
        code = code or library.launch(place, stream)
        if code == NOT_SUPPORTED:
            return "the kernel does not support these sizes (cudaErrorNotSupported)"
        if code:
            self.fail(code)
        return outputs

    def filled(self, data: bytes, values: Mapping[str, Any]) -> bytearray:
        """Args with the pointers and scalars of one call."""
        memory = bytearray(data)
        for name, form, offset in self.spec.members:
            value = values.get(name)
            if value is not None:
                number = value.data_ptr() if isinstance(value, torch.Tensor) else value
                struct.pack_into(form, memory, offset, number)
        return memory

    def set_up(self, plan: KernelPlan, place: int, device: torch.device) -> int:
        if not plan.library.setup:
            return 0
        key = (device, tuple(plan.sizes.values()))
        if key in self.ready:
            return 0
        code: int = plan.library.setup(place)
        if not code:
            self.ready.add(key)
        return code

    def pack(
        self, plan: KernelPlan, values: Mapping[str, Any], place: int, device: torch.device
    ) -> tuple[int, torch.Tensor]:
        """prepare's error code and the packed weights, made again when a weight was changed or replaced."""
        weights = [values[spec.name] for spec in self.spec.tensors if spec.constant]
        scalars = tuple(values[name] for name, _ in self.spec.scalars)
        key = (tuple(w.data_ptr() for w in weights), tuple(plan.sizes.values()), scalars, device)
        known = self.packed.get(key)
        if known and any(storage.expired() for storage in known.storages):  # type: ignore[no-untyped-call]
            known = None
        # Inference tensors count no versions: whether one has changed cannot be known.
        counted = not any(weight.is_inference() for weight in weights)
        versions = tuple(weight._version for weight in weights) if counted else ()
        if known and counted and known.versions == versions:
            return 0, known.buffer
        capturing = self.capturing()
        if known and not capturing:
            self.wait(device)  # another stream may still read what is overwritten now
            buffer = known.buffer  # a captured graph holds its address
        else:
            room = 2 * sum(weight.numel() * weight.element_size() for weight in weights) + (1 << 20)
            buffer = torch.empty(room, dtype=torch.uint8, device=device)
        code: int = plan.library.prepare(place, buffer.data_ptr(), self.stream(device))
        if not code and not capturing:  # memory of a graph belongs to it: there it is packed at every replay
            self.wait(device)
            self.forget()
            storages = tuple(StorageWeakRef(weight.untyped_storage()) for weight in weights)  # type: ignore[no-untyped-call]
            self.packed[key] = PackedWeights(storages, versions, buffer)
        return code, buffer

    def forget(self) -> None:
        """Drops what was packed of weights that are gone."""
        for key, known in list(self.packed.items()):
            if any(storage.expired() for storage in known.storages):  # type: ignore[no-untyped-call]
                del self.packed[key]

    def repack(self) -> None:
        """Packs all weights again at their next use: needed after a change through `.data`, which torch hides."""
        for key, known in self.packed.items():
            self.packed[key] = known._replace(versions=())

    def offset(self, member: str) -> int:
        return next(offset for name, _, offset in self.spec.members if name == member)

    def on(self, device: torch.device) -> Any:
        return torch.cuda.device(device)

    def stream(self, device: torch.device) -> int:
        return int(torch.cuda.current_stream(device).cuda_stream)

    def capability(self, device: torch.device) -> tuple[int, int]:
        return torch.cuda.get_device_capability(device)

    def capturing(self) -> bool:
        return bool(torch.cuda.is_current_stream_capturing())

    def wait(self, device: torch.device) -> None:
        torch.cuda.synchronize(device)

    def fail(self, code: int) -> None:
        raise RuntimeError(f"{self.spec.name}: the kernel fails with CUDA error {code}")
