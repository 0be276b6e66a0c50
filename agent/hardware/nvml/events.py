"""The events of a session's GPUs: registers GPU by GPU, waits for all of them together.

A GPU that fails may raise thousands of events in a second. So equal events are counted here, in the process
where the driver's library is, and a moment is waited for more of them before they are told.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from ctypes import c_void_p, cast
from dataclasses import replace
from typing import Any, Final

import pynvml

from agent.hardware.errors import HardwareError, NotSupported, TimedOut
from agent.hardware.health.types import GpuEvent, GpuEventKind
from agent.hardware.nvml.calls import call
from agent.hardware.types import GpuUuid

Away = Callable[[], AbstractContextManager[None]]
"""Surrounds the time in which nothing but waiting is done."""

COLLECTED_S: Final = 0.05
"""How long more events are collected after the first one."""
_PAUSE_S: Final = 0.01
MOST_KINDS: Final = 256
"""More different events than GPUs raise at once; an answer with so many is told at once."""
_LONGEST_S: Final = 3600.0
_WHOLE_GPU: Final = 0xFFFFFFFF
_KINDS: Final = {
    pynvml.nvmlEventTypeXidCriticalError: GpuEventKind.XID,
    pynvml.nvmlEventTypeDoubleBitEccError: GpuEventKind.UNCORRECTABLE_ECC,
    pynvml.nvmlEventMigConfigChange: GpuEventKind.MIG_CHANGED,
    pynvml.nvmlEventTypeGpuUnavailableError: GpuEventKind.UNAVAILABLE,
    pynvml.nvmlEventTypeGpuRecoveryAction: GpuEventKind.RECOVERY_CHANGED,
}
_ALL_KINDS: Final = sum(_KINDS)
_NODE: Final = "this node"


class EventSet:
    """NVML's event set. One thread waits at a time. Units: ``clock`` and ``sleep`` seconds."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._set: Any = None
        self._gpus: dict[int | None, GpuUuid] = {}

    def watch(self, gpu: GpuUuid, device: Any) -> None:
        """Register a GPU for those events that it knows.

        Raises: NotSupported where it knows none of those that are read.
        """
        attempted, subject = "register for events", f"GPU {gpu}"
        kinds = call(attempted, subject, pynvml.nvmlDeviceGetSupportedEventTypes, device) & _ALL_KINDS
        if not kinds:
            raise NotSupported(attempted, subject, "it reports none of the events that are read")
        if self._set is None:
            self._set = call("create an event set", _NODE, pynvml.nvmlEventSetCreate)
        call(attempted, subject, pynvml.nvmlDeviceRegisterEvents, device, kinds, self._set)
        self._gpus[_address(device)] = gpu

    def wait(self, longest_s: float, away: Away = nullcontext) -> tuple[GpuEvent, ...]:
        """Return the events that came, equal ones as one; none where nothing came in so many seconds.

        Raises: HardwareError; then no GPU is registered any more.
        """
        try:
            with away():
                first = self._next(longest_s)
            return () if first is None else self._collected(first)
        except HardwareError:
            self.close()
            raise

    def close(self) -> None:
        """Forget all registrations."""
        taken, self._set = self._set, None
        self._gpus.clear()
        if taken is not None:
            with suppress(HardwareError):
                call("free the event set", _NODE, pynvml.nvmlEventSetFree, taken)

    def _collected(self, first: Any) -> tuple[GpuEvent, ...]:
        """Return the first event with those that come within a moment, or until an error.

        The next call meets the error again, unless it was for once: what was heard before is not lost.
        """
        found = {_key(first): (first, 1)}
        until = self._clock() + COLLECTED_S
        with suppress(HardwareError):
            while len(found) < MOST_KINDS and self._clock() < until:
                data = self._next(0)
                if data is None:
                    self._sleep(_PAUSE_S)  # far fewer wake-ups than events, and few events lie in the driver
                    continue
                key = _key(data)
                found[key] = data, found[key][1] + 1 if key in found else 1
        return self._counted(found.values())

    def _counted(self, found: Iterable[tuple[Any, int]]) -> tuple[GpuEvent, ...]:
        times: dict[GpuEvent, int] = {}
        for data, count in found:
            event = self._event(data)
            if event is not None:
                times[event] = times.get(event, 0) + count
        return tuple(replace(event, times=count) for event, count in times.items())

    def _next(self, longest_s: float) -> Any:
        """Return the next event, None where none comes in time."""
        if self._set is None:  # no GPU can be registered: there is nothing to wait for
            self._set = call("create an event set", _NODE, pynvml.nvmlEventSetCreate)
        longest_ms = round(min(max(longest_s, 0.0), _LONGEST_S) * 1000)
        try:
            return call("wait for events", _NODE, pynvml.nvmlEventSetWait_v2, self._set, longest_ms)
        except TimedOut:
            return None

    def _event(self, data: Any) -> GpuEvent | None:
        """Return one event, None for one of a kind that nobody registered for."""
        kind = _KINDS.get(data.eventType)
        if kind is None:
            return None
        return GpuEvent(
            gpu=self._gpu(data.device),
            kind=kind,
            xid=data.eventData if kind is GpuEventKind.XID else None,
            gi_id=_instance(data.gpuInstanceId),
            ci_id=_instance(data.computeInstanceId),
        )

    def _gpu(self, device: Any) -> GpuUuid | None:
        """Return the GPU of a handle, None for one that is not registered.

        The driver may use another handle than the one that was registered; a lost GPU cannot be asked.
        """
        address = _address(device)
        if address not in self._gpus:
            with suppress(HardwareError):
                uuid = GpuUuid(str(call("read UUID", _NODE, pynvml.nvmlDeviceGetUUID, device)))
                if uuid in self._gpus.values():
                    self._gpus[address] = uuid
        return self._gpus.get(address)


def _key(data: Any) -> tuple[int | None, ...]:
    """Return what tells an event from others. An event is made of it only once: a storm has thousands."""
    instance = data.gpuInstanceId, data.computeInstanceId
    return (_address(data.device), data.eventType, data.eventData, *instance)


def _address(device: Any) -> int | None:
    return cast(device, c_void_p).value


def _instance(number: int) -> int | None:
    return None if number == _WHOLE_GPU else number
