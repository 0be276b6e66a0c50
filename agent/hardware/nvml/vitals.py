"""Reads how one GPU is: takes a device handle; returns ``GpuVitals``. Changes nothing.

Every value is optional: models, drivers and modes lack some of them, and one that cannot be read keeps no
other from being read. Only what concerns the whole GPU is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import byref
from typing import Any, Final

import pynvml

from agent.hardware.errors import OF_THE_GPU, HardwareError
from agent.hardware.health.types import FABRIC_CONDITIONS, FabricState, GpuVitals, Recovery, Slowdown
from agent.hardware.nvml.calls import call
from agent.hardware.types import GpuUuid

_SLOWDOWNS: Final = {
    pynvml.nvmlClocksEventReasonHwThermalSlowdown: Slowdown.HARDWARE_THERMAL,
    pynvml.nvmlClocksEventReasonHwPowerBrakeSlowdown: Slowdown.HARDWARE_POWER_BRAKE,
    pynvml.nvmlClocksEventReasonSwThermalSlowdown: Slowdown.SOFTWARE_THERMAL,
}
_FABRIC_STATES: Final = {
    pynvml.NVML_GPU_FABRIC_STATE_NOT_SUPPORTED: FabricState.NOT_SUPPORTED,
    pynvml.NVML_GPU_FABRIC_STATE_NOT_STARTED: FabricState.NOT_STARTED,
    pynvml.NVML_GPU_FABRIC_STATE_IN_PROGRESS: FabricState.IN_PROGRESS,
    pynvml.NVML_GPU_FABRIC_STATE_COMPLETED: FabricState.COMPLETED,
}
_MASK: Final = "NVML_GPU_FABRIC_HEALTH_MASK_"
_CONDITIONS: Final = {
    FabricState.MISCONFIGURED: "INCORRECT_CONFIGURATION",
    FabricState.ROUTE_UNHEALTHY: "ROUTE_UNHEALTHY",
    FabricState.ROUTE_RECOVERY: "ROUTE_RECOVERY",
    FabricState.ACCESS_TIMEOUT_RECOVERY: "ACCESS_TIMEOUT_RECOVERY",
    FabricState.DEGRADED_BANDWIDTH: "DEGRADED_BW",
}
"""The parts of the health mask. In each, 0 means that the driver does not report it."""
_RECOVERIES: Final = {
    pynvml.NVML_GPU_RECOVERY_ACTION_NONE: Recovery.NONE,
    pynvml.NVML_GPU_RECOVERY_ACTION_GPU_RESET: Recovery.RESET,
    pynvml.NVML_GPU_RECOVERY_ACTION_NODE_REBOOT: Recovery.REBOOT,
    pynvml.NVML_GPU_RECOVERY_ACTION_DRAIN_P2P: Recovery.DRAIN_P2P,
    pynvml.NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET: Recovery.DRAIN_AND_RESET,
    pynvml.NVML_GPU_RECOVERY_ACTION_RECOVER_IMEX_DOMAIN: Recovery.RECOVER_IMEX_DOMAIN,
    pynvml.NVML_GPU_RECOVERY_ACTION_BUS_RESET: Recovery.BUS_RESET,
    pynvml.NVML_GPU_RECOVERY_ACTION_SYSTEM_REBOOT: Recovery.SYSTEM_REBOOT,
}


def read_vitals(device: Any, gpu: GpuUuid) -> GpuVitals:
    """Return how a GPU is now. Raises: GpuLost, ResetRequired, DriverMissing, TimedOut."""
    subject = f"GPU {gpu}"
    rows = _told("remapped rows", subject, pynvml.nvmlDeviceGetRemappedRows, device)
    active, down = _links(device, subject)
    return GpuVitals(
        gpu=gpu,
        uncorrectable_ecc=_uncorrectable_ecc(device, subject),
        is_remap_pending=None if rows is None else bool(rows[2]),
        has_remap_failed=None if rows is None else bool(rows[3]),
        slowdowns=_slowdowns(device, subject),
        links_active=active,
        links_down=down,
        fabric=_fabric(device, subject),
        recovery=_recovery(device, subject),
    )


def _told(what: str, subject: str, function: Callable[..., Any], *arguments: object) -> Any:
    """Return what the driver tells, None where it does not tell this. Raises: as ``read_vitals``."""
    try:
        return call(f"read {what}", subject, function, *arguments)
    except OF_THE_GPU:
        raise
    except HardwareError:
        return None


def _uncorrectable_ecc(device: Any, subject: str) -> int | None:
    uncorrected, volatile = pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, pynvml.NVML_VOLATILE_ECC
    found = _told("ECC errors", subject, pynvml.nvmlDeviceGetTotalEccErrors, device, uncorrected, volatile)
    return None if found is None else int(found)


def _slowdowns(device: Any, subject: str) -> frozenset[Slowdown]:
    """Return why the GPU is slowed down; drivers before 535 know the call by its former name."""
    reasons = _told("clocks", subject, pynvml.nvmlDeviceGetCurrentClocksEventReasons, device)
    if reasons is None:
        reasons = _told("clocks", subject, pynvml.nvmlDeviceGetCurrentClocksThrottleReasons, device)
    return frozenset(slowdown for bit, slowdown in _SLOWDOWNS.items() if (reasons or 0) & bit)


def _links(device: Any, subject: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the NVLinks that are active and those that are not."""
    states: dict[int, bool] = {}
    for link in range(pynvml.NVML_NVLINK_MAX_LINKS):
        state = _told(f"NVLink {link}", subject, pynvml.nvmlDeviceGetNvLinkState, device, link)
        if state is None:  # it has no more links, or none at all
            break
        states[link] = state == pynvml.NVML_FEATURE_ENABLED
    active = tuple(link for link, is_active in states.items() if is_active)
    return active, tuple(link for link, is_active in states.items() if not is_active)


