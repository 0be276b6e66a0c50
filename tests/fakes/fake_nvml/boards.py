"""The part of the library that describes drivers and boards."""

from __future__ import annotations

from typing import Any, TypeVar

import pynvml

from agent.hardware.ports import Gpus
from agent.hardware.types import Gpu
from fake_nvml.c import Handles, Refused, c_function

BRANDS = {
    None: pynvml.NVML_BRAND_UNKNOWN,
    "Nvidia": pynvml.NVML_BRAND_NVIDIA,
    "Tesla": pynvml.NVML_BRAND_TESLA,
}
ARCHITECTURES = {"Turing": 6, "Ampere": 7, "Ada Lovelace": 8, "Hopper": 9, "Blackwell": 10}

Value = TypeVar("Value")


def _known(value: Value | None) -> Value:
    """Return what a GPU tells; the library refuses what it has not."""
    if value is None:
        raise Refused(pynvml.NVML_ERROR_NOT_SUPPORTED)
    return value


class Boards(Handles):
    """Sessions, versions, devices. Shape: ``sessions`` how many are open."""

    def __init__(self, gpus: Gpus) -> None:
        super().__init__()
        self.gpus = gpus
        self.sessions = 0

    @c_function
    def nvmlInitWithFlags(self, flags):
        self.sessions += 1

    @c_function
    def nvmlShutdown(self):
        self.sessions -= 1

    @c_function
    def nvmlSystemGetDriverVersion(self, buffer, length):
        buffer.value = self.gpus.versions().driver.encode()

    @c_function
    def nvmlSystemGetCudaDriverVersion(self, version):
        major, minor = self.gpus.versions().cuda.split(".")
        version._obj.value = int(major) * 1000 + int(minor) * 10

    @c_function
    def nvmlDeviceGetCount_v2(self, count):
        count._obj.value = len(self.gpus.gpus())

    @c_function
    def nvmlDeviceGetHandleByIndex_v2(self, index, device):
        gpu = self.gpus.gpus()[index.value]
        if not isinstance(gpu, Gpu):
            raise Refused(pynvml.NVML_ERROR_GPU_IS_LOST)
        self._hand_out(device._obj, "gpu", gpu.uuid)

    @c_function
    def nvmlDeviceGetHandleByUUID(self, uuid, device):
        text = uuid.value.decode()
        gpus = self.gpus.gpus()
        if all(gpu.uuid != text for gpu in gpus if isinstance(gpu, Gpu)):
            # nvml.h: lost is the answer as soon as any GPU is, since nobody can ask that one for its UUID.
            is_one_lost = any(not isinstance(gpu, Gpu) for gpu in gpus)
            raise Refused(pynvml.NVML_ERROR_GPU_IS_LOST if is_one_lost else pynvml.NVML_ERROR_NOT_FOUND)
        self._hand_out(device._obj, "gpu", text)

    @c_function
    def nvmlDeviceGetUUID(self, device, buffer, length):
        buffer.value = self._thing(device)[1].encode()

    @c_function
    def nvmlDeviceGetPciInfo_v3(self, device, info):
        domain, _, rest = self._gpu(device).bdf.partition(":")
        info._obj.busId = f"{int(domain, 16):08X}:{rest.upper()}".encode()

    @c_function
    def nvmlDeviceGetName(self, device, buffer, length):
        buffer.value = self._gpu(device).product_name.encode()

    @c_function
    def nvmlDeviceGetBrand(self, device, brand):
        brand._obj.value = BRANDS[self._gpu(device).brand]

    @c_function
    def nvmlDeviceGetArchitecture(self, device, architecture):
        architecture._obj.value = ARCHITECTURES[self._gpu(device).architecture]

    @c_function
    def nvmlDeviceGetCudaComputeCapability(self, device, major, minor):
        capability = self._gpu(device).cuda_compute_capability.split(".")
        major._obj.value, minor._obj.value = (int(part) for part in capability)

    @c_function
    def nvmlDeviceGetMinorNumber(self, device, minor):
        minor._obj.value = self._gpu(device).minor

    @c_function
    def nvmlDeviceGetMemoryInfo(self, device, memory):
        memory._obj.total = _known(self._gpu(device).memory_bytes)

    @c_function
    def nvmlDeviceGetVirtualizationMode(self, device, mode):
        mode._obj.value = int(self._gpu(device).is_passthrough)

    @c_function
    def nvmlDeviceGetModuleId(self, device, module):
        found = self._gpu(device).module_id
        if found is None:
            raise Refused(pynvml.NVML_ERROR_NOT_SUPPORTED)
        module._obj.value = found

    def _gpu(self, device: Any) -> Gpu:
        uuid = self._thing(device)[1]
        gpus = [gpu for gpu in self.gpus.gpus() if isinstance(gpu, Gpu) and gpu.uuid == uuid]
        if not gpus:
            raise Refused(pynvml.NVML_ERROR_GPU_IS_LOST)
        return gpus[0]
