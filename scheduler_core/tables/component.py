"""Components: what exists once per piece of hardware, and compiled pools, which are made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from scheduler_core.base.quantity import Quantity
from scheduler_core.model.device import AttributeValue, Device, DeviceName, Draw, QualifiedName, SourceName
from scheduler_core.model.nodes import NodeSelection
from scheduler_core.model.pool import PartitionableSlices, Pool, PoolId, Rejected
from scheduler_core.tables.component_template import ComponentTemplate, DeviceListing
from scheduler_core.tables.structure_class import Entries

Consumed = tuple[int, ...]


class Component:
    """One component of one pool.

    Shape: ``own`` the entries that the template leaves open; ``nodes`` one selection for all devices, or
           one each; ``state`` the positions taken; ``consumed`` has, by bit, what claims hold of a device
           that serves many: how many hold it whole, then the sum of each capacity in the device's order.
    """

    __slots__ = ("consumed", "layout", "nodes", "own", "pool", "state", "template")

    def __init__(
        self,
        template: ComponentTemplate,
        layout: DeviceListing,
        own: Entries,
        nodes: NodeSelection | tuple[NodeSelection, ...],
        pool: PoolId,
    ) -> None:
        self.template = template
        self.layout = layout
        self.own = own
        self.nodes = nodes
        self.pool = pool
        self.state = 0
        self.consumed: dict[int, Consumed] = {}

    def selection(self, position: int) -> NodeSelection:
        """Return from where a device can be used."""
        return self.nodes[position] if isinstance(self.nodes, tuple) else self.nodes

    def attributes(self, position: int) -> dict[QualifiedName, AttributeValue]:
        """Return what a device says of itself."""
        return self.said(position, self.template.structure_class.keys)

    def said(self, position: int, keys: Iterable[QualifiedName]) -> dict[QualifiedName, AttributeValue]:
        """Return what a device says of some attributes; those that it does not have are left out."""
        found: dict[QualifiedName, AttributeValue] = {}
        for key in keys:
            for place in self.template.structure_class.places(key):
                if place.mask >> position & 1:
                    found[key] = self.template.value(place, self.own, position)
        return found

    def device(self, position: int) -> Device:
        """Return a device as it was published."""
        body, amounts_of = (
            self.template.structure_class.bodies[position],
            self.template.structure_class.amounts,
        )
        return Device(
            name=self.layout.names[position],
            attributes=self.attributes(position),
            capacity=body.capacity,
            draws=tuple(
                Draw(self.layout.sources[source], amounts_of[amounts], groups)
                for source, amounts, groups in body.draws
            ),
            parents=tuple(self.layout.names[parent] for parent in body.parents),
            nodes=self.selection(position),
            taints=body.taints,
            binding=body.binding,
            is_shareable=body.is_shareable,
            policies=dict(body.policies),
            only_with=body.only_with,
        )

    def listed_devices(self) -> Iterator[tuple[int, Device]]:
        """Yield every device with its place in the listing of the pool."""
        for position, place in enumerate(self.layout.listed):
            yield place, self.device(position)


@dataclass(frozen=True, slots=True, eq=False)
class CompiledPool:
    """A pool in tables.

    Shape: ``components`` in the order of their first device; ``spare`` the sources that nobody draws from;
           ``waits`` whether some device must first become ready: such pools come last;
           ``partitionable`` as in ``Pool``.
    """

    id: PoolId
    generation: int
    components: tuple[Component, ...]
    seen_from: tuple[NodeSelection, ...]
    rejected: Mapping[DeviceName, Rejected]
    spare: Mapping[SourceName, Mapping[str, Quantity]]
    waits: bool
    partitionable: PartitionableSlices | None = None

    @property
    def selection(self) -> NodeSelection | None:
        """Return from where all devices can be used, None where that differs."""
        first = self.components[0].nodes if self.components else ()
        if isinstance(first, tuple) or any(one.nodes is not first for one in self.components):
            return None
        return first

    def find(self, name: DeviceName) -> tuple[Component, int] | None:
        """Return the component and position of a device, None where no usable device has that name."""
        for component in self.components:
            position = component.layout.index.get(name)
            if position is not None:
                return component, position
        return None

    def restored(self) -> Pool:
        """Return the pool as it was published."""
        listed = dict(entry for component in self.components for entry in component.listed_devices())
        sources = {
            name: amounts
            for component in self.components
            for name, amounts in zip(
                component.layout.sources, component.template.structure_class.sources, strict=True
            )
        }
        return Pool(
            id=self.id,
            generation=self.generation,
            devices=tuple(listed[place] for place in sorted(listed)),
            sources={**self.spare, **sources},
            rejected=self.rejected,
            seen_from=self.seen_from,
            partitionable=self.partitionable,
        )
