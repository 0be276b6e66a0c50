"""Which devices of a pool a class selects. Takes pools as a cluster state keeps them; returns counts.

A cluster has few kinds of hardware, so the answer is kept per kind: components that agree in the attributes
that the class looks at share it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from scheduler_core.frontends.classes.keys import KIND, KINDS, TYPE, row_of
from scheduler_core.frontends.classes.model import ResourceClass
from scheduler_core.frontends.classes.published import properties_of
from scheduler_core.frontends.classes.published_devices import only_node
from scheduler_core.frontends.classes.selection import selects
from scheduler_core.model.device import Device, DeviceId, QualifiedName
from scheduler_core.model.names import qualified
from scheduler_core.model.nodes import NodeSelection, SliceSelection
from scheduler_core.model.pool import Pool
from scheduler_core.state.assignments import Assignments
from scheduler_core.state.node_views import Kept, pool_key
from scheduler_core.tables.bits import mask_of
from scheduler_core.tables.component import Component

IsPresent = Callable[[str], bool]
"""Whether there is a Node object of a name."""
_MOST_KINDS: Final = 10_000  # bounds what is kept for hardware that is gone


@dataclass(frozen=True, slots=True)
class SelectedParts:
    """The selected devices of a compiled pool: components, each with a mask of positions, never 0."""

    parts: tuple[tuple[Component, int], ...]

    @property
    def count(self) -> int:
        """How many devices are selected."""
        return sum(mask.bit_count() for _, mask in self.parts)

    def held(self, assignments: Assignments) -> int:
        """Return how often these devices are held: a device that two claims hold by mistake counts twice."""
        first = sum((component.state & mask).bit_count() for component, mask in self.parts)
        masks = {id(component): mask for component, mask in self.parts}
        return first + sum(
            more for component, bit, more in assignments.repeats() if masks.get(id(component), 0) & bit
        )


@dataclass(frozen=True, slots=True)
class SelectedDevices:
    """The selected devices of a pool that is not compiled."""

    pool: tuple[str, str]
    devices: frozenset[DeviceId]

    @property
    def count(self) -> int:
        """How many devices are selected."""
        return len(self.devices)

    def held(self, assignments: Assignments) -> int:
        """Return how often these devices are held."""
        return sum(
            one.device in self.devices and not one.admin_access
            for claim in assignments.concerning((self.pool,))
            for one in claim.results
        )


Selected = SelectedParts | SelectedDevices


class ClassSelector:
    """The selectors of one class, applied to whole pools.

    Counted are the devices that a claim has for itself on one node which is present: no device that serves
    many claims, and none of several nodes (docs/resource-classes.md).
    """

    def __init__(self, resource_class: ResourceClass) -> None:
        self._class = resource_class
        self._attributes: dict[str, tuple[QualifiedName, ...]] = {}
        self._masks: dict[object, int] = {}

    def selected(self, pool: Kept, is_present: IsPresent) -> Selected:
        """Return the devices of a pool that count for the class."""
        if isinstance(pool, Pool):
            found = () if pool.problem is not None else pool.devices
            mine = (one for one in found if self._counts(pool, one, is_present))
            return SelectedDevices(pool_key(pool), frozenset(map(pool.id_of, mine)))
        masks = ((one, self._mask(one) & _usable(one, pool.seen_from, is_present)) for one in pool.components)
        return SelectedParts(tuple((one, mask) for one, mask in masks if mask))

    def _counts(self, pool: Pool, device: Device, is_present: IsPresent) -> bool:
        node = None if device.is_shareable else only_node(device.nodes, pool.seen_from)
        return node is not None and is_present(node) and self._selects(pool.id.driver, device)

    def _selects(self, driver: str, device: Device) -> bool:
        return selects(self._class, properties_of(driver, device))

    def _mask(self, component: Component) -> int:
        """Return the positions that the class selects, wherever they are."""
        kind = (component.template.structure_class, self._values(component))
        mask = self._masks.get(kind)
        if mask is None:
            if len(self._masks) >= _MOST_KINDS:
                self._masks.clear()
            driver = component.pool.driver
            positions = range(len(component.layout.names))
            mask = mask_of(one for one in positions if self._selects(driver, component.device(one)))
            self._masks[kind] = mask
        return mask

    def _values(self, component: Component) -> tuple[object, ...]:
        """Return all values that the selectors look at. The type counts: True and 1 are equal in Python."""
        blocks = component.template.blocks
        return tuple(
            [
                (type(value), value, mask)
                for key in self._looked_at(component.pool.driver)
                for value, mask in blocks(key, component.own)
            ]
        )

    def _looked_at(self, driver: str) -> tuple[QualifiedName, ...]:
        found = self._attributes.get(driver)
        if found is None:
            names = dict.fromkeys(
                name for one in self._class.selectors for row in one for name in _attributes_of(row.key)
            )
            found = self._attributes[driver] = tuple(qualified(name, driver) for name in names)
        return found


def _attributes_of(key: str) -> tuple[str, ...]:
    """Return the attributes from which the property of a key is made."""
    if key == KIND:
        return (KIND, TYPE, *(row.required for row in KINDS if row.required is not None))
    row = row_of(key)
    return (key,) if row is None else (key, row.attribute)


def _usable(component: Component, seen_from: tuple[SliceSelection, ...], is_present: IsPresent) -> int:
    """Return the positions that a claim can have for itself on one present node."""
    structure = component.template.structure_class
    if isinstance(component.nodes, tuple):
        there = mask_of(
            number for number, nodes in enumerate(component.nodes) if _is_there(nodes, seen_from, is_present)
        )
    else:
        is_there = _is_there(component.nodes, seen_from, is_present)
        there = component.template.tables.everything if is_there else 0
    return there & ~structure.shareable


def _is_there(nodes: NodeSelection, seen_from: tuple[SliceSelection, ...], is_present: IsPresent) -> bool:
    node = only_node(nodes, seen_from)
    return node is not None and is_present(node)
