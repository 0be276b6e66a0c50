"""Converts published devices to properties that classes compare, and listed devices to published ones."""

from __future__ import annotations

from collections.abc import Mapping

from scheduler_core.base.version import Version
from scheduler_core.frontends.classes.keys import KEYS, KIND, KINDS, TYPE, KeyRow
from scheduler_core.frontends.classes.values import LIST, Amount, Value, value_of
from scheduler_core.model.device import AttributeValue, Device, DeviceName, QualifiedName
from scheduler_core.model.names import bare, qualified


def properties_of(driver: str, device: Device) -> Mapping[str, Value]:
    """Return the properties of a device. An attribute overrides a capacity of the same name."""
    found: dict[str, Value] = {
        bare(name, driver): Value("", Amount(amount.nano)) for name, amount in device.capacity.items()
    }
    found |= {bare(name, driver): _value(value) for name, value in device.attributes.items()}
    kind = _kind(driver, device)
    if kind is not None:
        found.setdefault(KIND, value_of(kind))
    for row in KEYS:
        value = device.attributes.get(qualified(row.attribute, driver))
        if value is not None:
            found.setdefault(row.key, _scaled(value, row))
    return found


def published(name: str, properties: Mapping[str, str], driver: str) -> Device:
    """Return a listed device as a driver would publish it: each property is a string attribute."""
    attributes: dict[QualifiedName, AttributeValue] = {
        qualified(key, driver): text for key, text in properties.items()
    }
    return Device(name=DeviceName(name), attributes=attributes)


def _value(value: AttributeValue) -> Value:
    match value:
        case bool():
            return value_of("true" if value else "false")
        case int() | str():
            return value_of(str(value))
        case Version():
            return Value("", version=value)
        case _:
            return LIST


def _kind(driver: str, device: Device) -> str | None:
    attributes = {bare(name, driver): value for name, value in device.attributes.items()}
    for row in KINDS:
        if attributes.get(TYPE) == row.type and (row.required is None or row.required in attributes):
            return row.kind
    return None


def _scaled(value: AttributeValue, row: KeyRow) -> Value:
    if row.unit:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return value_of(f"{value}{row.prefix}{row.unit}") if is_number else LIST
    return _value(value)
