"""PURE: a record to what the claim's status says of its devices.

A record and the time at which it was completed enter, entries of ``status.devices`` leave.
Source: resource.k8s.io/v1, AllocatedDeviceStatus.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from plugin.prepare import State
from plugin.records import HeldDevice, HeldGpu, HeldGpus, HeldPartition, Record


def device_statuses(record: Record | None, completed_at_s: float) -> tuple[dict[str, Any], ...]:
    """Return what is to be said of a claim: nothing unless it is prepared.

    Units: ``completed_at_s`` seconds since 1970.
    """
    if record is None or record.state is not State.COMPLETED:
        return ()
    since = datetime.fromtimestamp(int(completed_at_s), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return tuple(_status(record.driver, device, since) for device in record.devices)


def _status(driver: str, device: HeldDevice, since: str) -> dict[str, Any]:
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "Prepared",
        "message": f"containers get it as CDI device {device.cdi_id}",
        "lastTransitionTime": since,
    }
    return {
        "driver": driver,
        "pool": device.pool,
        "device": device.device,
        "conditions": [ready],
        "data": {"cdiDeviceIDs": [device.cdi_id], **_hardware(device)},
    }


def _hardware(device: HeldDevice) -> dict[str, Any]:
    match device:
        case HeldGpu():
            return {"uuid": device.gpu_uuid}
        case HeldGpus():
            return {"uuids": list(device.gpu_uuids)}
        case HeldPartition():
            return {
                "uuid": device.mig_uuid,
                "parentUUID": device.parent_uuid,
                "placement": {"start": device.start, "size": device.size},
            }
