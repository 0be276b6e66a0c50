"""The library of a driver whose GPUs raise so many events in a second, for measurements.

The storm begins at the first wait and ends after so many seconds with one event of its own, so that it can be
seen whether the last one is known. Then it writes when that was.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pynvml

from fake_nvml.c import Refused, c_function
from fake_nvml.health import WHOLE_GPU
from fake_nvml.mig import FakeLibrary

XIDS = (13, 31, 43, 48)
LAST_XID = 79


class StormLibrary(FakeLibrary):
    """The whole library. Shape: ``raised`` how many events there were; ``ended`` the file for the last one's
    time and the count. Units: ``lasts_s`` seconds."""

    def __init__(self, gpus: Any, per_second: int, lasts_s: float, ended: Path) -> None:
        super().__init__(gpus)
        self._every_s, self._most = 1 / per_second, round(per_second * lasts_s)
        self._devices = [self._handle(pynvml.c_nvmlDevice_t, "gpu", gpu.uuid) for gpu in gpus.gpus()]
        self._next_at: float | None = None
        self._ended = ended
        self.raised = 0

    @c_function
    def nvmlEventSetWait_v2(self, event_set: Any, data: Any, longest_ms: Any) -> None:
        now = time.monotonic()
        self._next_at = now if self._next_at is None else self._next_at
        until = now + longest_ms.value / 1000
        if self._next_at > until or self.raised > self._most:
            if until > now:
                time.sleep(until - now)
            raise Refused(pynvml.NVML_ERROR_TIMEOUT)
        if self._next_at > now:
            time.sleep(self._next_at - now)
        self._next_at += self._every_s
        is_last = self.raised == self._most
        turn, number = divmod(self.raised, len(self._devices))
        data._obj.device = self._devices[0 if is_last else number]
        data._obj.eventType = pynvml.nvmlEventTypeXidCriticalError
        data._obj.eventData = LAST_XID if is_last else XIDS[turn % len(XIDS)]
        data._obj.gpuInstanceId = data._obj.computeInstanceId = WHOLE_GPU
        self.raised += 1
        if is_last:
            self._ended.write_text(f"{time.monotonic()} {self.raised}")
