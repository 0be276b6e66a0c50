"""Reads the input of a case, in each of the forms that case files use.

Slices come in either dialect, nodes as names or API objects, held devices as claims, as a list of devices, or
as devices and shares. This module never reads what a case expects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from scheduler_core.base.features import ALL, Features
from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec import composite, v1
from scheduler_core.codec.claims import decode_allocated_claim, decode_claim, decode_class
from scheduler_core.codec.documents import is_composite_slice
from scheduler_core.dialects.mixins import pools as composite_pools
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, Claim, ClaimRef
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import DeviceId, DeviceName
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool

SHARE_ID: Final = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"
"""What stands in case files for every share id."""

_HOLDER: Final = ClaimRef("in-use", "claim")


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What is to be allocated, where, and what is there. Shape: ``nodes`` in the order of trying."""

    claims: tuple[Claim, ...]
    cluster: Cluster
    nodes: tuple[Node, ...]


def read_situation(content: Mapping[str, Any], *, by_name: bool) -> Situation:
    """Return the situation of a case.

    ``by_name`` keeps the names of claims; otherwise their index distinguishes them, since claims of
    different namespaces come without.
    Raises: CoreError for objects that the core refuses; ValueError for an unknown feature.
    """
    claims = tuple(
        decode_claim(storable(obj if by_name else _numbered(obj, number)))
        for number, obj in enumerate(content.get("claims") or ())
    )
    cluster = Cluster(
        pools=tuple(_pools(content.get("slices") or ())),
        classes={one.name: one for one in map(decode_class, content.get("classes") or ())},
        allocated=tuple(_held(content.get("allocated") or ())),
        features=_features(content),
    )
    nodes = tuple(_node(obj) for obj in content.get("nodes") or [content.get("node") or {}])
    return Situation(claims=claims, cluster=cluster, nodes=nodes)


def _numbered(obj: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    return {**obj, "metadata": {**(obj.get("metadata") or {}), "namespace": f"claim-{number}"}}


def storable(value: Any) -> Any:
    """Return a claim without what Kubernetes' cases have and no server stores.

    That is a count beside ``All``, and a name that two requests have: a later one gets a name of its own.
    """
    if isinstance(value, Mapping):
        is_all = value.get("allocationMode") == "All"
        return {key: storable(part) for key, part in value.items() if not (is_all and key == "count")}
    if not isinstance(value, list):
        return value
    parts = [storable(part) for part in value]
    names: set[str] = set()
    for place, part in enumerate(parts):
        name = part.get("name") if isinstance(part, Mapping) else None
        if isinstance(name, str) and name in names:
            parts[place] = {**part, "name": f"{name}-again-{place}"}
        if isinstance(name, str):
            names.add(name)
    return parts


def _features(content: Mapping[str, Any]) -> Features:
    """Cases that list features are Kubernetes' own: groups have the meaning that it ships."""
    listed = content.get("features")
    return ALL if listed is None else Features.only(listed, groups="kep-5963")


def _node(obj: Mapping[str, Any]) -> Node:
    found, status = obj.get("metadata") or obj, obj.get("status") or {}
    declared = frozenset(status.get("declaredFeatures") or ())
    return Node(str(found.get("name", "")), found.get("labels") or {}, declared)


def _pools(slices: Sequence[Mapping[str, Any]]) -> Iterator[Pool]:
    composites = [obj for obj in slices if is_composite_slice(obj)]
    yield from composite_pools(composite.decode_slice(obj) for obj in composites)
    yield from v1.pools(v1.decode_slice(obj) for obj in slices if not is_composite_slice(obj))


def _held(allocated: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Iterator[AllocatedClaim]:
    if isinstance(allocated, Mapping):
        yield AllocatedClaim(ref=_HOLDER, results=tuple(_shared(allocated)))
    elif all("device" in obj for obj in allocated):
        yield AllocatedClaim(ref=_HOLDER, results=tuple(map(_whole, allocated)))
    else:
        for obj in allocated:
            found = decode_allocated_claim(obj)
            if found is not None:
                yield found


def _shared(allocated: Mapping[str, Any]) -> Iterator[AllocatedDevice]:
    """Yield whole devices, then the shares with what they consumed.

    What is consumed is listed once per device, for all its shares together.
    """
    yield from map(_whole, allocated.get("devices") or ())
    consumed = {_id(obj): _amounts(obj["consumed"]) for obj in allocated.get("capacity") or ()}
    for obj in allocated.get("shared") or ():
        amounts = consumed.pop(_id(obj), {})
        yield AllocatedDevice("held", _id(obj), share_id=obj.get("shareID", SHARE_ID), consumed=amounts)
    for device, amounts in consumed.items():
        yield AllocatedDevice("held", device, share_id=SHARE_ID, consumed=amounts)


def _whole(obj: Mapping[str, Any]) -> AllocatedDevice:
    return AllocatedDevice("held", _id(obj))


def _id(obj: Mapping[str, Any]) -> DeviceId:
    return DeviceId(obj["driver"], obj["pool"], DeviceName(obj["device"]))


def _amounts(values: Mapping[str, str]) -> dict[str, Quantity]:
    return {name: Quantity.parse(str(text)) for name, text in values.items()}
