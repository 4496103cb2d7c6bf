"""What the driver and NVML say of the GPU, by ctypes: no torch, no child process."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cutegen_git.words.device import Device, slug_of

# CUdevice_attribute numbers of cuda.h.
_SM_COUNT, _L2_BYTES, _SM_MAJOR, _SM_MINOR = 16, 38, 75, 76
_CLOCK_SM, _CLOCK_MEMORY, _TEMPERATURE_GPU = 1, 2, 0  # nvml.h


@dataclass(frozen=True, slots=True)
class Found:
    """The first visible GPU."""

    device: Device
    pci_bus: str  # "0000:01:00.0": NVML and CUDA may number devices differently
    libcuda: str  # folder of the driver's library


def find_gpu() -> Found | str:
    """The GPU, or why there is none."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no NVIDIA driver (libcuda.so.1 is not there)"
    code = cuda.cuInit(0)
    count = ctypes.c_int(0)
    if code == 0:
        code = cuda.cuDeviceGetCount(ctypes.byref(count))
    if code != 0 or count.value == 0:
        return f"the NVIDIA driver finds no usable GPU (CUDA driver error {code})" if code else "no GPU"
    name, memory, bus = ctypes.create_string_buffer(128), ctypes.c_size_t(0), ctypes.create_string_buffer(32)
    cuda.cuDeviceGetName(name, 128, 0)
    cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), 0)
    cuda.cuDeviceGetPCIBusId(bus, 32, 0)
    text, pci = name.value.decode(), bus.value.decode()
    facts = Device(
        slug=slug_of(text),
        name=text,
        sm=10 * _attribute(cuda, _SM_MAJOR) + _attribute(cuda, _SM_MINOR),
        memory_bytes=memory.value,
        l2_bytes=_attribute(cuda, _L2_BYTES),
        sm_count=_attribute(cuda, _SM_COUNT),
        driver=Monitor(pci).driver,
    )
    return Found(facts, pci, _folder_of("libcuda.so"))


def _attribute(cuda: ctypes.CDLL, number: int) -> int:
    value = ctypes.c_int(0)
    cuda.cuDeviceGetAttribute(ctypes.byref(value), number, 0)
    return value.value


def _folder_of(library: str) -> str:
    """Where a library that this process has loaded lies."""
    with Path("/proc/self/maps").open() as maps:
        for line in maps:
            path = line.split(maxsplit=5)[-1].strip()
            if library in path:
                return path.rpartition("/")[0]
    return ""


@dataclass
class Monitor:
    """Clocks and limits of one GPU by NVML. Zeros and "" where NVML is missing."""

    pci_bus: str
    _nvml: ctypes.CDLL | None = field(init=False, default=None)
    _handle: ctypes.c_void_p = field(init=False, default_factory=ctypes.c_void_p)

    def __post_init__(self) -> None:
        try:
            nvml = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return
        if nvml.nvmlInit_v2() != 0:
            return
        if nvml.nvmlDeviceGetHandleByPciBusId_v2(self.pci_bus.encode(), ctypes.byref(self._handle)) == 0:
            self._nvml = nvml

    @property
    def driver(self) -> str:
        text = ctypes.create_string_buffer(80)
        if self._nvml is None or self._nvml.nvmlSystemGetDriverVersion(text, 80) != 0:
            return ""
        return text.value.decode()

    def sm_mhz(self) -> int:
        return self._number("nvmlDeviceGetClockInfo", _CLOCK_SM)

    def state(self) -> Mapping[str, str]:
        """Clocks, temperature, power and throttle bits now, in words."""
        watts = self._number("nvmlDeviceGetPowerManagementLimit") // 1000  # milliwatts
        return {
            "sm_mhz": str(self.sm_mhz()),
            "memory_mhz": str(self._number("nvmlDeviceGetClockInfo", _CLOCK_MEMORY)),
            "temperature_c": str(self._number("nvmlDeviceGetTemperature", _TEMPERATURE_GPU)),
            "power_limit_w": str(watts),
            "throttle_bits": hex(self._number("nvmlDeviceGetCurrentClocksThrottleReasons", wide=True)),
        }

    def _number(self, name: str, *arguments: int, wide: bool = False) -> int:
        value = ctypes.c_ulonglong(0) if wide else ctypes.c_uint(0)
        if self._nvml is None:
            return 0
        code = getattr(self._nvml, name)(self._handle, *arguments, ctypes.byref(value))
        return int(value.value) if code == 0 else 0
