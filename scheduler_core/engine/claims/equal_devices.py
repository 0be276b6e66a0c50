"""Devices of a component that agree in all that is read of them.

What may be read goes in; out come sets of positions, each with what tells it from all others and with a
view of one device that stands for them. Nothing is evaluated here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat

from scheduler_core.model.device import QualifiedName
from scheduler_core.rules.selectors import DeviceView, part_view
from scheduler_core.tables.bits import mask_of, positions
from scheduler_core.tables.component import Component
from scheduler_core.tables.structure_class import AttributeGroup, DeviceFacts, identity

ReadValues = tuple[object, ...]
"""What is read of a device: equal where no expression could tell two devices apart by it."""


@dataclass(frozen=True, slots=True)
class Reads:
    """What selectors may look at. Shape: None for everything."""

    attributes: tuple[QualifiedName, ...] | None
    capacity: tuple[QualifiedName, ...] | None


class EqualDevices:
    """The devices of one component as something that reads only so much of them sees them.

    Shape: ``masks`` the positions that agree in all that is read, by what they agree in.
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
            if is_plain and not any([is_spread for _, is_spread in columns]):
                told: ReadValues = (tuple([next(views) for views, _ in columns]), False, ())
                self.masks[told] = self.masks.get(told, 0) | mask_of(group.positions)
            else:
                rows = zip(*[views for views, _ in columns], strict=False) if columns else repeat(())
                self._enter(group, rows)

    def _enter(self, group: AttributeGroup, rows: Iterable[ReadValues]) -> None:
        """Enter the devices of a group, one by one. Shape: ``rows`` what each says."""
        masks, wanted = self.masks, self._reads.capacity
        bodies = self._component.template.structure_class.bodies
        for position, said in zip(group.positions, rows, strict=False):
            body = bodies[position]
            told = (said, body.is_shareable, () if wanted == () else _amounts(body, wanted))
            masks[told] = masks.get(told, 0) | 1 << position

    def view(self, told: ReadValues) -> DeviceView:
        """Return what expressions see of the devices that agree in this: no more than what is read."""
        found = self._views.get(told)
        if found is None:
            position = next(positions(self.masks[told]))
            found = self._views[told] = self._seen(position)
        return found

    def _seen(self, position: int) -> DeviceView:
        component, names, amounts = self._component, self._reads.attributes, self._reads.capacity
        structure_class = component.template.structure_class
        body = structure_class.bodies[position]
        capacity = body.capacity
        if amounts is not None:
            capacity = {name: capacity[name] for name in amounts if name in capacity}
        return part_view(
            structure_class.driver,
            component.layout.names[position],
            component.said(position, structure_class.keys if names is None else names),
            capacity,
            is_shareable=body.is_shareable,
        )


def _columns(
    component: Component, group: AttributeGroup, first: int, names: Iterable[QualifiedName]
) -> Iterator[tuple[Iterator[ReadValues], bool]]:
    """Yield what the devices of a group say of each attribute that they have, and whether that differs."""
    for name in names:
        if name in group.keys:
            offset = group.keys.index(name)
            entry = component.template.entry(first + offset, component.own)
            if group.spread[offset]:
                assert isinstance(entry, tuple), "values that differ within a component are one per device"
                yield iter([(name, identity(value)) for value in entry]), True
            else:
                yield repeat((name, identity(entry))), False


def _amounts(body: DeviceFacts, keys: tuple[QualifiedName, ...] | None) -> object:
    if keys is None:
        return body.number
    found = [(key, body.capacity.get(key)) for key in keys]
    return tuple([(key, amount.nano, amount.family) for key, amount in found if amount is not None])
