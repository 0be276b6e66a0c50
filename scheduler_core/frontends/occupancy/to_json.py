"""The occupancy of a cluster as JSON: what ``tangram top --json`` prints and the web page reads.

Keys are camelCase and never left out; what is unknown is null. Lists have the order of the values. Amounts of
memory are bytes, as integers. A holder is ``NAMESPACE/NAME`` of its claim, a key into ``holders``.
``fragmentation`` is from 0 to 1. docs/top.md lists every key.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scheduler_core.base.quantity import Quantity
from scheduler_core.frontends.occupancy.naming import nodes_text
from scheduler_core.frontends.occupancy.values import (
    ClusterOccupancy,
    DeviceUse,
    FreePlaces,
    Gpu,
    GpuRoom,
    Holder,
    NamespaceTotal,
    Nic,
    NicFunction,
    NodeOccupancy,
    OtherDevices,
    Place,
)
from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.taints import Taint

Json = dict[str, Any]


def cluster_json(found: ClusterOccupancy) -> Json:
    """Return a cluster as JSON."""
    return {
        "nodes": [node_json(one) for one in found.nodes],
        "holders": [_holder(one) for one in found.holders],
        "namespaces": [_namespace(one) for one in found.namespaces],
        "free": _free(found.free),
        **_room(found.room),
    }


def node_json(node: NodeOccupancy) -> Json:
    """Return a node as JSON. Its name is empty for what belongs to no single node."""
    return {
        "name": node.name,
        "gpus": [_gpu(one) for one in node.gpus],
        "nics": [_nic(one) for one in node.nics],
        "others": [_others(one) for one in node.others],
        "problems": list(node.problems),
        "free": _free(node.free),
        **_room(node.room),
    }


def _gpu(gpu: Gpu) -> Json:
    return {
        "name": gpu.name,
        "driver": gpu.pool.driver,
        "pool": gpu.pool.name,
        "product": gpu.product,
        "memory": _bytes(gpu.memory),
        "modes": [str(one) for one in gpu.modes],
        "memorySlices": [
            {"index": one.index, "state": str(one.state), "holders": _refs(one.holders)}
            for one in gpu.memory_slices
        ],
        "uses": _uses(gpu.uses),
        "free": _free(gpu.free),
        "shares": [
            {
                "device": str(one.device),
                "what": one.what,
                "memory": _bytes(one.memory),
                "left": _bytes(one.left),
            }
            for one in gpu.shares
        ],
        "taints": _taints(gpu.taints),
        "place": _place(gpu.place),
        **_room(gpu.room),
    }


def _nic(nic: Nic) -> Json:
    return {
        "name": nic.name,
        "driver": nic.pool.driver,
        "pool": nic.pool.name,
        "linkType": nic.link_type,
        "whole": None if nic.whole is None else _function(nic.whole),
        "vfs": [_function(one) for one in nic.vfs],
        "uses": _uses(nic.uses),
        "taints": _taints(nic.taints),
        "place": _place(nic.place),
    }


def _function(one: NicFunction) -> Json:
    return {"name": str(one.name), "state": str(one.state), "holders": _refs(one.holders)}


def _others(one: OtherDevices) -> Json:
    return {
        "what": one.what,
        "driver": one.pool.driver,
        "pool": one.pool.name,
        "count": one.count,
        "free": one.free,
        "uses": _uses(one.uses),
        "usableFrom": nodes_text(one.usable_from),
    }


def _holder(one: Holder) -> Json:
    return {
        "claim": str(one.claim),
        "namespace": one.claim.namespace,
        "name": one.claim.name,
        "pods": list(one.pods),
        "devices": one.devices,
    }


def _namespace(one: NamespaceTotal) -> Json:
    return {
        "namespace": one.namespace,
        "claims": one.claims,
        "gpus": one.gpus,
        "memorySlices": one.memory_slices,
        "shares": one.shares,
        "memory": one.memory.whole,
        "nics": one.nics,
        "vfs": one.vfs,
        "others": one.others,
    }


def _uses(uses: Iterable[DeviceUse]) -> list[Json]:
    return [
        {
            "device": str(one.device),
            "what": one.what,
            "holder": str(one.claim),
            "request": one.request,
            "memory": _bytes(one.memory),
            "memorySlices": list(one.memory_slices),
            "isShare": one.is_share,
        }
        for one in uses
    ]


def _free(places: Iterable[FreePlaces]) -> list[Json]:
    return [
        {
            "what": one.what,
            "places": one.places,
            "fits": one.fits,
            "memorySlices": one.memory_slices,
            "memory": _bytes(one.memory),
        }
        for one in places
    ]


def _room(room: GpuRoom | None) -> Json:
    if room is None:
        return {"room": None, "fragmentation": None}
    return {"room": {"now": room.now, "best": room.best}, "fragmentation": round(room.fragmentation, 4)}


def _taints(taints: Iterable[Taint]) -> list[Json]:
    return [{"key": one.key, "value": one.value, "effect": str(one.effect)} for one in taints]


def _place(place: Place) -> Json:
    return {
        "numaNode": place.numa_node,
        "pciBusID": place.pci_bus_id,
        "pcieRoot": place.pcie_root,
        "pcieRootPort": place.pcie_root_port,
        "pcieSwitch": place.pcie_switch,
    }


def _refs(holders: Iterable[ClaimRef]) -> list[str]:
    return [str(one) for one in holders]


def _bytes(amount: Quantity | None) -> int | None:
    return None if amount is None else amount.whole
