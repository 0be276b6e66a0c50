"""Reads ResourceClass objects and lists of a node's devices.

Takes JSON values. Refused are unknown fields and operators, and values that the operator does not take. The
error names the object, the field, the value and what is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

from scheduler_core.codec.fields import Fields, subject_of
from scheduler_core.frontends.classes.errors import InvalidNodeDevices, InvalidResourceClass
from scheduler_core.frontends.classes.model import (
    ORDERED,
    WITHOUT_VALUES,
    ClassDevice,
    ResourceClass,
    Selector,
    ValueOperator,
    ValueRequirement,
)
from scheduler_core.frontends.classes.values import AMOUNT_RULE, Value, value_of
from scheduler_core.model.names import POOL_RULE, is_pool

API_VERSION: Final = "tangram.dev/v1alpha1"
CLASS_KIND: Final = "ResourceClass"
DEVICES_KIND: Final = "NodeDevices"
_NAME_RULE: Final = POOL_RULE.replace("DNS subdomains joined by '/'", "a DNS subdomain")
_TOP: Final = ("apiVersion", "kind", "metadata", "spec", "status")


def decode_resource_class(obj: Mapping[str, Any]) -> ResourceClass:
    """Read a ResourceClass without its status. Raises: InvalidResourceClass."""
    top = Fields(obj, subject_of(obj, CLASS_KIND), "", InvalidResourceClass)
    name = _name(top, CLASS_KIND, _TOP)
    spec = top.optional("spec")
    spec.only("resourceSelector")
    return ResourceClass(name, tuple(_selector(one) for one in spec.children("resourceSelector")))


def decode_node_devices(obj: Mapping[str, Any]) -> tuple[str, tuple[ClassDevice, ...]]:
    """Read a node's name and its devices, in the order of the list. Raises: InvalidNodeDevices."""
    top = Fields(obj, subject_of(obj, DEVICES_KIND), "", InvalidNodeDevices)
    name = _name(top, DEVICES_KIND, ("apiVersion", "kind", "metadata", "devices"))
    devices: dict[str, ClassDevice] = {}
    for fields in top.children("devices"):
        fields.only("name", "quantity", "properties")
        device = _device(fields)
        if device.name in devices:
            raise fields.refuse(
                "name", "is listed twice; devices of a node have different names", device.name
            )
        devices[device.name] = device
    return name, tuple(devices.values())


def _name(top: Fields, kind: str, known: tuple[str, ...]) -> str:
    top.only(*known)
    if top.text("kind") != kind:
        raise top.refuse("kind", f"must be {kind}", top.values["kind"])
    if top.has("apiVersion") and top.text("apiVersion") != API_VERSION:
        raise top.refuse("apiVersion", f"must be {API_VERSION}, or absent", top.values["apiVersion"])
    metadata = top.child("metadata")
    if metadata.has("namespace"):
        raise metadata.refuse(
            "namespace", f"must be absent: a {kind} has no namespace", metadata.values["namespace"]
        )
    return metadata.text("name", rule=lambda text: None if "/" not in text and is_pool(text) else _NAME_RULE)


def _selector(fields: Fields) -> Selector:
    fields.only("matchExpressions")
    return tuple(_requirement(one) for one in fields.children("matchExpressions"))


def _requirement(fields: Fields) -> ValueRequirement:
    fields.only("key", "operator", "values")
    key = fields.text("key", rule=lambda text: None if text.strip() else "must not be empty")
    text = fields.text("operator")
    if text not in tuple(ValueOperator):
        raise fields.refuse("operator", f"must be one of {', '.join(ValueOperator)}", text)
    operator, values = ValueOperator(text), fields.texts("values")
    _check_values(fields, operator, values)
    return ValueRequirement(key, operator, values)


def _check_values(fields: Fields, operator: ValueOperator, values: tuple[str, ...]) -> None:
    if operator in WITHOUT_VALUES:
        if values:
            raise fields.refuse("values", f"must be absent: {operator} takes no value", list(values))
        return
    if not values:
        raise fields.refuse("values", f"must have a value: {operator} takes one", list(values))
    if operator not in (ValueOperator.IN, ValueOperator.NOT_IN) and len(values) > 1:
        raise fields.refuse("values", f"must have exactly one value: {operator} takes one", list(values))
    for index, value in enumerate(values):
        if not value:
            raise fields.refuse(f"values[{index}]", "must not be empty", value)
        meaning = value_of(value)
        if operator in ORDERED and meaning.amount is None and meaning.version is None:
            raise fields.refuse(f"values[{index}]", f"{AMOUNT_RULE}: {operator} compares by size", value)


def _device(fields: Fields) -> ClassDevice:
    name = fields.text("name", rule=lambda text: None if "/" not in text and is_pool(text) else _NAME_RULE)
    properties = fields.optional("properties")
    return ClassDevice(
        name=name,
        quantity=fields.integer("quantity", 1, least=0),
        properties={key: _property(properties, key) for key in properties.values},
    )


def _property(fields: Fields, key: str) -> Value:
    """Return a property. Numbers and booleans may be unquoted, as people write YAML."""
    match fields.values[key]:
        case bool() as flag:
            return value_of("true" if flag else "false")
        case int() | str() as value:
            return value_of(str(value))
        case float() as number if isfinite(number):
            return value_of(str(number))
        case other:
            raise fields.refuse(key, "must be a string or a number", other)
