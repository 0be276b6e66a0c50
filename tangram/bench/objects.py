"""Builders of the objects in an input: slices, classes, claims, as ``resource.k8s.io/v1`` writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from scheduler_core.base.quick_dataclass import dataclass

Json = dict[str, Any]

# The gates of a Kubernetes 1.37 cluster that change what is allocated.
FEATURES: Final = ("DRAConsumableCapacity", "DRAPartitionableDevices", "DRAPrioritizedList")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a slice belongs. Shape: ``slices`` is how many the pool has."""

    driver: str
    pool: str
    slices: int
    node: str


def resource_slice(
    name: str, place: Place, *, devices: Sequence[Json] = (), counters: Sequence[Json] = ()
) -> Json:
    """Return a slice with devices or with counter sets."""
    pool = {"name": place.pool, "generation": 1, "resourceSliceCount": place.slices}
    spec: Json = {"driver": place.driver, "pool": pool, "nodeName": place.node}
    if counters:
        spec["sharedCounters"] = list(counters)
    if devices:
        spec["devices"] = list(devices)
    return {"metadata": {"name": name}, "spec": spec}


def amounts(counters: dict[str, str]) -> Json:
    """Return quantities in the form of counters and capacities."""
    return {name: {"value": amount} for name, amount in counters.items()}


def device_class(name: str, selector: str) -> Json:
    """Return a class with one CEL selector."""
    return {"metadata": {"name": name}, "spec": {"selectors": _selectors(selector)}}


def request(name: str, device_class: str, selector: str | None = None, count: int | None = 1) -> Json:
    """Return a request for ``count`` devices, for all of them where it is None."""
    return {"name": name, "exactly": wanted(device_class, selector, count)}


def wanted(device_class: str, selector: str | None, count: int | None) -> Json:
    """Return what a request or one of its alternatives asks for."""
    asked: Json = {"deviceClassName": device_class, "allocationMode": "All"}
    if count is not None:
        asked |= {"allocationMode": "ExactCount", "count": count}
    return asked | ({"selectors": _selectors(selector)} if selector else {})


def claim(name: str, requests: Sequence[Json], *constraints: Json) -> Json:
    """Return a claim."""
    devices: Json = {"requests": list(requests)}
    if constraints:
        devices["constraints"] = list(constraints)
    return {"metadata": {"namespace": "default", "name": name}, "spec": {"devices": devices}}


def question(
    name: str,
    slices: Sequence[Json],
    classes: Sequence[Json],
    claims: Sequence[Json],
    in_use: Sequence[Json] = (),
    *,
    features: Sequence[str] = FEATURES,
) -> Json:
    """Return an input; it lacks the nodes. Shape: ``in_use`` devices held in full."""
    return {
        "name": name,
        "features": list(features),
        "slices": list(slices),
        "classes": list(classes),
        "claims": list(claims),
        "allocated": {"devices": list(in_use), "shared": [], "capacity": []},
    }


def on_node(name: str) -> Json:
    """Return the part of an input that names its one node."""
    return {"node": {"metadata": {"name": name}}}


def _selectors(expression: str) -> list[Json]:
    return [{"cel": {"expression": expression}}]
