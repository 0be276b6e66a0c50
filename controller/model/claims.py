"""A ResourceClaim as the controller sees it. Takes its document; returns a value.

Source: resource.k8s.io/v1 ResourceClaim.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from controller.model.checked import text
from scheduler_core.base.errors import CoreError, InvalidClaim
from scheduler_core.codec.claims import decode_claim
from scheduler_core.codec.fields import Fields
from scheduler_core.codec.selections import read_selection
from scheduler_core.frontends.annotations.reading import SCHEDULING
from scheduler_core.frontends.partitions.table import SPEC
from scheduler_core.frontends.pods.hints import HINT, JOINT
from scheduler_core.frontends.pods.written_claim import held_claim
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, Claim, ClaimRef, ClaimUid
from scheduler_core.model.device import DeviceId, DeviceName
from scheduler_core.model.nodes import AllNodes, NodeSelection

FINALIZER: Final = "resource.kubernetes.io/delete-protection"
_OF_PODS: Final = tuple(SCHEDULING + name for name in (JOINT, HINT, SPEC))


class Consumer(NamedTuple):
    """Who a claim is reserved for. Shape: ``resource`` is ``pods``, or another kind of consumer."""

    resource: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimSeen:
    """A claim.

    Shape: ``asked`` is None where the claim has an allocation, or cannot be read, which ``problem`` says;
           ``held`` is what it is allocated, None where nothing; ``usable_from`` are the nodes from which
           the allocation can be used, None where that cannot be read; ``document`` is the whole object, None
           for allocated claims; ``owners`` are UIDs; ``shape`` is equal for claims that ask for the same,
           empty for allocated ones; ``mark`` is an annotation of Koordinator's that no claim in a cluster may
           have, empty for none.
    """

    ref: ClaimRef
    uid: str
    version: str
    asked: Claim | None = None
    held: AllocatedClaim | None = None
    usable_from: NodeSelection | None = None
    consumers: tuple[Consumer, ...] = ()
    owners: tuple[str, ...] = ()
    is_leaving: bool = False
    problem: str = ""
    shape: str = ""
    document: Mapping[str, Any] | None = None
    mark: str = ""


def read_claim(document: Mapping[str, Any]) -> ClaimSeen:
    """Return a claim. What the core cannot read is a ``problem`` of this claim and of no other."""
    metadata, status = document["metadata"], document.get("status") or {}
    asked = held = usable_from = None
    problem = ""
    try:
        held = held_claim(document)
        if held is None:
            asked = decode_claim(document)
        else:
            usable_from = _usable_from(status["allocation"])
    except CoreError as error:
        problem = str(error)
        held = held or named_devices(document)
    mark = mark_in(metadata) if asked is not None else ""
    return ClaimSeen(
        ref=ClaimRef(metadata["namespace"], metadata["name"]),
        uid=metadata["uid"],
        version=metadata.get("resourceVersion", ""),
        asked=asked,
        held=held,
        usable_from=usable_from,
        consumers=tuple(map(_consumer, status.get("reservedFor") or ())),
        owners=tuple(one["uid"] for one in metadata.get("ownerReferences") or ()),
        is_leaving="deletionTimestamp" in metadata,
        problem=problem,
        shape=shape_of(document.get("spec") or {}, mark) if asked is not None else "",
        document=document if held is None else None,
        mark=mark,
    )


def shape_of(spec: Mapping[str, Any], mark: str = "") -> str:
    """Return a text that is equal for claims with equal specs and marks."""
    text = json.dumps(spec, sort_keys=True) + mark
    return blake2b(text.encode(), digest_size=16).hexdigest()


def mark_in(metadata: Mapping[str, Any] | None) -> str:
    """Return an annotation about the choice of devices that counts on pods only, else nothing."""
    annotations = (metadata or {}).get("annotations") or {}
    return next((key for key in _OF_PODS if key in annotations), "")


def named_devices(document: Mapping[str, Any]) -> AllocatedClaim | None:
    """Return the devices that an allocation names: held also where not all of it can be read."""
    status = document.get("status")
    allocation = status.get("allocation") if isinstance(status, Mapping) else None
    if not isinstance(allocation, Mapping):
        return None
    devices = allocation.get("devices")
    listed = devices.get("results") if isinstance(devices, Mapping) else None
    named = [one for one in listed if _names_a_device(one)] if isinstance(listed, list) else []
    return AllocatedClaim(
        ref=ClaimRef(document["metadata"]["namespace"], document["metadata"]["name"]),
        uid=ClaimUid(document["metadata"]["uid"]),
        results=tuple(
            AllocatedDevice(
                "",
                DeviceId(one["driver"], one["pool"], DeviceName(one["device"])),
                admin_access=one.get("adminAccess") is True,
            )
            for one in named
        ),
    )


def _names_a_device(result: object) -> bool:
    return isinstance(result, Mapping) and all(
        isinstance(result.get(key), str) for key in ("driver", "pool", "device")
    )


def _usable_from(allocation: Mapping[str, Any]) -> NodeSelection:
    if not allocation.get("nodeSelector"):
        return AllNodes()
    fields = Fields(allocation, "status.allocation", "", InvalidClaim)
    return read_selection(fields) or AllNodes()


def _consumer(one: Mapping[str, Any]) -> Consumer:
    resource, name, uid = (
        text(one.get(key), f"status.reservedFor[].{key}") for key in ("resource", "name", "uid")
    )
    return Consumer(resource, name, uid)
