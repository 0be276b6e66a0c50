"""Decodes and encodes one device of ``resource.k8s.io/v1``.

Fields that do not matter to an allocation (node-allocatable resources, the type of a partition, operations
to skip) are ignored. Any other unknown field makes the device unusable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scheduler_core.base import limits
from scheduler_core.base.quantity import Quantity
from scheduler_core.codec.amounts import (
    read_amount,
    read_capacity,
    read_policies,
    shared,
    write_amounts,
    write_capacity,
)
from scheduler_core.codec.attributes import read_attributes, write_attributes
from scheduler_core.codec.fields import Fields
from scheduler_core.codec.selections import read_selection, write_selection
from scheduler_core.model.device import Binding, Device, DeviceName, Draw, SourceName
from scheduler_core.model.names import LABEL_RULE, is_label
from scheduler_core.model.nodes import AllNodes, NodeSelection
from scheduler_core.model.taints import Effect, Taint

_KNOWN: Final = (
    "attributes",
    "capacity",
    "consumesCounters",
    "nodeName",
    "nodeSelector",
    "allNodes",
    "taints",
    "bindsToNode",
    "bindingConditions",
    "bindingFailureConditions",
    "allowMultipleAllocations",
    "compatibleOnlyWith",
    "nodeAllocatableResources",
)
_NO_BINDING: Final = Binding()  # nearly all devices have it: one object is enough


def read_device(body: Fields, name: DeviceName, driver: str, common: NodeSelection | None) -> Device:
    """Read a device. ``common`` is the slice's node selection, None where devices select nodes."""
    body.only(*_KNOWN)
    attributes = read_attributes(body.optional("attributes"), driver)
    capacity = read_capacity(body.optional("capacity"), driver)
    count = len(attributes) + len(capacity)
    if count > limits.PROPERTIES:
        raise body.refuse("", f"has {count} attributes and capacities; at most {limits.PROPERTIES}")
    own = read_selection(body)
    if (own is None) == (common is None):
        raise body.refuse("", "must select nodes exactly when the slice has perDeviceNodeSelection")
    consumed = body.children("consumesCounters", limits.COUNTER_SETS_PER_DEVICE)
    return Device(
        name=name,
        attributes=attributes,
        capacity=capacity,
        draws=tuple(_read_draw(fields) for fields in consumed),
        nodes=own or common or AllNodes(),
        taints=tuple(_read_taint(fields) for fields in body.children("taints", limits.TAINTS)),
        binding=_read_binding(body),
        is_shareable=body.flag("allowMultipleAllocations", False),
        policies=read_policies(body.optional("capacity"), driver),
        only_with=read_only_with(body),
    )


def read_only_with(body: Fields) -> str | None:
    """Return the expression of ``compatibleOnlyWith``, None where there is none."""
    return body.child("compatibleOnlyWith").text("expression") if body.has("compatibleOnlyWith") else None


def read_groups(fields: Fields) -> frozenset[str] | None:
    """Return the declared compatibility groups, None for an empty list."""
    return frozenset(fields.texts("compatibilityGroups")) or None


def read_counters(fields: Fields) -> dict[str, Quantity]:
    """Return counters by name."""
    if len(fields.values) > limits.COUNTERS:
        raise fields.refuse("", f"has {len(fields.values)} counters; at most {limits.COUNTERS} are allowed")
    for name in fields.values:
        if not is_label(str(name)):
            raise fields.refuse("", LABEL_RULE, name)
    return {name: read_amount(fields, name) for name in fields.values}


def read_label(fields: Fields, key: str) -> str:
    """Return a field that must be a DNS label."""
    return fields.text(key, rule=lambda text: None if is_label(text) else LABEL_RULE)


def _read_draw(fields: Fields) -> Draw:
    fields.only("counterSet", "counters", "compatibilityGroups")
    source = SourceName(read_label(fields, "counterSet"))
    return Draw(source, shared(read_counters(fields.child("counters"))), read_groups(fields))


def _read_taint(fields: Fields) -> Taint:
    fields.only("key", "value", "effect", "timeAdded")
    effect = fields.text("effect")
    if effect not in set(Effect):
        raise fields.refuse("effect", f"must be one of {', '.join(Effect)}", effect)
    added = fields.text("timeAdded") if fields.has("timeAdded") else None
    return Taint(fields.text("key"), fields.text("value", ""), Effect(effect), added)


def _read_binding(body: Fields) -> Binding:
    binding = Binding(
        conditions=body.texts("bindingConditions", limits.BINDING_CONDITIONS),
        failure_conditions=body.texts("bindingFailureConditions", limits.BINDING_CONDITIONS),
        to_node=body.flag("bindsToNode", False),
    )
    return binding if binding != _NO_BINDING else _NO_BINDING


def write_device(device: Device, driver: str, *, with_nodes: bool) -> dict[str, Any]:
    """Return the device as v1 writes it."""
    written: dict[str, Any] = {
        "attributes": write_attributes(device.attributes, driver, as_semver=True),
        "capacity": write_capacity(device.capacity, device.policies, driver),
        "consumesCounters": [_write_draw(draw) for draw in device.draws],
        "taints": [_write_taint(taint) for taint in device.taints],
        "bindsToNode": device.binding.to_node,
        "bindingConditions": list(device.binding.conditions),
        "bindingFailureConditions": list(device.binding.failure_conditions),
        "allowMultipleAllocations": device.is_shareable,
        "compatibleOnlyWith": {"expression": device.only_with} if device.only_with else None,
    }
    selection = write_selection(device.nodes) if with_nodes else {}
    return {"name": device.name} | {key: value for key, value in written.items() if value} | selection


def _write_draw(draw: Draw) -> dict[str, Any]:
    written: dict[str, Any] = {"counterSet": draw.source, "counters": write_amounts(draw.amounts)}
    return written | ({"compatibilityGroups": sorted(draw.groups)} if draw.groups else {})


def _write_taint(taint: Taint) -> Mapping[str, str]:
    found = {
        "key": taint.key,
        "value": taint.value,
        "effect": str(taint.effect),
        "timeAdded": taint.time_added,
    }
    return {key: value for key, value in found.items() if value}
