"""Reads one GPU: takes a device handle; returns a ``Gpu``. Changes nothing."""

from __future__ import annotations

from ctypes import c_uint
from functools import partial
from typing import Any, Final

import pynvml

from agent.hardware.driver.nvml_rules import has_longer_process_records, newest_form
from agent.hardware.errors import HardwareError, HardwareFault, NotSupported
from agent.hardware.nvml.calls import call
from agent.hardware.nvml.names import architecture_name, brand_name, cores_of_multiprocessor
from agent.hardware.types import Bdf, ComputeMode, Gpu, GpuUuid, MigMode, normal_bdf

_COMPUTE_MODES: Final = {
    pynvml.NVML_COMPUTEMODE_DEFAULT: ComputeMode.DEFAULT,
    pynvml.NVML_COMPUTEMODE_EXCLUSIVE_THREAD: ComputeMode.EXCLUSIVE_THREAD,
    pynvml.NVML_COMPUTEMODE_PROHIBITED: ComputeMode.PROHIBITED,
    pynvml.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS: ComputeMode.EXCLUSIVE_PROCESS,
}
_PROCESS_LISTS: Final = (
    (
        "compute",
        pynvml.nvmlDeviceGetComputeRunningProcesses_v3,
        pynvml.nvmlDeviceGetComputeRunningProcesses_v2,
    ),
    (
        "draw",
        pynvml.nvmlDeviceGetGraphicsRunningProcesses_v3,
        pynvml.nvmlDeviceGetGraphicsRunningProcesses_v2,
    ),
    (
        "compute under MPS",
        pynvml.nvmlDeviceGetMPSComputeRunningProcesses_v3,
        pynvml.nvmlDeviceGetMPSComputeRunningProcesses_v2,
    ),
)
"""The lists and their forms, whose records are alike. Drivers before 510 and 535.98 lack the newest."""


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
        bdf=read_address(device, subject),
        product_name=str(call("read name", subject, pynvml.nvmlDeviceGetName, device)),
        architecture=read_architecture(device, subject),
        brand=_brand(device, subject),
        cuda_compute_capability=f"{major}.{minor}",
        memory_bytes=_memory_bytes(device, subject),
        mig=read_mig_mode(device, subject),
        is_passthrough=_is_passthrough(device, subject),
        module_id=_module_id(device, subject),
        multiprocessors=_multiprocessors(device, subject, major, minor),
    )


def read_architecture(device: Any, subject: str) -> str:
    """Return the name of the architecture. Raises: HardwareError."""
    return architecture_name(call("read architecture", subject, pynvml.nvmlDeviceGetArchitecture, device))


def read_minor(device: Any, subject: str) -> int:
    """Return the number of a GPU's device node, negative if it has none. Raises: HardwareError."""
    minor = int(call("read minor number", subject, pynvml.nvmlDeviceGetMinorNumber, device))
    return minor if minor < 2**31 else minor - 2**32  # NVML has no sign for it


def read_mig_mode(device: Any, subject: str) -> MigMode | None:
    """Return the MIG mode, None on a model without MIG. Raises: HardwareError."""
    try:
        current, pending = call("read MIG mode", subject, pynvml.nvmlDeviceGetMigMode, device)
    except NotSupported:
        return None
    enabled = pynvml.NVML_DEVICE_MIG_ENABLE
    return MigMode(current == enabled, pending == enabled)


def read_processes(device: Any, subject: str, driver_version: str) -> tuple[int, ...]:
    """Return the numbers of the processes that compute or draw on a GPU.

    Raises: HardwareError; NotSupported if the driver has no list of the programs that compute. Then nothing
            is known of them, whatever the other lists say.
    """
    found: set[int] = set()
    has_longer_records = has_longer_process_records(driver_version)
    for what, newest, before in _PROCESS_LISTS:
        forms = (before,) if has_longer_records else (newest, before)
        attempted = f"list processes that {what}"
        try:
            listed = newest_form(*(partial(call, attempted, subject, form, device) for form in forms))
        except NotSupported:
            if newest is pynvml.nvmlDeviceGetComputeRunningProcesses_v3:
                raise
            continue  # older drivers have fewer lists: programs under MPS are among those that compute
        found.update(one.pid for one in listed)
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


def read_address(device: Any, subject: str) -> Bdf:
    """Return the PCI address. Raises: HardwareError."""
    attempted = "read PCI address"
    info = call(attempted, subject, pynvml.nvmlDeviceGetPciInfo_v3, device)
    try:
        return normal_bdf(str(call(attempted, subject, getattr, info, "busId")))
    except ValueError as error:
        raise HardwareFault("read PCI address", subject, str(error)) from error


def _is_passthrough(device: Any, subject: str) -> bool:
    try:
        mode = call("read virtualization mode", subject, pynvml.nvmlDeviceGetVirtualizationMode, device)
    except NotSupported:
        return False
    return bool(mode == pynvml.NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH)


def _multiprocessors(device: Any, subject: str, major: int, minor: int) -> int | None:
    """Return the multiprocessors of the hardware, None if the driver counts no cores, or the model is new."""
    per_multiprocessor = cores_of_multiprocessor(major, minor)
    try:
        cores = int(call("read the number of cores", subject, pynvml.nvmlDeviceGetNumGpuCores, device))
    except HardwareError:  # older drivers lack it, and no device depends on it
        return None
    return cores // per_multiprocessor if per_multiprocessor and cores else None


def _module_id(device: Any, subject: str) -> int | None:
    try:
        # An own place for the answer: pynvml's default one is shared by all threads.
        return int(call("read module id", subject, pynvml.nvmlDeviceGetModuleId, device, c_uint()))
    except NotSupported:
        return None
