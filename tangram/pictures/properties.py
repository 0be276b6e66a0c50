"""Names devices for people, from their attributes, for any driver's domain."""

from __future__ import annotations

from typing import Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.model.device import AttributeValue, Device
from scheduler_core.model.names import domain_and_identifier

UNNAMED: Final = "device"
_TELLING: Final = ("profile", "productName", "linkType")


def attribute(device: Device, identifier: str) -> AttributeValue | None:
    """Return the attribute of that identifier, in the first domain that has one."""
    for name, value in device.attributes.items():
        if domain_and_identifier(name)[1] == identifier:
            return value
    return None


def capacity(device: Device, identifier: str) -> Quantity | None:
    """Return the capacity of that identifier, in the first domain that has one."""
    for name, value in device.capacity.items():
        if domain_and_identifier(name)[1] == identifier:
            return value
    return None


def type_of(device: Device) -> str:
    """Return the kind of device that its driver names, such as ``gpu``, ``mig``, ``vf``."""
    return str(attribute(device, "type") or UNNAMED)


def profile_of(device: Device) -> str:
    """Return the profile of a partition; the kind of device where it has none."""
    return str(attribute(device, "profile") or type_of(device))


def what_of(device: Device) -> str:
    """Return what distinguishes a device from others of its kind; else its capacities."""
    told = next((str(found) for key in _TELLING if (found := attribute(device, key))), None)
    return told or _capacities(device)


def _capacities(device: Device) -> str:
    found = [f"{domain_and_identifier(name)[1]} {value}" for name, value in device.capacity.items()]
    return ", ".join(found[:3]) + (", …" if len(found) > 3 else "")
