"""The part of the library that tells of health: values that are true now, and events that come once."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import pynvml

from agent.hardware.health.types import FabricState, GpuEvent, GpuEventKind, GpuVitals, Recovery, Slowdown
from agent.hardware.simulated import Call
from agent.hardware.simulated.gpu_troubles.ring import Ring
from agent.hardware.simulated.gpus import SimulatedGpus
from agent.hardware.simulated.strikes import is_lost
from fake_nvml.boards import Boards
from fake_nvml.c import Refused, c_function

EVENT_TYPES = {
    GpuEventKind.XID: pynvml.nvmlEventTypeXidCriticalError,
    GpuEventKind.UNCORRECTABLE_ECC: pynvml.nvmlEventTypeDoubleBitEccError,
    GpuEventKind.MIG_CHANGED: pynvml.nvmlEventMigConfigChange,
    GpuEventKind.UNAVAILABLE: pynvml.nvmlEventTypeGpuUnavailableError,
    GpuEventKind.RECOVERY_CHANGED: pynvml.nvmlEventTypeGpuRecoveryAction,
}
REASONS = {
    Slowdown.HARDWARE_THERMAL: pynvml.nvmlClocksEventReasonHwThermalSlowdown,
    Slowdown.HARDWARE_POWER_BRAKE: pynvml.nvmlClocksEventReasonHwPowerBrakeSlowdown,
    Slowdown.SOFTWARE_THERMAL: pynvml.nvmlClocksEventReasonSwThermalSlowdown,
}
IDLE = pynvml.nvmlClocksEventReasonGpuIdle
FABRIC_STATES = {
    FabricState.NOT_SUPPORTED: pynvml.NVML_GPU_FABRIC_STATE_NOT_SUPPORTED,
    FabricState.NOT_STARTED: pynvml.NVML_GPU_FABRIC_STATE_NOT_STARTED,
    FabricState.IN_PROGRESS: pynvml.NVML_GPU_FABRIC_STATE_IN_PROGRESS,
    FabricState.COMPLETED: pynvml.NVML_GPU_FABRIC_STATE_COMPLETED,
    FabricState.FAILED: pynvml.NVML_GPU_FABRIC_STATE_COMPLETED,
}
HEALTHY_FABRIC = 0x1AA  # nvml.h: four conditions of two bits, which are 2 if false, and 1 for no mistake
FABRIC_MASKS = {
    FabricState.DEGRADED_BANDWIDTH: 0x1A9,
    FabricState.ROUTE_RECOVERY: 0x1A6,
    FabricState.ROUTE_UNHEALTHY: 0x19A,
    FabricState.ACCESS_TIMEOUT_RECOVERY: 0x16A,
    FabricState.MISCONFIGURED: 0x5AA,
}
RECOVERIES = {
    Recovery.NONE: pynvml.NVML_GPU_RECOVERY_ACTION_NONE,
    Recovery.RESET: pynvml.NVML_GPU_RECOVERY_ACTION_GPU_RESET,
    Recovery.REBOOT: pynvml.NVML_GPU_RECOVERY_ACTION_NODE_REBOOT,
    Recovery.DRAIN_P2P: pynvml.NVML_GPU_RECOVERY_ACTION_DRAIN_P2P,
    Recovery.DRAIN_AND_RESET: pynvml.NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET,
    Recovery.RECOVER_IMEX_DOMAIN: pynvml.NVML_GPU_RECOVERY_ACTION_RECOVER_IMEX_DOMAIN,
    Recovery.BUS_RESET: pynvml.NVML_GPU_RECOVERY_ACTION_BUS_RESET,
    Recovery.SYSTEM_REBOOT: pynvml.NVML_GPU_RECOVERY_ACTION_SYSTEM_REBOOT,
    Recovery.OTHER: 99,
}
WHOLE_GPU = 0xFFFFFFFF
NOBODYS_GPU = "GPU-of-nobody"


@dataclass
class EventSet:
    """Shape: ``registered`` masks by UUID; ``heard`` the number of the last event; ``pending`` single."""

    heard: int
    registered: dict[str, int] = field(default_factory=dict)
    pending: deque[GpuEvent] = field(default_factory=deque)


class Health(Boards):
    """Vitals and events of a simulated machine's GPUs."""

    def __init__(self, gpus: Any) -> None:
        super().__init__(gpus)
        self.event_sets: dict[int, EventSet] = {}
        self._made = 0

    @c_function
    def nvmlDeviceGetTotalEccErrors(self, device, kind, counter, count):
        assert kind.value == pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED
        assert counter.value == pynvml.NVML_VOLATILE_ECC
        count._obj.value = supported(self._vitals(device).uncorrectable_ecc)

    @c_function
    def nvmlDeviceGetRemappedRows(self, device, corrected, uncorrected, pending, failed):
        vitals = self._vitals(device)
        pending._obj.value = supported(vitals.is_remap_pending)
        failed._obj.value = supported(vitals.has_remap_failed)

    @c_function
    def nvmlDeviceGetCurrentClocksEventReasons(self, device, reasons):
        reasons._obj.value = IDLE | sum(REASONS[slowdown] for slowdown in self._vitals(device).slowdowns)

    @c_function
    def nvmlDeviceGetNvLinkState(self, device, link, is_active):
        vitals = self._vitals(device)
        if not vitals.links_active + vitals.links_down:
            raise Refused(pynvml.NVML_ERROR_NOT_SUPPORTED)
        if link not in vitals.links_active + vitals.links_down:
            raise Refused(pynvml.NVML_ERROR_INVALID_ARGUMENT)
        is_active._obj.value = int(link in vitals.links_active)

    @c_function
    def nvmlDeviceGetGpuFabricInfoV(self, device, info):
        if info._obj.version != pynvml.nvmlGpuFabricInfo_v2:
            raise Refused(pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH)
        state = self._vitals(device).fabric
        fill_fabric(info._obj, state)
        info._obj.healthMask = FABRIC_MASKS.get(state, HEALTHY_FABRIC)

    @c_function
    def nvmlDeviceGetGpuFabricInfo(self, device, info):
        fill_fabric(info._obj, self._vitals(device).fabric)

    @c_function
    def nvmlDeviceGetFieldValues(self, device, count, values):
        vitals = self._vitals(device)
        for value in values._obj:
            if value.fieldId == pynvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION and vitals.recovery is not None:
                value.nvmlReturn, value.value.uiVal = pynvml.NVML_SUCCESS, RECOVERIES[vitals.recovery]
            else:
                value.nvmlReturn = pynvml.NVML_ERROR_NOT_SUPPORTED

    @c_function
    def nvmlDeviceGetSupportedEventTypes(self, device, types):
        self._gpu(device)
        types._obj.value = pynvml.nvmlEventTypePState | sum(EVENT_TYPES.values())

    @c_function
    def nvmlEventSetCreate(self, event_set):
        self._made += 1
        self.event_sets[self._made] = EventSet(self._ring().raised)
        self._hand_out(event_set._obj, "event set", self._made)

    @c_function
    def nvmlEventSetFree(self, event_set):
        del self.event_sets[self._thing(event_set)[1]]

    @c_function
    def nvmlDeviceRegisterEvents(self, device, types, event_set):
        uuid = self._gpu(device).uuid
        with self._machine().calls.of_gpu(Call.WATCH_EVENTS, uuid, "register"):
            self.event_sets[self._thing(event_set)[1]].registered[uuid] = types.value

    @c_function
    def nvmlEventSetWait_v2(self, event_set, data, longest_ms):
        found = self.event_sets[self._thing(event_set)[1]]
        with self._machine().calls.of_machine(Call.WAIT_EVENTS, "wait"):
            pass
        event = self._next(found, longest_ms.value / 1000)
        if event is None:
            raise Refused(pynvml.NVML_ERROR_TIMEOUT)
        self._hand_out_device(data._obj, event)
        data._obj.eventType = EVENT_TYPES[event.kind]
        data._obj.eventData = 0 if event.xid is None else event.xid
        data._obj.gpuInstanceId = WHOLE_GPU if event.gi_id is None else event.gi_id
        data._obj.computeInstanceId = WHOLE_GPU if event.ci_id is None else event.ci_id

    def _next(self, event_set: EventSet, longest_s: float) -> GpuEvent | None:
        while not event_set.pending:
            self._fetch(event_set)
            if event_set.pending:
                break
            lost = self._lost()
            if any(uuid in lost for uuid in event_set.registered):
                raise Refused(pynvml.NVML_ERROR_GPU_IS_LOST)
            longest_s = self.wait_a_moment(longest_s)
            if longest_s <= 0:
                return None
        return event_set.pending.popleft()

    def wait_a_moment(self, longest_s: float) -> float:
        """Wait a part of so many seconds and return the rest; nobody waits inside a test."""
        return 0.0

    def _fetch(self, event_set: EventSet) -> None:
        ring = self._ring()
        for state in ring.after(event_set.heard):
            mask = sum(EVENT_TYPES.values()) if state.gpu is None else event_set.registered.get(state.gpu, 0)
            if mask & EVENT_TYPES[state.kind]:
                event_set.pending.extend([state.once()] * state.times)
        event_set.heard = ring.raised

    def _hand_out_device(self, data: Any, event: GpuEvent) -> None:
        data.device = self._handle(type(data.device), "gpu", event.gpu or NOBODYS_GPU)

    def _vitals(self, device: Any) -> GpuVitals:
        return self.gpus.vitals(self._thing(device)[1])

    def _ring(self) -> Ring:
        return self._machine().calls.store.read().events

    def _lost(self) -> set[str]:
        store = self._machine().calls.store
        state = store.read()
        return {card.uuid for card in store.node.cards if is_lost(state, card.minor)}

    def _machine(self) -> SimulatedGpus:
        assert isinstance(self.gpus, SimulatedGpus), "only simulated machines raise events"
        return self.gpus


def fill_fabric(info: Any, state: FabricState | None) -> None:
    info.state = FABRIC_STATES.get(supported(state), pynvml.NVML_GPU_FABRIC_STATE_COMPLETED)
    info.status = pynvml.NVML_ERROR_UNKNOWN if state is FabricState.FAILED else pynvml.NVML_SUCCESS


def supported(value: Any) -> Any:
    """Return what a GPU tells; the library refuses what it has not."""
    if value is None:
        raise Refused(pynvml.NVML_ERROR_NOT_SUPPORTED)
    return value
