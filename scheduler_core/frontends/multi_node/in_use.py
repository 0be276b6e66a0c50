"""PURE: whether the GPUs of a pool of several nodes are free for it, and whether claims have its devices.

Takes members, the slices of nodes and what claims hold; returns the first obstacle as a sentence, None where
there is none. A device of our own driver is named after the numbers of its GPUs; others say in attributes
what they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.members import Members, members_of
from scheduler_core.frontends.multi_node.pool_object import PoolObject
from scheduler_core.frontends.partitions.gpu_numbers import numbers_in
from scheduler_core.model.claim import AllocatedClaim
from scheduler_core.model.names import qualified
from scheduler_core.model.ownership import MULTI_NODE
from scheduler_core.publishing.documents import Document
from scheduler_core.publishing.plan import generation_of

_SEVERAL: Final = "gpuMinors"


def minors_by_node(members: Members) -> Mapping[str, frozenset[int]]:
    """Return all GPUs of a pool, by node."""
    found: dict[str, set[int]] = {}
    for nodes in members.values():
        for node, minors in nodes.items():
            found.setdefault(node, set()).update(minors)
    return {node: frozenset(found[node]) for node in sorted(found)}


def why_not_withheld(
    node: str,
    minors: Collection[int],
    slices: Iterable[Document],
    claims: Iterable[AllocatedClaim],
    driver: str,
) -> str | None:
    """Return why a pool may not have GPUs of a node yet.

    Shape: ``slices`` are the driver's slices of the node. A claim that has a device which the node does not
           publish any more may have one of these GPUs.
    """
    newest = _newest(slices)
    if not newest or len(newest) != newest[0]["spec"]["pool"]["resourceSliceCount"]:
        return f"node {node} has no complete pool of {driver}: its agent must publish it first"
    devices = [one for slice_ in newest for one in slice_["spec"].get("devices") or ()]
    for name, used in _used(devices, driver):
        if used is None or used & frozenset(minors):
            what = "whose GPU it does not tell" if used is None else f"of GPU {min(used & frozenset(minors))}"
            return f"node {node} still publishes device {name} {what}: its agent must take it back first"
    published = {one["name"] for one in devices}
    for claim, device_name in _held(claims, driver, node):
        if device_name not in published:
            return (
                f"claim {claim} has device {device_name}, which node {node} does not publish any more. It "
                "may use one of these GPUs: end the pods of that claim first"
            )
    return None


def why_taken(found: PoolObject, stored: Iterable[Document], driver: str) -> str | None:
    """Return which other pool has one of the GPUs.

    Shape: ``stored`` are slices of pools that no node owns.
    """
    wanted = minors_by_node(found.members)
    by_pool: dict[str, list[Document]] = {}
    for one in stored:
        if one["spec"]["driver"] == driver and one["spec"]["pool"]["name"] != found.pool_name:
            by_pool.setdefault(one["spec"]["pool"]["name"], []).append(one)
    for name, slices in sorted(by_pool.items()):
        for node, minors in minors_by_node(members_of(slices)).items():
            if both := minors & wanted.get(node, frozenset()):
                other = name.removeprefix(MULTI_NODE)
                gpu = f"GPU {min(both)} of node {node}"
                return f"{gpu} is in MultiNodePool {other} already: each GPU can be in one only"
    return None


def why_held(pool: str, claims: Iterable[AllocatedClaim], driver: str) -> str | None:
    """Return which claim has a device of a pool."""
    for claim, device in _held(claims, driver, pool):
        return f"claim {claim} has device {device}: it must be released first"
    return None


def _held(claims: Iterable[AllocatedClaim], driver: str, pool: str) -> Iterator[tuple[str, str]]:
    for claim in claims:
        for one in claim.results:
            if (one.device.driver, one.device.pool) == (driver, pool) and not one.admin_access:
                yield str(claim.ref), str(one.device.device)


def _newest(slices: Iterable[Document]) -> list[Document]:
    found = list(slices)
    generation = max(map(generation_of, found), default=0)
    return [one for one in found if generation_of(one) == generation]


def _used(devices: Iterable[Document], driver: str) -> Iterator[tuple[str, frozenset[int] | None]]:
    """Yield each device with the GPUs that it is, or is cut from; None where it does not say which one.

    Partitions with many attributes leave out the minor of their GPU; the GPU itself never does.
    """
    read = [_Read.of(one, driver) for one in devices]
    number_of = {one.uuid: one.number for one in read if one.uuid and one.number is not None}
    for one in read:
        number = number_of.get(one.uuid) if one.number is None else one.number
        is_known = number is not None or not one.uuid
        yield (
            one.name,
            frozenset((*one.several, *(() if number is None else (number,)))) if is_known else None,
        )


@dataclass(frozen=True, slots=True)
class _Read:
    """What a device says of its GPUs.

    Shape: ``uuid`` is empty for a device that has no GPU; ``number`` as its name says it, else the minor.
    """

    name: str
    uuid: str
    number: int | None
    several: frozenset[int]

    @classmethod
    def of(cls, device: Document, driver: str) -> _Read:
        attributes = device.get("attributes") or {}

        def value(key: str, kind: str) -> Any:
            found = attributes.get(key) or attributes.get(qualified(key, driver)) or {}
            return found.get(kind)

        minor, named = value("minor", "int"), numbers_in(device["name"])
        minor = value("parentMinor", "int") if minor is None else minor
        minors = (value(_SEVERAL, "string") or "").split(",")
        return cls(
            device["name"],
            value("uuid", "string") or value("parentUUID", "string") or "",
            named[0] if len(named) == 1 else minor,
            frozenset(named if len(named) > 1 else (int(one) for one in minors if one.isdigit())),
        )
