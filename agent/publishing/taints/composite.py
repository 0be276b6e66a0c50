"""The taints of composite devices: what no claim could have now, and what no new pod shall get. Pure.

They are those of the v1 slices, but for the mark of an allocator (decision 0062) and the GPUs that the driver
does not list, which are no composite devices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.health.findings import Findings
from agent.health.tainted import tainting
from agent.inventory.foreign.found import InTheWay
from agent.inventory.model import Group, NodeDevices
from agent.publishing.taints.unreadable import UNREADABLE
from scheduler_core.model.composite import CompositeDevice
from scheduler_core.model.device import DeviceName
from scheduler_core.model.taints import Taint
from scheduler_core.publishing.documents import Document

Taints = Mapping[DeviceName, tuple[Taint, ...]]


def taints_of(devices: NodeDevices, in_the_way: InTheWay, health: Findings) -> Taints:
    """Return the taints of the devices that have some, in the order of the v1 slices."""
    found: dict[DeviceName, list[Taint]] = {}
    for name, foreign in in_the_way.devices.items():
        found.setdefault(name, []).append(foreign.taint)
    ill = tainting(health)
    for name, findings in ill.items():
        found.setdefault(name, []).extend(one.taint for one in findings)
    for name in devices.remembered - ill.keys():
        found.setdefault(name, []).append(UNREADABLE)
    return {name: tuple(taints) for name, taints in found.items() if name in devices.by_name}


def with_taints(devices: NodeDevices, taints: Taints) -> NodeDevices:
    """Return the devices with the taints in their composite form."""
    if not taints:
        return devices
    return replace(devices, groups=tuple(_group(one, taints) for one in devices.groups))


def _group(group: Group, taints: Taints) -> Group:
    if taints.keys().isdisjoint(device.name for device in group.devices):
        return group
    return replace(group, devices=tuple(_device(one, taints) for one in group.devices))


def _device(device: CompositeDevice, taints: Taints) -> CompositeDevice:
    found = taints.get(device.name)
    return device if found is None else replace(device, taints=found)


def first_tainted(slices: Sequence[Document]) -> Document:
    """Return the first composite slice that has a device with a taint. Shape: one of them has."""
    return next(one for one in slices if any(map(_has_taint, one["spec"].get("devices") or ())))


def _has_taint(device: Mapping[str, Any]) -> bool:
    return any("taints" in body for body in device.values() if isinstance(body, Mapping))
