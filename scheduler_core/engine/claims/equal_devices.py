"""Equal devices: groups the devices of a component that are equal in everything a selector reads.

It knows which attributes and capacities selectors read. It returns sets of positions, each with the values
that were read, and a view of one device that stands for the set. It evaluates nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.device import QualifiedName
from scheduler_core.rules.selectors import DeviceView, part_view
from scheduler_core.tables.bits import mask_of, positions
from scheduler_core.tables.component import Component
from scheduler_core.tables.entries import identity
from scheduler_core.tables.structure_class import AttributeGroup, DeviceFacts

ReadValues = tuple[object, ...]
"""What is read of a device. Devices with equal values get equal results from every selector that reads so."""


@dataclass(frozen=True, slots=True)
class Reads:
    """What selectors read. Shape: None for all attributes, or all capacities."""

    attributes: tuple[QualifiedName, ...] | None
    capacity: tuple[QualifiedName, ...] | None


class EqualDevices:
    """The devices of one component, grouped by what is read of them.

    Shape: ``masks`` has the positions that are equal in everything that is read, by the values read.
    """

    __slots__ = ("_component", "_reads", "_views", "masks")

    def __init__(self, reads: Reads, component: Component) -> None:
        self._reads = reads
        self._component = component
        self._views: dict[ReadValues, DeviceView] = {}
        self.masks: dict[ReadValues, int] = {}
        structure_class = component.template.structure_class
        names = structure_class.keys if reads.attributes is None else reads.attributes
        is_plain = reads.capacity == () and not structure_class.is_shared
        first = 0
        for group in structure_class.groups:
            columns = list(_columns(component, group, first, names))
            first += len(group.keys)
            if is_plain and not any([is_per_device for _, is_per_device in columns]):
                read_values: ReadValues = (tuple([next(views) for views, _ in columns]), False, ())
                self.masks[read_values] = self.masks.get(read_values, 0) | mask_of(group.positions)
            else:
                rows = zip(*[views for views, _ in columns], strict=False) if columns else repeat(())
                self._add(group, rows)

    def _add(self, group: AttributeGroup, rows: Iterable[ReadValues]) -> None:
        """Add the devices of an attribute group one by one. Shape: ``rows`` the attributes read of each."""
        masks, wanted = self.masks, self._reads.capacity
        device_facts = self._component.template.structure_class.device_facts
        for position, some_attributes in zip(group.positions, rows, strict=False):
            facts = device_facts[position]
            read_values = (
                some_attributes,
                facts.is_shareable,
                () if wanted == () else _amounts(facts, wanted),
            )
            masks[read_values] = masks.get(read_values, 0) | 1 << position

    def view(self, read_values: ReadValues) -> DeviceView:
        """Return a view of the devices with these values. It shows only what is read."""
        found = self._views.get(read_values)
        if found is None:
            position = next(positions(self.masks[read_values]))
            found = self._views[read_values] = self._view_of(position)
        return found

    def _view_of(self, position: int) -> DeviceView:
        component, names, amounts = self._component, self._reads.attributes, self._reads.capacity
        structure_class = component.template.structure_class
        facts = structure_class.device_facts[position]
        capacity = facts.capacity
        if amounts is not None:
            capacity = {name: capacity[name] for name in amounts if name in capacity}
        return part_view(
            structure_class.driver,
            component.layout.names[position],
            component.some_attributes(position, structure_class.keys if names is None else names),
            capacity,
            is_shareable=facts.is_shareable,
        )


def _columns(
    component: Component, group: AttributeGroup, first: int, names: Iterable[QualifiedName]
) -> Iterator[tuple[Iterator[ReadValues], bool]]:
    """Yield a column per attribute that the devices of a group have, and whether its values are per device.

    A column has the name and the value for each device; a column that is not per device never ends.
    """
    for name in names:
        if name in group.keys:
            offset = group.keys.index(name)
            entry = component.template.entry(first + offset, component.own)
            if group.per_device[offset]:
                assert isinstance(entry, tuple), "values that differ within a component are one per device"
                yield iter([(name, identity(value)) for value in entry]), True
            else:
                yield repeat((name, identity(entry))), False


def _amounts(facts: DeviceFacts, keys: tuple[QualifiedName, ...] | None) -> object:
    if keys is None:
        return facts.number
    found = [(key, facts.capacity.get(key)) for key in keys]
    return tuple([(key, amount.nano, amount.family) for key, amount in found if amount is not None])
