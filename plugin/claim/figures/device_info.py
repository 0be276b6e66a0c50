"""PURE: which pod has which device, as labels that join with what others measure of devices.

NVIDIA's exporter knows a MIG instance by the UUID of its GPU and the number of its GPU instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from agent.inventory.published import Hardware
from daemon.metrics.definition import Labels
from plugin.base.metrics import DEVICE_LABELS
from plugin.claim.record import Record
from plugin.claim.states import State
from plugin.kinds.claimed import Claimed

ProfileOf = Callable[[Hardware], str]
"""Returns the MIG profile of a MIG device, empty where it is not known."""

Profiles = tuple[str | None, ...]
"""The MIG profiles of the devices of a record, in their order; None for what is no MIG device."""


def prepared(records: Iterable[Record], boot_id: str) -> tuple[Record, ...]:
    """Return the records of the claims that are prepared in a boot."""
    return tuple(one for one in records if one.state is State.COMPLETED and one.boot_id == boot_id)


def profiles(record: Record, profile_of: ProfileOf) -> Profiles:
    """Return the MIG profile of each device of a claim."""
    return tuple(
        profile_of(device.hardware) if "parentUUID" in device.status_data else None
        for device in record.devices
    )


def counted(record: Record, profiles: Profiles) -> Iterator[str]:
    """Yield the profiles of the MIG devices that a claim has, not those that it only looks at."""
    for device, profile in zip(record.devices, profiles, strict=True):
        if profile is not None and not device.has_admin_access:
            yield profile


def device_infos(record: Record, pods: Sequence[str], profiles: Profiles) -> Iterator[Labels]:
    """Yield the labels of each device of a prepared claim, for each pod of the claim.

    Shape: the pod is empty where no pod of the claim is known.
    """
    own = [
        one
        for device, profile in zip(record.devices, profiles, strict=True)
        for one in _of_device(device, profile)
    ]
    for pod in pods or ("",):
        owner = {"pod": pod, "namespace": record.namespace, "claim": record.name}
        for device_labels in own:
            found = {**device_labels, **owner}
            yield tuple((label, found.get(label, "")) for label in DEVICE_LABELS)


def _of_device(device: Claimed, profile: str | None) -> Iterator[dict[str, str]]:
    data = device.status_data
    common = {
        "type": str(type(device).__struct_config__.tag),
        "device": device.device,
        "request": ",".join(device.requests),
        "pci_address": str(data.get("pciAddress") or ""),
    }
    if profile is not None:
        instance = getattr(device, "gi_id", None)
        own = {"uuid": str(data["uuid"]), "gpu_uuid": str(data["parentUUID"])}
        number = {} if instance is None else {"gpu_instance": str(instance)}
        yield {**common, **own, **number, "profile": profile}
        return
    uuids = data.get("uuids") or [data.get("uuid", "")]
    for uuid in uuids:
        yield {**common, "uuid": str(uuid), "gpu_uuid": str(uuid)}
