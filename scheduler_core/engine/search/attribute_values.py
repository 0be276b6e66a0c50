"""The values of one attribute on a node, each with the set of devices that have it.

A set of devices is an integer with one bit per device.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.device import AttributeValue, QualifiedName
from scheduler_core.tables.bits import mask_of, positions
from scheduler_core.tables.component import Component

ToDevices = Callable[[int, int], int]
"""Turns a component's number and a mask of its positions into a mask of the node's devices."""


@dataclass(frozen=True, slots=True, eq=False)
class AttributeValues:
    """The values of one attribute.

    Shape: ``holders`` has, per value, the devices that have it; ``of`` per device its values, as a mask of
           their numbers, 0 where it has none; ``present`` the devices that have any.
    """

    holders: tuple[int, ...]
    of: dict[int, int]
    present: int

    def of_any(self, devices: int) -> int:
        """Return the values that some devices have, as a mask of their numbers."""
        return mask_of(value for value, holders in enumerate(self.holders) if holders & devices)

    def union(self, values: int) -> int:
        """Return the devices that have one of some values."""
        found = 0
        for value in positions(values):
            found |= self.holders[value]
        return found


def attribute_values(
    components: Sequence[Component],
    attribute: QualifiedName,
    to_devices: ToDevices,
    keys_of: Callable[[AttributeValue], Sequence[Hashable]],
) -> AttributeValues:
    """Return the values of an attribute.

    Two values agree where ``keys_of`` returns a common key for them.
    """
    numbers: dict[Hashable, int] = {}
    holders: list[int] = []
    of: dict[int, int] = {}
    present = 0
    for number, component in enumerate(components):
        for value, mask in component.template.blocks(attribute, component.own):
            devices, values = to_devices(number, mask), 0
            for key in keys_of(value):
                place = numbers.setdefault(key, len(holders))
                if place == len(holders):
                    holders.append(0)
                holders[place] |= devices
                values |= 1 << place
            if values and devices:
                present |= devices
                of.update(dict.fromkeys(positions(devices), values))
    return AttributeValues(tuple(holders), of, present)


def members(value: AttributeValue, *, lists: bool) -> Sequence[Hashable]:
    """Return what match and distinct constraints compare: typed values, a list by its members.

    Shape: empty for a list where lists are no values (``lists`` False).
    """
    if isinstance(value, tuple):
        return [(type(each), each) for each in value] if lists else ()
    return ((type(value), value),)


def whole(value: AttributeValue) -> Sequence[Hashable]:
    """Return what scopes compare: the value as it is."""
    return (value,)
