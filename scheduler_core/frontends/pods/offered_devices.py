"""The devices that pools offer to a node, read from tables or from ledgers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import partial

from scheduler_core.base.features import Features
from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.books.ledgers import ledgers_of
from scheduler_core.model.claim import AllocatedClaim
from scheduler_core.model.device import AttributeValue, DeviceId, QualifiedName
from scheduler_core.model.names import qualified
from scheduler_core.model.policy import RequestPolicy
from scheduler_core.model.pool import Pool
from scheduler_core.model.taints import Taint, intolerable
from scheduler_core.search.candidates import Offer
from scheduler_core.state.node_class import NodeView
from scheduler_core.state.places import LedgerPlace, Place, TablePlace
from scheduler_core.tables.bits import positions
from scheduler_core.tables.component import Component

Attributes = Mapping[QualifiedName, AttributeValue]


@dataclass(frozen=True, slots=True, eq=False)
class OfferedDevice:
    """A device that a node may use."""

    id: DeviceId
    place: Place
    capacity: Mapping[QualifiedName, Quantity]
    taints: tuple[Taint, ...]
    is_shareable: bool
    policies: Mapping[QualifiedName, RequestPolicy]
    _all: Callable[[], Attributes]
    _some: Callable[[Sequence[QualifiedName]], Attributes]

    @property
    def attributes(self) -> Attributes:
        """Return all attributes."""
        return self._all()

    def value(self, name: QualifiedName) -> AttributeValue | None:
        """Return one attribute, None where the device does not have it."""
        return self._some((name,)).get(name)

    def own(self, key: str) -> AttributeValue | None:
        """Return one attribute of the driver's domain, None where the device does not have it."""
        return self.value(qualified(key, self.id.driver))


def from_tables(node_view: NodeView, types: Set[str]) -> tuple[OfferedDevice, ...]:
    """Return the devices of some types of a node whose pools are all compiled, in listed order."""
    node_class, components = node_view.node_class, node_view.components
    ranked = sorted(
        (ranks[position], number, position)
        for number, (ranks, usable) in enumerate(zip(node_class.ranks, node_class.usable, strict=True))
        for position in positions(usable & _of_types(components[number], types))
    )
    return tuple(_compiled(node_view.components[number], position) for _, number, position in ranked)


def free_of_type(node_view: NodeView, type_: str) -> tuple[int, int]:
    """Return how many devices of a type are free as a whole, and how many there are.

    Shape: a node whose pools are all compiled. A device with a taint counts as taken.
    """
    free = total = 0
    for component, usable in zip(node_view.components, node_view.node_class.usable, strict=True):
        mine = usable & _of_types(component, {type_})
        if mine:
            facts = component.template.structure_class.device_facts
            tables = component.template.tables
            left = mine & ~component.state & tables.free(component.state)
            total += mine.bit_count()
            free += sum(intolerable(facts[position].taints, ()) is None for position in positions(left))
    return free, total


def _of_types(component: Component, types: Set[str]) -> int:
    """Return the positions of a component's devices of some types, as a mask."""
    blocks = component.template.blocks(qualified("type", component.pool.driver), component.own)
    mask = 0
    for value, positions_of in blocks:
        if value in types:
            mask |= positions_of
    return mask


def from_ledgers(
    pools: Sequence[Pool], offers: Sequence[Offer], allocated: Sequence[AllocatedClaim], features: Features
) -> tuple[OfferedDevice, ...]:
    """Return the same of published pools, with new ledgers. Shape: ``offers`` are those of the pools."""
    return tuple(_published(pools, offers, allocated, features))


def _compiled(component: Component, position: int) -> OfferedDevice:
    facts, pool = component.template.structure_class.device_facts[position], component.pool
    return OfferedDevice(
        id=DeviceId(pool.driver, pool.name, component.layout.names[position]),
        place=TablePlace(component, position),
        capacity=facts.capacity,
        taints=facts.taints,
        is_shareable=facts.is_shareable,
        policies=dict(facts.policies),
        _all=partial(component.attributes, position),
        _some=partial(component.some_attributes, position),
    )


def _published(
    pools: Sequence[Pool], offers: Sequence[Offer], allocated: Sequence[AllocatedClaim], features: Features
) -> Iterator[OfferedDevice]:
    ledgers = ledgers_of(pools, allocated, features)
    for offer in offers:
        device = offer.device
        yield OfferedDevice(
            id=pools[offer.pool].id_of(device),
            place=LedgerPlace(ledgers[offer.pool], device.name),
            capacity=device.capacity,
            taints=device.taints,
            is_shareable=device.is_shareable,
            policies=device.policies,
            _all=partial(_at_hand, device.attributes),
            _some=partial(_at_hand, device.attributes),
        )


def _at_hand(attributes: Attributes, *_: object) -> Attributes:
    """Return the attributes of a published device; nothing is saved by reading some of them."""
    return attributes
