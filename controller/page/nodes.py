"""PURE: the nodes of the page's value, which JSON can hold (docs/web.md).

A device becomes a bar of cells, which are memory slices or VFs, and cuts of the bar with their holders.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from scheduler_core.frontends.occupancy.naming import has_several_drivers, nodes_text, with_driver
from scheduler_core.frontends.occupancy.values import (
    Availability,
    DeviceUse,
    FreePlaces,
    Gpu,
    GpuRoom,
    MemorySlice,
    Nic,
    NodeOccupancy,
    OtherDevices,
    Place,
)
from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.taints import Taint

_WHATS: Final = {"gpu": "whole GPU", "gpu-shared": "share", "gpu-mps": "share under MPS"}
NOWHERE: Final = "devices of no single node"
_CELLS: Final = 32
"""So many devices of one kind are drawn one by one."""


class NodeValues:
    """Values of nodes. The value of a node that is the same one as before is the same one too."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[NodeOccupancy, dict[str, Any]]] = {}

    def of(self, nodes: Iterable[NodeOccupancy]) -> list[dict[str, Any]]:
        """Return the values of all nodes; others are forgotten."""
        self._known = {one.name: self._one(one) for one in nodes}
        return [value for _, value in self._known.values()]

    def _one(self, node: NodeOccupancy) -> tuple[NodeOccupancy, dict[str, Any]]:
        known = self._known.get(node.name)
        return known if known is not None and known[0] is node else (node, _node(node))


def fragmentation(room: GpuRoom | None) -> float | None:
    """Return the fragmentation, None where there is no GPU with memory slices."""
    return None if room is None else room.fragmentation


def is_used(one: MemorySlice) -> bool:
    """Whether a claim holds a memory slice."""
    return one.state in (Availability.HELD, Availability.SHARED)


def _node(node: NodeOccupancy) -> dict[str, Any]:
    """Return a node. The driver is told with the devices that another driver's stand beside."""
    mixed = {kind: has_several_drivers(kind_of) for kind, kind_of in _kinds(node)}
    gpus = [_gpu(one) | _driver(one, is_told=mixed["gpu"]) for one in node.gpus]
    return {
        "name": node.name or NOWHERE,
        "isNode": bool(node.name),
        "gpus": gpus,
        "nics": [_nic(one) | _driver(one, is_told=mixed["nic"]) for one in node.nics],
        "others": [_other(one, is_mixed=mixed["other"], is_of_node=bool(node.name)) for one in node.others],
        "used": sum(one["used"] for one in gpus),
        "total": sum(one["total"] for one in gpus),
        "free": _free(node.free),
        "fragmentation": fragmentation(node.room),
    }


def _kinds(node: NodeOccupancy) -> Iterator[tuple[str, Sequence[Gpu | Nic | OtherDevices]]]:
    yield from (("gpu", node.gpus), ("nic", node.nics), ("other", node.others))


def _driver(one: Gpu | Nic, *, is_told: bool) -> dict[str, str]:
    return {"name": with_driver(one.name, one, is_mixed=is_told)}


def _gpu(gpu: Gpu) -> dict[str, Any]:
    length = len(gpu.memory_slices) or 1
    facts = (gpu.product, "" if gpu.memory is None else str(gpu.memory), _bus(gpu.place))
    return {
        "name": gpu.name,
        "kind": "gpu",
        "text": " · ".join(filter(None, facts)),
        "cells": length,
        "used": sum(map(is_used, gpu.memory_slices)),
        "total": len(gpu.memory_slices),
        "unusable": [one.index for one in gpu.memory_slices if one.state is Availability.UNUSABLE],
        "cuts": list(_cuts(gpu.uses, length)),
        "free": _free(gpu.free),
        "place": _place(gpu.place),
        "health": [_taint(one) for one in gpu.taints],
    }


def _cuts(uses: Iterable[DeviceUse], length: int) -> Iterator[dict[str, Any]]:
    """Yield what is held of a GPU. Shares lie over the whole GPU; claims of one part share its cut."""
    holders: dict[tuple[int, ...], list[DeviceUse]] = {}
    for use in uses:
        holders.setdefault(use.memory_slices or tuple(range(length)), []).append(use)
    for slices, members in sorted(holders.items()):
        for start, size in _runs(slices):
            yield {
                "start": start,
                "size": size,
                "label": ", ".join(dict.fromkeys(_WHATS.get(one.what, one.what) for one in members)),
                "holders": _claims(one.claim for one in members),
            }


