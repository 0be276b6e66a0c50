"""The library of a driver whose GPUs raise so many events in a second, for measurements."""

from __future__ import annotations

import time
from typing import Any

import pynvml

from fake_nvml.c import Refused, c_function
from fake_nvml.health import WHOLE_GPU
from fake_nvml.mig import FakeLibrary

XIDS = (13, 31, 43, 48)


class StormLibrary(FakeLibrary):
    """The whole library. Shape: ``raised`` how many events there were."""

    def __init__(self, gpus: Any, per_second: int) -> None:
        super().__init__(gpus)
        self._every_s = 1 / per_second
        self._devices = [self._handle(pynvml.c_nvmlDevice_t, "gpu", gpu.uuid) for gpu in gpus.gpus()]
        self._next_at = time.monotonic()
        self.raised = 0

    @c_function
    def nvmlEventSetWait_v2(self, event_set: Any, data: Any, longest_ms: Any) -> None:
        until, now = time.monotonic() + longest_ms.value / 1000, time.monotonic()
        if self._next_at > until:
            time.sleep(max(0.0, until - now))
            raise Refused(pynvml.NVML_ERROR_TIMEOUT)
        time.sleep(max(0.0, self._next_at - now))
        self._next_at += self._every_s
        data._obj.device = self._devices[self.raised % len(self._devices)]
        data._obj.eventType = pynvml.nvmlEventTypeXidCriticalError
        data._obj.eventData = XIDS[self.raised // len(self._devices) % len(XIDS)]
        data._obj.gpuInstanceId = data._obj.computeInstanceId = WHOLE_GPU
        self.raised += 1
