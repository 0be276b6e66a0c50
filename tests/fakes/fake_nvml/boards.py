"""The part of the library that describes drivers and boards."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import pynvml

from agent.hardware.errors import HardwareError
from agent.hardware.ports import Gpus
from agent.hardware.simulated import Answered, NvmlFunction, SimulatedGpus
from agent.hardware.simulated.strikes import wrong_answer
from agent.hardware.types import MIB, Gpu
from fake_nvml.c import CODES, Handles, Refused, c_function

BRANDS = {
    None: pynvml.NVML_BRAND_UNKNOWN,
    "Nvidia": pynvml.NVML_BRAND_NVIDIA,
    "Tesla": pynvml.NVML_BRAND_TESLA,
}
ARCHITECTURES = {"Turing": 6, "Ampere": 7, "Ada Lovelace": 8, "Hopper": 9, "Blackwell": 10}

CORES = {"Turing": 64, "Ampere": 64, "Ada Lovelace": 128, "Hopper": 128, "Blackwell": 128}
"""Of a multiprocessor, of the models that are shipped."""

Value = TypeVar("Value")


def _known(value: Value | None) -> Value:
    """Return what a GPU tells; the library refuses what it has not."""
    if value is None:
        raise Refused(pynvml.NVML_ERROR_NOT_SUPPORTED)
    return value


class Boards(Handles):
    """Sessions, versions, devices. Shape: ``sessions`` how many are open.

    The faults of a simulated machine that are about functions of NVML are carried out here, and not below.
    """

    def __init__(self, gpus: Gpus) -> None:
        super().__init__()
        self._above = gpus if isinstance(gpus, SimulatedGpus) else None
        self.gpus = gpus if self._above is None else replace(self._above, has_library=False)
        self.sessions = 0

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return self._faulty(name, found) if name in list(NvmlFunction) else found

    def _faulty(self, name: str, function: Callable[..., int]) -> Callable[..., int]:
        def called(*arguments: Any) -> int:
            card = self._card(arguments[0])
            if self._above is not None and card is not None:
                try:
                    self._above.calls.ask(NvmlFunction(name), card, name)
                except HardwareError as error:
                    code = re.search(r"\((\d+)\)", error.reason)
                    return int(code[1]) if code else CODES[type(error)]
            return function(*arguments)

        return called

    def _card(self, device: Any) -> Any:
        if self._above is None:
            return None
        uuid = self._thing(device)[1]
        return next((card for card in self._above.calls.store.node.cards if card.uuid == uuid), None)

    def _answer(self, device: Any, what: Answered) -> str | None:
        card = self._card(device)
        if self._above is None or card is None:
            return None
        return wrong_answer(self._above.calls.store.read(), card.minor, what)

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
        buffer.value = (self._answer(device, Answered.UUID) or self._thing(device)[1]).encode()

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
        minor._obj.value = int(self._answer(device, Answered.MINOR) or self._gpu(device).minor)

    @c_function
    def nvmlDeviceGetMemoryInfo(self, device, memory):
        answer = self._answer(device, Answered.MEMORY_MIB)
        memory._obj.total = _known(self._gpu(device).memory_bytes if answer is None else int(answer) * MIB)

    @c_function
    def nvmlDeviceGetNumGpuCores(self, device, cores):
        gpu = self._gpu(device)
        cores._obj.value = _known(gpu.multiprocessors) * CORES[gpu.architecture]

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
