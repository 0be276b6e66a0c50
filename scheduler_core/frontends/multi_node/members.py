"""PURE: the GPUs that the devices of a pool of our own driver consist of, checked.

Takes the flattened pool of a MultiNodePool; returns its members. The devices at the ends of the branches name
whole GPUs of one node; a device from which others are cut consists of the GPUs of all of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scheduler_core.base.errors import InvalidSlice
from scheduler_core.codec.members import Members
from scheduler_core.dialects.project import spellings
from scheduler_core.model.device import Device, DeviceName
from scheduler_core.model.names import qualified
from scheduler_core.model.nodes import OnNode
from scheduler_core.model.pool import Pool

TYPE: Final = "multi-node-gpus"
"""The ``type`` of these devices."""
_MINORS: Final = "gpuMinors"
_MINORS_RULE: Final = 'must be minors of GPUs of the node with commas between them, such as "0,1"'


def members_of_pool(flat: Pool, subject: str) -> Members:
    """Return the members by the names that the devices have in v1 slices.

    Raises: InvalidSlice naming the device and the rule that it breaks.
    """
    parts: dict[DeviceName, list[DeviceName]] = {}
    for device in flat.devices:
        _refuse_unfit(device, flat.id.driver, subject)
        for parent in device.parents:
            parts.setdefault(parent, []).append(device.name)
    ends = {
        device.name: _end(device, flat.id.driver, subject)
        for device in flat.devices
        if device.name not in parts
    }
    _refuse_twice(ends, subject)
    for device in flat.devices:
        if device.name in parts and qualified(_MINORS, flat.id.driver) in device.attributes:
            rule = "must not be there: other devices are cut from this one, and its GPUs are theirs"
            raise InvalidSlice(subject, _attribute(device), None, rule)
    names = spellings(flat).devices
    return {names[one.name]: _all(one.name, parts, ends) for one in flat.devices}


def _refuse_unfit(device: Device, driver: str, subject: str) -> None:
    field = f"spec.devices[{device.name}]"
    if len(device.parents) > 1:
        rule = "must be one device at most: devices with a common GPU would not exclude each other"
        raise InvalidSlice(subject, f"{field}.consumesCapacityFrom", ", ".join(device.parents), rule)
    if device.is_shareable:
        rule = "must not be set: whole GPUs are for one claim"
        raise InvalidSlice(subject, f"{field}.allowMultipleAllocations", "true", rule)
    found = device.attributes.get(qualified("type", driver), TYPE)
    if found != TYPE:
        raise InvalidSlice(subject, f"{field}.attributes.type", found, f"must be {TYPE} or left out")


def _end(device: Device, driver: str, subject: str) -> tuple[str, tuple[int, ...]]:
    """Return node and minors of a device at the end of a branch."""
    if not isinstance(device.nodes, OnNode):
        rule = "must name the node of its GPUs, since no other device is cut from this one"
        raise InvalidSlice(subject, f"spec.devices[{device.name}].nodeName", None, rule)
    text = device.attributes.get(qualified(_MINORS, driver))
    words = text.split(",") if isinstance(text, str) else []
    if not words or not all(word.isascii() and word.isdigit() for word in words):
        raise InvalidSlice(subject, _attribute(device), text, _MINORS_RULE)
    return device.nodes.name, tuple(map(int, words))


def _refuse_twice(ends: Mapping[DeviceName, tuple[str, tuple[int, ...]]], subject: str) -> None:
    seen: dict[tuple[str, int], DeviceName] = {}
    for name, (node, minors) in ends.items():
        for minor in minors:
            if (node, minor) in seen:
                rule = f"must not name GPU {minor} of {node}, which device {seen[node, minor]} names"
                raise InvalidSlice(subject, f"spec.devices[{name}].attributes.{_MINORS}", minor, rule)
            seen[node, minor] = name


def _all(
    name: DeviceName,
    parts: Mapping[DeviceName, list[DeviceName]],
    ends: Mapping[DeviceName, tuple[str, tuple[int, ...]]],
) -> Mapping[str, tuple[int, ...]]:
    """Return the minors by node of a device and of all that are cut from it."""
    found: dict[str, set[int]] = {}
    waiting = [name]
    for one in waiting:  # the list grows during the loop
        waiting += parts.get(one, ())
        if one in ends:
            node, minors = ends[one]
            found.setdefault(node, set()).update(minors)
    return {node: tuple(sorted(minors)) for node, minors in found.items()}


def _attribute(device: Device) -> str:
    return f"spec.devices[{device.name}].attributes.{_MINORS}"