def _runs(slices: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Yield start and length of each run of neighbours."""
    for _, run in groupby(enumerate(slices), lambda pair: pair[1] - pair[0]):
        found = [slice_index for _, slice_index in run]
        yield found[0], len(found)


def _nic(nic: Nic) -> dict[str, Any]:
    length = len(nic.vfs) or 1
    whole = () if nic.whole is None else nic.whole.holders
    cuts = [
        {"start": index, "size": 1, "label": f"VF {index}", "holders": _claims(vf.holders)}
        for index, vf in enumerate(nic.vfs)
        if vf.holders
    ]
    if whole:
        cuts = [{"start": 0, "size": length, "label": "whole NIC", "holders": _claims(whole)}]
    facts = (nic.link_type, _bus(nic.place), f"{len(nic.vfs)} VFs" if nic.vfs else "no VFs")
    return {
        "name": nic.name,
        "kind": "nic",
        "text": " · ".join(filter(None, facts)),
        "cells": length,
        "used": length if whole else len(cuts),
        "total": length,
        "unusable": []
        if whole
        else [at for at, vf in enumerate(nic.vfs) if vf.state is Availability.UNUSABLE],
        "cuts": cuts,
        "free": {},
        "place": _place(nic.place),
        "health": [_taint(one) for one in nic.taints],
    }


def _other(other: OtherDevices, *, is_mixed: bool, is_of_node: bool) -> dict[str, Any]:
    """Return devices of one kind: a cell for each, those that are held first.

    Of many, those that are not held are one cell together, and so are those that are held beyond the cells.
    """
    facts = [f"{other.free} of {other.count} free"]
    if not is_of_node:
        facts += [f"pool {other.pool.name}", f"usable from {nodes_text(other.usable_from)}"]
    cuts = list(_device_cuts(other.uses))
    held = len({one.device for one in other.uses})
    rest = other.count - held if other.count <= _CELLS else min(1, other.count - held)
    free = min(other.free, rest)
    return {
        "name": with_driver(other.what, other, is_mixed=is_mixed),
        "kind": "other",
        "text": " · ".join(facts),
        "cells": len(cuts) + rest,
        "used": held,
        "total": other.count,
        "unusable": list(range(len(cuts) + free, len(cuts) + rest)),
        "cuts": cuts,
        "free": {},
        "place": [],
        "health": [],
    }


def _device_cuts(uses: Iterable[DeviceUse]) -> Iterator[dict[str, Any]]:
    found = [(str(name), _claims(one.claim for one in members)) for name, members in groupby(uses, _device)]
    beyond = found[_CELLS - 1 :] if len(found) > _CELLS else []
    for place, (name, holders) in enumerate(found[: len(found) - len(beyond)]):
        yield {"start": place, "size": 1, "label": name, "holders": holders}
    if beyond:
        holders = list(dict.fromkeys(one for _, some in beyond for one in some))
        label = f"{len(beyond)} devices"
        yield {"start": _CELLS - 1, "size": 1, "label": label, "holders": holders}


def _device(use: DeviceUse) -> str:
    return use.device


def _claims(refs: Iterable[ClaimRef]) -> list[str]:
    return [str(one) for one in dict.fromkeys(refs)]


def _free(places: Iterable[FreePlaces]) -> dict[str, int]:
    return {_WHATS.get(one.what, one.what): one.fits for one in places if one.fits}


def _bus(place: Place) -> str:
    return place.pci_bus_id or ""


def _place(place: Place) -> list[str]:
    """Return what leads to a device, from the socket down; what is unknown is left out."""
    numa = None if place.numa_node is None else f"NUMA node {place.numa_node}"
    top = ", ".join(filter(None, (numa, place.pcie_root)))
    port = place.pcie_root_port and f"root port {place.pcie_root_port}"
    switch = place.pcie_switch and f"switch {place.pcie_switch}"
    return [one for one in (top, port, switch) if one]


def _taint(taint: Taint) -> dict[str, str]:
    text = f"{taint.key}: {taint.value}" if taint.value else taint.key
    return {"text": text, "effect": str(taint.effect)}
