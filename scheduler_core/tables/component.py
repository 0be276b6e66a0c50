"""Components of one pool, and compiled pools, which consist of components."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.device import AttributeValue, Device, DeviceName, Draw, QualifiedName, SourceName
from scheduler_core.model.nodes import NodeSelection, SliceSelection
from scheduler_core.model.pool import PartitionableSlices, Pool, PoolId, Rejected
from scheduler_core.tables.component_template import ComponentTemplate, DeviceListing
from scheduler_core.tables.entries import Entries

Consumed = tuple[int, ...]


class Component:
    """One component of one pool.

    Shape: ``own`` the entries that the template does not have; ``nodes`` one node selection for all
           devices, or one each; ``state`` the positions in use; ``consumed`` has, by the bit of a shareable
           device, what claims hold of it: how many hold it whole, then the sum of each capacity in the
           device's order.
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
        """Return the node selection of a device."""
        return self.nodes[position] if isinstance(self.nodes, tuple) else self.nodes

    def attributes(self, position: int) -> dict[QualifiedName, AttributeValue]:
        """Return the attributes of a device."""
        return self.some_attributes(position, self.template.structure_class.keys)

    def some_attributes(
        self, position: int, keys: Iterable[QualifiedName]
    ) -> dict[QualifiedName, AttributeValue]:
        """Return those of some attributes that a device has."""
        found: dict[QualifiedName, AttributeValue] = {}
        for key in keys:
            for location in self.template.structure_class.locations(key):
                if location.mask >> position & 1:
                    found[key] = self.template.value(location, self.own, position)
        return found

    def device(self, position: int) -> Device:
        """Return a device as it was published."""
        facts, amounts_of = (
            self.template.structure_class.device_facts[position],
            self.template.structure_class.amounts,
        )
        return Device(
            name=self.layout.names[position],
            attributes=self.attributes(position),
            capacity=facts.capacity,
            draws=tuple(
                Draw(self.layout.sources[source], amounts_of[amounts], groups)
                for source, amounts, groups in facts.draws
            ),
            parents=tuple(self.layout.names[parent] for parent in facts.parents),
            nodes=self.selection(position),
            taints=facts.taints,
            binding=facts.binding,
            is_shareable=facts.is_shareable,
            policies=dict(facts.policies),
            only_with=facts.only_with,
        )

    def listed_devices(self) -> Iterator[tuple[int, Device]]:
        """Yield every device with its index in the pool."""
        for position, index in enumerate(self.layout.listed):
            yield index, self.device(position)


@dataclass(frozen=True, slots=True, eq=False)
class CompiledPool:
    """A pool as components.

    Shape: ``components`` in the order of their first device; ``spare`` the sources from which no device
           draws; ``waits`` whether some device has binding conditions;
           ``partitionable`` as in ``Pool``.
    """

    id: PoolId
    generation: int
    components: tuple[Component, ...]
    seen_from: tuple[SliceSelection, ...]
    rejected: Mapping[DeviceName, Rejected]
    spare: Mapping[SourceName, Mapping[str, Quantity]]
    waits: bool
    partitionable: PartitionableSlices | None = None

    @property
    def selection(self) -> NodeSelection | None:
        """Return the node selection of all devices, None where they differ."""
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
            devices=tuple(listed[index] for index in sorted(listed)),
            sources={**self.spare, **sources},
            rejected=self.rejected,
            seen_from=self.seen_from,
            partitionable=self.partitionable,
        )
