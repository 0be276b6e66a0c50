"""Decodes and encodes one device of ``resource.k8s.io/v1``.

Fields that do not matter to an allocation (node-allocatable resources, the type of a partition, operations
to skip) are ignored. Any other unknown field makes the device unusable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scheduler_core.base import limits
from scheduler_core.base.errors import SelectorError
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
from scheduler_core.codec.decoded import Decoded, content
from scheduler_core.codec.fields import Fields
from scheduler_core.codec.selections import SELECTION, read_selection, write_selection
from scheduler_core.model.device import Binding, Device, DeviceName, Draw, SourceName
from scheduler_core.model.names import LABEL_RULE, is_label
from scheduler_core.model.nodes import AllNodes, NodeSelection
from scheduler_core.model.taints import Effect, Taint

_KNOWN: Final = (
    "attributes",
    "capacity",
    "consumesCounters",
    *SELECTION,
    "taints",
    "bindsToNode",
    "bindingConditions",
    "bindingFailureConditions",
    "allowMultipleAllocations",
    "compatibleOnlyWith",
    "nodeAllocatableResources",
)
_counters: Final[Decoded[Mapping[str, Quantity]]] = Decoded(4096)
_draws: Final[Decoded[tuple[Draw, ...]]] = Decoded(4096)
_PLAIN: Final = frozenset(("attributes", "capacity", "consumesCounters", *SELECTION))
NO_BINDING: Final = Binding()  # nearly all devices have it: one object is enough


def read_device(body: Fields, name: DeviceName, driver: str, common: NodeSelection | None) -> Device:
    """Read a device. ``common`` is the slice's node selection, None where devices select nodes."""
    body.only(*_KNOWN)
    attributes = read_attributes(body.optional("attributes"), driver)
    capacities = body.optional("capacity")
    known = content(capacities.values)
    capacity = read_capacity(capacities, driver, known)
    count = len(attributes) + len(capacity)
    if count > limits.PROPERTIES:
        raise body.refuse("", f"has {count} attributes and capacities; at most {limits.PROPERTIES}")
    own = read_selection(body)
    if (own is None) == (common is None):
        raise body.refuse("", "must select nodes exactly when the slice has perDeviceNodeSelection")
    draws = read_draws(body)
    is_plain = body.values.keys() <= _PLAIN
    return Device(
        name=name,
        attributes=attributes,
        capacity=capacity,
        draws=draws,
        nodes=own or common or AllNodes(),
        taints=() if is_plain else read_taints(body),
        binding=NO_BINDING if is_plain else _read_binding(body),
        is_shareable=not is_plain and body.flag("allowMultipleAllocations", False),
        policies=read_policies(capacities, driver, known),
        only_with=None if is_plain else read_only_with(body),
    )


def read_only_with(body: Fields) -> str | None:
    """Return the expression of ``compatibleOnlyWith``, None if the device has none."""
    if not body.has("compatibleOnlyWith"):
        return None
    return body.child("compatibleOnlyWith").text("expression", rule=_compile_error)


def _compile_error(expression: str) -> str | None:
    # Only slices with such expressions need the CEL engine: a plugin without them saves its 26 MiB.
    from scheduler_core.rules.selectors import compile_selector  # noqa: PLC0415

    try:
        compile_selector(expression)
    except SelectorError as error:
        return f"does not compile: {error.reason}"
    return None


def read_groups(fields: Fields) -> frozenset[str] | None:
    """Return the declared compatibility groups, None for an empty list."""
    return frozenset(fields.texts("compatibilityGroups")) or None


def read_counters(fields: Fields) -> Mapping[str, Quantity]:
    """Return counters by name. Equal counters give one object."""
    known = content(fields.values)
    found = _counters.get(known)
    if found is None:
        found = _read_counters(fields)
        if known is not None:
            _counters.put(known, found)
    return found


def _read_counters(fields: Fields) -> Mapping[str, Quantity]:
    if len(fields.values) > limits.COUNTERS:
        raise fields.refuse("", f"has {len(fields.values)} counters; at most {limits.COUNTERS} are allowed")
    for name in fields.values:
        if not is_label(str(name)):
            raise fields.refuse("", LABEL_RULE, name)
    return shared({name: read_amount(fields, name) for name in fields.values})


def read_draws(body: Fields) -> tuple[Draw, ...]:
    """Return what the device draws. Equal draws give one object."""
    known = content(body.values.get("consumesCounters"))
    found = _draws.get(known)
    if found is None:
        consumed = body.children("consumesCounters", limits.COUNTER_SETS_PER_DEVICE)
        found = tuple(_read_draw(fields) for fields in consumed)
        if known is not None:
            _draws.put(known, found)
    return found


def read_taints(body: Fields) -> tuple[Taint, ...]:
    """Return the taints."""
    return tuple(_read_taint(fields) for fields in body.children("taints", limits.TAINTS))


def read_label(fields: Fields, key: str) -> str:
    """Return a field that must be a DNS label."""
    return fields.text(key, rule=lambda text: None if is_label(text) else LABEL_RULE)


def _read_draw(fields: Fields) -> Draw:
    fields.only("counterSet", "counters", "compatibilityGroups")
    source = SourceName(read_label(fields, "counterSet"))
    return Draw(source, read_counters(fields.child("counters")), read_groups(fields))


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
    return binding if binding != NO_BINDING else NO_BINDING


def write_device(device: Device, driver: str, *, with_nodes: bool) -> dict[str, Any]:
    """Return the device as v1 writes it."""
    written: dict[str, Any] = {
        "attributes": write_attributes(device.attributes, driver, as_semver=True),
        "capacity": write_capacity(device.capacity, device.policies, driver),
        "consumesCounters": [_write_draw(draw) for draw in device.draws],
        "taints": [write_taint(taint) for taint in device.taints],
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


def write_taint(taint: Taint) -> Mapping[str, str]:
    """Return a taint as a slice has it."""
    found = {
        "key": taint.key,
        "value": taint.value,
        "effect": str(taint.effect),
        "timeAdded": taint.time_added,
    }
    return {key: value for key, value in found.items() if value}
