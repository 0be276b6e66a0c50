"""Reads one GPU: takes a device handle; returns a ``Gpu``. Changes nothing."""

from __future__ import annotations

from ctypes import c_uint
from typing import Any

import pynvml

from agent.hardware.errors import HardwareFault, NotSupported
from agent.hardware.nvml.calls import call
from agent.hardware.nvml.names import architecture_name, brand_name
from agent.hardware.types import Bdf, Gpu, GpuUuid, MigMode, normal_bdf


def read_gpu(device: Any, index: int) -> Gpu:
    """Read one GPU. Raises: HardwareError, naming the first value that could not be read."""
    subject = f"GPU {index}"
    uuid = GpuUuid(str(call("read UUID", subject, pynvml.nvmlDeviceGetUUID, device)))
    subject = f"GPU {index} ({uuid})"
    brand = call("read brand", subject, pynvml.nvmlDeviceGetBrand, device)
    major, minor = call("read compute capability", subject, pynvml.nvmlDeviceGetCudaComputeCapability, device)
    return Gpu(
        uuid=uuid,
        index=index,
        minor=read_minor(device, subject),
        bdf=_bdf(device, subject),
        product_name=str(call("read name", subject, pynvml.nvmlDeviceGetName, device)),
        architecture=read_architecture(device, subject),
        brand=brand_name(brand),
        cuda_compute_capability=f"{major}.{minor}",
        memory_bytes=read_memory_bytes(device, subject),
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


def read_memory_bytes(device: Any, subject: str) -> int:
    """Return the total framebuffer. Units: bytes. Raises: HardwareError."""
    return int(call("read memory", subject, pynvml.nvmlDeviceGetMemoryInfo, device).total)


def _bdf(device: Any, subject: str) -> Bdf:
    address = str(call("read PCI address", subject, pynvml.nvmlDeviceGetPciInfo, device).busId)
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
