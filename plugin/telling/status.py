"""PURE: a claim's record, or its failure, to the entries of ``status.devices``.

Takes a record, the time at which it was completed and what is missing of it; or the error that kept a claim
from being prepared.
Source: resource.k8s.io/v1, AllocatedDeviceStatus.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

from plugin.claim.reconciling.claim_health import Unhealthy
from plugin.claim.record import Record
from plugin.claim.states import State
from plugin.kinds.claimed import Claimed
from scheduler_core.model.claim import AllocatedDevice
from scheduler_core.model.ownership import MULTI_NODE

_MESSAGE: Final = 1024
"""The longest message of a condition, in characters. The API accepts 32 times as much."""
_ALL_WELL: Final[Mapping[str, Unhealthy]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a claim's devices are not prepared.

    Shape: ``devices`` as its allocation names them, ours only. Units: ``since_s`` seconds since 1970.
    """

    devices: tuple[AllocatedDevice, ...]
    message: str
    since_s: float


@dataclass(frozen=True, slots=True)
class Missing:
    """Which devices of a prepared claim are not there any more.

    Shape: ``why`` by the device's name. Units: ``since_s`` seconds since 1970.
    """

    why: Mapping[str, str]
    since_s: float


def device_statuses(
    record: Record | None,
    completed_at_s: float,
    missing: Missing | None = None,
    unhealthy: Mapping[str, Unhealthy] = _ALL_WELL,
) -> tuple[dict[str, Any], ...]:
    """Return the entries of a claim: none unless it is prepared.

    A device of several nodes has none: there is one entry for it, and every node would say another thing.
    Shape: ``unhealthy`` by the device's name.
    Units: ``completed_at_s`` seconds since 1970.
    """
    if record is None or record.state is not State.COMPLETED:
        return ()
    told = (device for device in record.devices if not device.pool.startswith(MULTI_NODE))
    return tuple(
        _status(record.driver, device, _ready(device, completed_at_s, missing, unhealthy)) for device in told
    )


def failure_statuses(failure: Failure) -> tuple[dict[str, Any], ...]:
    """Return the entries of a claim that could not be prepared: the error, once for each device."""
    condition = _not_ready("PrepareFailed", failure.message, failure.since_s)
    return tuple({**named, "conditions": [condition]} for named in _named(failure.devices))


def _named(devices: Iterable[AllocatedDevice]) -> Iterable[dict[str, str]]:
    """Return the keys of each device's entry: no two entries may have the same keys."""
    seen: set[tuple[object, str | None]] = set()
    for one in devices:
        if (one.device, one.share_id) in seen:
            continue
        seen.add((one.device, one.share_id))
        share = {} if one.share_id is None else {"shareID": one.share_id}
        yield {"driver": one.device.driver, "pool": one.device.pool, "device": one.device.device, **share}


def _time(at_s: float) -> str:
    return datetime.fromtimestamp(int(at_s), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _not_ready(reason: str, text: str, since_s: float) -> dict[str, str]:
    return {
        "type": "Ready",
        "status": "False",
        "reason": reason,
        "message": text if len(text) <= _MESSAGE else f"{text[: _MESSAGE - 3]}...",
        "lastTransitionTime": _time(since_s),
    }


def _ready(
    device: Claimed, completed_at_s: float, missing: Missing | None, unhealthy: Mapping[str, Unhealthy]
) -> dict[str, str]:
    if missing is not None and device.device in missing.why:
        return _not_ready("DeviceMissing", missing.why[device.device], missing.since_s)
    if ill := unhealthy.get(device.device):
        return _not_ready("DeviceUnhealthy", ill.why, ill.since_s)
    return {
        "type": "Ready",
        "status": "True",
        "reason": "Prepared",
        "message": f"containers get it as CDI device {device.cdi_id}",
        "lastTransitionTime": _time(completed_at_s),
    }


def _status(driver: str, device: Claimed, ready: Mapping[str, str]) -> dict[str, Any]:
    admin = {"adminAccess": True} if device.has_admin_access else {}
    share = {} if device.share is None else {"shareID": device.share.id}
    return {
        "driver": driver,
        "pool": device.pool,
        "device": device.device,
        **share,
        "conditions": [ready],
        **_network(device),
        "data": {"cdiDeviceIDs": [device.cdi_id], **admin, **_addresses(device), **device.status_data},
    }


def _network(device: Claimed) -> dict[str, Any]:
    """Return what the pod has of a device's interface, nothing before a pod has it."""
    return {"networkData": device.network_data} if device.is_in_pod and device.network_data else {}


def _addresses(device: Claimed) -> dict[str, Any]:
    found = device.pci_addresses or ()
    return {"pciBusID": found[0]} if len(found) == 1 else {"pciBusIDs": list(found)} if found else {}
