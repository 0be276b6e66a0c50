"""The annotation device-allocated: written for a placed pod, and read back as an allocated claim.

In entries of this core ``id`` has the full names of pool devices. Entries of others are read by minor and
bus id. Source: Koordinator, annotation device-allocated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from scheduler_core.base.errors import InvalidInput
from scheduler_core.base.quantity import Quantity
from scheduler_core.codec.fields import Fields, subject_of
from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.frontends.annotations.reading import SCHEDULING, annotation
from scheduler_core.frontends.pods.amounts import read_amount
from scheduler_core.frontends.pods.exclusive import exclusive_of
from scheduler_core.frontends.pods.hints import HINT, TYPES, hints_of
from scheduler_core.frontends.pods.placed_pod import PlacedPod, pod_uid
from scheduler_core.frontends.pods.reported import DRIVER, card_name, vf_name
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef
from scheduler_core.model.device import DeviceId, DeviceName
from scheduler_core.model.names import qualified
from scheduler_core.model.pool import Pool

ALLOCATED: Final = "device-allocated"
_SEPARATOR: Final = ","


def allocated_annotation(placed: PlacedPod) -> Mapping[str, Any]:
    """Return the value of the annotation for a placed pod."""
    return {
        kind: [
            {
                "minor": node_device.number,
                "id": _SEPARATOR.join(map(str, devices)),
                "resources": {name: str(amount) for name, amount in node_device.given.items()},
            }
            for node_device, devices in zip(node_devices, placed.devices[kind], strict=True)
        ]
        for kind, node_devices in placed.node_devices.items()
    }


def held_by(obj: object, pools: Sequence[Pool]) -> AllocatedClaim | None:
    """Return the claim of a running pod: its devices and exclusive scopes; None without the annotation.

    Devices that no pool has are left out.
    Raises: InvalidPod.
    """
    subject = subject_of(obj, "Pod")
    fields = Fields(obj, subject, "", InvalidPod)
    metadata = fields.child("metadata")
    annotations = metadata.optional("annotations")
    if not annotations.has(SCHEDULING + ALLOCATED):
        return None
    node = fields.child("spec").text("nodeName")
    found = annotation(subject, ALLOCATED, annotations.text(SCHEDULING + ALLOCATED), InvalidPod)
    hints = (
        hints_of(subject, annotations.text(SCHEDULING + HINT)) if annotations.has(SCHEDULING + HINT) else {}
    )
    known = {pool.id_of(device): pool for pool in pools for device in pool.devices}
    results = {
        kind: tuple(one for one in _results(found, kind, node) if one.device in known) for kind in TYPES
    }
    exclusive = [
        exclusive_of(kind, policy, driver)
        for kind, mine in results.items()
        if kind in hints and (policy := hints[kind].exclusive) is not None
        for driver in sorted({one.device.driver for one in mine})
    ]
    ref = ClaimRef(metadata.text("namespace", "default"), metadata.text("name"))
    everything = tuple(_counted(one, known) for mine in results.values() for one in mine)
    return AllocatedClaim(ref=ref, uid=pod_uid(ref), results=everything, exclusive=tuple(exclusive))


def _results(found: Fields, kind: str, node: str) -> Iterator[AllocatedDevice]:
    seen: set[DeviceId] = set()
    for entry in found.children(kind):
        consumed = dict(_amounts(entry))
        for device in _devices(entry, kind, node):
            if device in seen:
                raise _twice(entry)
            seen.add(device)
            yield AllocatedDevice(kind, device, consumed=consumed)


def _names_devices(identity: str) -> bool:
    """Whether an id has names of pool devices. Other ids have no meaning here."""
    return identity.count("/") >= 2


def _twice(entry: Fields) -> InvalidInput:
    key = "id" if _names_devices(entry.text("id", "")) else "minor"
    return entry.refuse(key, "is listed twice: a pod has one entry per device", entry.values[key])


def _amounts(entry: Fields) -> Iterator[tuple[str, Quantity]]:
    resources = entry.optional("resources")
    for name, value in resources.values.items():
        yield str(name), Quantity.of(read_amount(entry.subject, resources.at(str(name)), str(name), value))


def _devices(entry: Fields, kind: str, node: str) -> Iterator[DeviceId]:
    identity = entry.text("id", "")
    if _names_devices(identity):
        for one in identity.split(_SEPARATOR):
            driver, _, rest = one.partition("/")
            pool, _, device = rest.rpartition("/")
            yield DeviceId(driver, pool, DeviceName(device))
        return
    card = card_name(kind, entry.integer("minor", least=0))
    yield DeviceId(DRIVER, node, card)
    for vf in entry.optional("extension").children("vfs"):
        yield DeviceId(DRIVER, node, vf_name(card, vf.text("busID")))


def _counted(one: AllocatedDevice, known: Mapping[DeviceId, Pool]) -> AllocatedDevice:
    """Return the device as the ledger counts it: a share of a shareable device, else the whole device."""
    pool = known[one.device]
    device = next(each for each in pool.devices if each.name == one.device.device)
    if not device.is_shareable:
        return AllocatedDevice(one.request, one.device)
    share = {
        name: amount
        for name, amount in one.consumed.items()
        if qualified(name, one.device.driver) in device.capacity
    }
    return AllocatedDevice(one.request, one.device, share_id="share", consumed=share)