def _fabric(device: Any, subject: str) -> FabricState | None:
    """Return the state of the fabric, and of a GPU that has joined it what is wrong there.

    Joining has failed if it ended with another code than success.
    """
    info = pynvml.c_nvmlGpuFabricInfoV_t()
    if _told("fabric", subject, pynvml.nvmlDeviceGetGpuFabricInfoV, device, byref(info)) is None:
        info = pynvml.c_nvmlGpuFabricInfo_t()  # drivers before 550 have the first form alone
        if _told("fabric", subject, pynvml.nvmlDeviceGetGpuFabricInfo, device, byref(info)) is None:
            return None
    state = _FABRIC_STATES.get(info.state)
    if state is not FabricState.COMPLETED:
        return state
    if info.status != pynvml.NVML_SUCCESS:
        return FabricState.FAILED
    mask = getattr(info, "healthMask", 0)  # the first form has none
    return next((condition for condition in FABRIC_CONDITIONS if _is_set(mask, condition)), state)


def _is_set(mask: int, condition: FabricState) -> bool:
    """Whether the health mask reports a condition of the fabric."""
    name = _CONDITIONS[condition]
    shift, width = (getattr(pynvml, f"{_MASK}{part}_{name}") for part in ("SHIFT", "WIDTH"))
    value = mask >> shift & width
    if condition is FabricState.MISCONFIGURED:  # each higher number is another mistake
        return bool(value > pynvml.NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_NONE)
    return bool(value == getattr(pynvml, f"{_MASK}{name}_TRUE"))


def _recovery(device: Any, subject: str) -> Recovery | None:
    fields = [pynvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION]
    values = _told("recovery action", subject, pynvml.nvmlDeviceGetFieldValues, device, fields)
    if values is None or values[0].nvmlReturn != pynvml.NVML_SUCCESS:
        return None
    return _RECOVERIES.get(values[0].value.uiVal, Recovery.OTHER)
