"""PURE: which pod has which device, as labels that join with what others measure of devices.

NVIDIA's exporter knows a MIG instance by the UUID of its GPU and the number of its GPU instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from agent.inventory.published import Hardware
from daemon.metrics import Labels
from plugin.base.metrics import DEVICE_LABELS
from plugin.claim.record import Record
from plugin.claim.states import State
from plugin.kinds.claimed import Claimed
from scheduler_core.model.claim import ClaimUid

PodsOf = Callable[[ClaimUid], Iterable[str]]
ProfileOf = Callable[[Hardware], str]


def prepared(records: Iterable[Record], boot_id: str) -> tuple[Record, ...]:
    """Return the records of the claims that are prepared in a boot."""
    return tuple(one for one in records if one.state is State.COMPLETED and one.boot_id == boot_id)


def device_infos(records: Iterable[Record], pods_of: PodsOf, profile_of: ProfileOf) -> Iterator[Labels]:
    """Yield the labels of each device of prepared claims, for each pod of its claim.

    Shape: ``pods_of`` returns the pods of a claim, ``profile_of`` the MIG profile of a device, empty for
           none.
           The pod is empty where no pod of the claim is known.
    """
    for record in records:
        for pod in tuple(pods_of(record.uid)) or ("",):
            for device in record.devices:
                for own in _of_device(device, profile_of):
                    owner = {"pod": pod, "namespace": record.namespace, "claim": record.name}
                    found = {**own, **owner}
                    yield tuple((label, found.get(label, "")) for label in DEVICE_LABELS)


def profiles(records: Iterable[Record], profile_of: ProfileOf) -> Iterator[str]:
    """Yield the profile of each MIG device of prepared claims."""
    for record in records:
        for device in record.devices:
            if "parentUUID" in device.status_data and not device.has_admin_access:
                yield profile_of(device.hardware)


def _of_device(device: Claimed, profile_of: ProfileOf) -> Iterator[dict[str, str]]:
    data = device.status_data
    common = {
        "type": str(type(device).__struct_config__.tag),
        "device": device.device,
        "request": ",".join(device.requests),
        "pci_address": str(data.get("pciAddress") or ""),
    }
    if "parentUUID" in data:
        instance = getattr(device, "gi_id", None)
        own = {"uuid": str(data["uuid"]), "gpu_uuid": str(data["parentUUID"])}
        number = {} if instance is None else {"gpu_instance": str(instance)}
        yield {**common, **own, **number, "profile": profile_of(device.hardware)}
        return
    uuids = data.get("uuids") or [data.get("uuid", "")]
    for uuid in uuids:
        yield {**common, "uuid": str(uuid), "gpu_uuid": str(uuid)}
