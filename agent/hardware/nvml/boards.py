"""Reads one GPU: takes a device handle; returns a ``Gpu``. Changes nothing."""

from __future__ import annotations

from ctypes import c_uint
from typing import Any, Final

import pynvml

from agent.hardware.errors import HardwareFault, NotSupported
from agent.hardware.nvml.calls import call
from agent.hardware.nvml.names import architecture_name, brand_name
from agent.hardware.types import Bdf, ComputeMode, Gpu, GpuUuid, MigMode, normal_bdf

_COMPUTE_MODES: Final = {
    pynvml.NVML_COMPUTEMODE_DEFAULT: ComputeMode.DEFAULT,
    pynvml.NVML_COMPUTEMODE_EXCLUSIVE_THREAD: ComputeMode.EXCLUSIVE_THREAD,
    pynvml.NVML_COMPUTEMODE_PROHIBITED: ComputeMode.PROHIBITED,
    pynvml.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS: ComputeMode.EXCLUSIVE_PROCESS,
}
_PROCESS_LISTS: Final = (
    ("compute", pynvml.nvmlDeviceGetComputeRunningProcesses_v3),
    ("draw", pynvml.nvmlDeviceGetGraphicsRunningProcesses_v3),
    ("compute under MPS", pynvml.nvmlDeviceGetMPSComputeRunningProcesses_v3),
)


def read_gpu(device: Any, index: int) -> Gpu:
    """Read one GPU. Raises: HardwareError, naming the first value that could not be read."""
    subject = f"GPU {index}"
    uuid = GpuUuid(str(call("read UUID", subject, pynvml.nvmlDeviceGetUUID, device)))
    subject = f"GPU {index} ({uuid})"
    major, minor = call("read compute capability", subject, pynvml.nvmlDeviceGetCudaComputeCapability, device)
    return Gpu(
        uuid=uuid,
        index=index,
        minor=read_minor(device, subject),
        bdf=_bdf(device, subject),
        product_name=str(call("read name", subject, pynvml.nvmlDeviceGetName, device)),
        architecture=read_architecture(device, subject),
        brand=_brand(device, subject),
        cuda_compute_capability=f"{major}.{minor}",
        memory_bytes=_memory_bytes(device, subject),
        mig=read_mig_mode(device, subject),
        is_passthrough=_is_passthrough(device, subject),
        module_id=_module_id(device, subject),
    )


def read_architecture(device: Any, subject: str) -> str:
    """Return the name of the architecture. Raises: HardwareError."""
    return architecture_name(call("read architecture", subject, pynvml.nvmlDeviceGetArchitecture, device))


def read_minor(device: Any, subject: str) -> int:
    """Return the number of a GPU's device node. Raises: HardwareError."""
    return int(call("read minor number", subject, pynvml.nvmlDeviceGetMinorNumber, device))


def read_mig_mode(device: Any, subject: str) -> MigMode | None:
    """Return the MIG mode, None on a model without MIG. Raises: HardwareError."""
    try:
        current, pending = call("read MIG mode", subject, pynvml.nvmlDeviceGetMigMode, device)
    except NotSupported:
        return None
    enabled = pynvml.NVML_DEVICE_MIG_ENABLE
    return MigMode(current == enabled, pending == enabled)


def read_processes(device: Any, subject: str) -> tuple[int, ...]:
    """Return the numbers of the processes that compute or draw on a GPU. Raises: HardwareError."""
    found: set[int] = set()
    for what, function in _PROCESS_LISTS:
        try:
            found.update(one.pid for one in call(f"list processes that {what}", subject, function, device))
        except NotSupported:  # older drivers know fewer kinds
            continue
    return tuple(sorted(found))


def read_compute_mode(device: Any, subject: str) -> ComputeMode:
    """Return which programs may compute on a GPU. Raises: HardwareError."""
    found = call("read compute mode", subject, pynvml.nvmlDeviceGetComputeMode, device)
    if found not in _COMPUTE_MODES:
        raise HardwareFault("read compute mode", subject, f"NVML answered {found}, which is no known mode")
    return _COMPUTE_MODES[found]


def write_compute_mode(device: Any, subject: str, mode: ComputeMode) -> None:
    """Set which programs may compute on a GPU. Raises: HardwareError."""
    number = next(number for number, known in _COMPUTE_MODES.items() if known is mode)
    call(f"set compute mode {mode}", subject, pynvml.nvmlDeviceSetComputeMode, device, number)


def read_memory_bytes(device: Any, subject: str) -> int:
    """Return the total framebuffer. Units: bytes. Raises: HardwareError."""
    return int(call("read memory", subject, pynvml.nvmlDeviceGetMemoryInfo, device).total)


def _brand(device: Any, subject: str) -> str | None:
    try:
        return brand_name(call("read brand", subject, pynvml.nvmlDeviceGetBrand, device))
    except NotSupported:
        return None


def _memory_bytes(device: Any, subject: str) -> int | None:
    """Return the framebuffer, None on an integrated GPU, which uses the node's memory."""
    try:
        return read_memory_bytes(device, subject)
    except NotSupported:
        return None


def _bdf(device: Any, subject: str) -> Bdf:
    address = call("read PCI address", subject, lambda: str(pynvml.nvmlDeviceGetPciInfo(device).busId))
    try:
        return normal_bdf(address)
    except ValueError as error:
        raise HardwareFault("read PCI address", subject, str(error)) from error


def _is_passthrough(device: Any, subject: str) -> bool:
    try:
        mode = call("read virtualization mode", subject, pynvml.nvmlDeviceGetVirtualizationMode, device)
    except NotSupported:
        return False
    return bool(mode == pynvml.NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH)


def _module_id(device: Any, subject: str) -> int | None:
    try:
        # An own place for the answer: pynvml's default one is shared by all threads.
        return int(call("read module id", subject, pynvml.nvmlDeviceGetModuleId, device, c_uint()))
    except NotSupported:
        return None
