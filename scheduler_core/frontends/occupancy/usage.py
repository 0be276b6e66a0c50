"""What claims hold of one compiled pool: the state of each component, and who has which device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.occupancy.reading import Part
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.names import domain_and_identifier, qualified
from scheduler_core.model.nodes import NOWHERE
from scheduler_core.model.ownership import OWNER
from scheduler_core.model.taints import Effect, Taint, Toleration
from scheduler_core.tables.bits import positions
from scheduler_core.tables.component import CompiledPool, Component

_MARK: Final = (Toleration(OWNER, exists=True),)
"""The mark of a node's allocator says who allocates a device, not that nobody may have it."""

Held = tuple[ClaimRef, AllocatedDevice]


@dataclass(slots=True)
class PoolUsage:
    """What is in use of a pool.

    Shape: ``states`` the positions in use of every component in which there are any; ``held`` the claims by
           component and position, in order; ``is_usable`` whether anything of the pool can be allocated.
    """

    pool: CompiledPool
    is_usable: bool
    states: dict[Component, int] = field(default_factory=dict)
    held: dict[tuple[Component, int], list[Held]] = field(default_factory=dict)

    def state(self, component: Component) -> int:
        """Return the positions in use."""
        return self.states.get(component, 0)

    def offered(self, part: Part) -> int:
        """Return the positions that some claim could get if nothing were in use."""
        if not self.is_usable:
            return 0
        component = part.component
        mask = part.mask & ~component.template.structure_class.barred(_MARK)
        if component.nodes == NOWHERE:
            return 0
        if isinstance(component.nodes, tuple):
            for position in positions(mask):
                if component.nodes[position] == NOWHERE:
                    mask &= ~(1 << position)
        return mask

    def free(self, part: Part) -> int:
        """Return the positions that a claim could get now."""
        return self.offered(part) & part.component.template.tables.free(self.state(part.component))

    def left(self, component: Component, position: int, identifier: str) -> Quantity | None:
        """Return what shares have left of a capacity of a shareable device; None where it has none such."""
        capacity = component.template.structure_class.device_facts[position].capacity
        name = next((one for one in capacity if domain_and_identifier(one)[1] == identifier), None)
        if name is None:
            return None
        rest = capacity[name].nano
        for _, result in self.held.get((component, position), ()):
            rest -= consumed(result, name, component).nano if result.share_id is not None else rest
        return Quantity(max(0, rest), capacity[name].family)


def consumed(result: AllocatedDevice, name: QualifiedName, component: Component) -> Quantity:
    """Return what one claim consumes of a capacity of a shareable device."""
    driver = component.pool.driver
    found = (amount for key, amount in result.consumed.items() if qualified(key, driver) == name)
    return next(found, Quantity(0))


def usage_of(pool: CompiledPool, claims: Iterable[AllocatedClaim], *, is_usable: bool) -> PoolUsage:
    """Return what claims hold of a pool. Admin access holds nothing, nor does a device that is gone."""
    found = PoolUsage(pool, is_usable)
    for claim in sorted(claims, key=lambda one: (one.ref.namespace, one.ref.name)):
        for result in claim.results:
            device = result.device
            if (device.driver, device.pool) == (pool.id.driver, pool.id.name) and not result.admin_access:
                place = pool.find(device.device)
                if place is not None:
                    component, position = place
                    found.states[component] = found.state(component) | 1 << position
                    found.held.setdefault(place, []).append((claim.ref, result))
    return found


def taints_of(parts: Iterable[Part]) -> tuple[Taint, ...]:
    """Return the taints that keep claims from these devices, each once, without the mark of an allocator."""
    found: dict[Taint, None] = {}
    for part in parts:
        facts = part.component.template.structure_class.device_facts
        for position in positions(part.mask):
            found |= {
                one: None
                for one in facts[position].taints
                if one.key != OWNER and one.effect is not Effect.NONE
            }
    return tuple(found)


def holders(
    held: Mapping[tuple[Component, int], list[Held]], place: tuple[Component, int]
) -> tuple[ClaimRef, ...]:
    """Return the claims that have a device, each once."""
    return tuple(dict.fromkeys(ref for ref, _ in held.get(place, ())))
