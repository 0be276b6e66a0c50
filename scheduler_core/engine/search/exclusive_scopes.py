"""Exclusive scopes: which devices a new claim may still get, and which devices held claims reserve.

Rule S20 of docs/semantics.md (``ExclusiveScope``). The devices in use are read from the states of
all components of the pools that concern the node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from scheduler_core.engine.search.attribute_values import ToDevices
from scheduler_core.model.claim import AllocatedClaim, ExclusiveScope
from scheduler_core.model.device import AttributeValue, QualifiedName
from scheduler_core.state.node_class import NodeView
from scheduler_core.tables.component import Component

Held = Sequence[tuple[Component, int]]
"""Pairs of a component and the positions that a claim holds in it."""


def admitted_devices(constraint: ExclusiveScope, node_view: NodeView, to_devices: ToDevices) -> int:
    """Return the devices whose scope has no rival in use."""
    components = [one for pool in node_view.pools for one in pool.components]
    rivals = {one: _rivals(constraint, one) for one in components}
    scope = _compared(constraint.scopes, list(rivals.items()))
    occupied = {
        value
        for one, mask in rivals.items()
        for value, holders in one.template.blocks(scope, one.own)
        if mask & holders & one.state
    }
    return _devices(node_view, to_devices, scope, lambda value: value not in occupied)


def reserved_devices(claims: Iterable[AllocatedClaim], node_view: NodeView, to_devices: ToDevices) -> int:
    """Return the devices in scopes that held claims reserve."""
    found = 0
    for claim in claims:
        for constraint in claim.exclusive:
            found |= _reserved(constraint, _held(claim, node_view), node_view, to_devices)
    return found


def _reserved(constraint: ExclusiveScope, held: Held, node_view: NodeView, to_devices: ToDevices) -> int:
    mine = [(one, mask & _rivals(constraint, one)) for one, mask in held]
    scope = _compared(constraint.scopes, mine)
    values = {
        value
        for one, mask in mine
        for value, holders in one.template.blocks(scope, one.own)
        if mask & holders
    }
    rivals = 0
    for number, component in enumerate(node_view.components):
        rivals |= to_devices(number, _rivals(constraint, component))
    return rivals & _devices(node_view, to_devices, scope, values.__contains__)


def _held(claim: AllocatedClaim, node_view: NodeView) -> Held:
    return list(_places(claim, node_view))


def _places(claim: AllocatedClaim, node_view: NodeView) -> Iterator[tuple[Component, int]]:
    pools = {(pool.id.driver, pool.id.name): pool for pool in node_view.pools}
    for result in claim.results:
        pool = pools.get((result.device.driver, result.device.pool))
        place = None if pool is None or result.admin_access else pool.find(result.device.device)
        if place is not None:
            yield place[0], 1 << place[1]


def _rivals(constraint: ExclusiveScope, component: Component) -> int:
    """Return the positions of a component whose devices are rivals: the constraint selects them."""
    if constraint.kind is None:
        return component.template.tables.everything
    found = 0
    for value, mask in component.template.blocks(constraint.kind, component.own):
        if value in constraint.values:
            found |= mask
    return found


def _compared(scopes: Sequence[QualifiedName], devices: Held) -> QualifiedName:
    """Return the first scope that all of some devices have, the last one where there is none."""
    return next(
        (scope for scope in scopes if all(not mask & ~_having(scope, one) for one, mask in devices)),
        scopes[-1],
    )


def _having(scope: QualifiedName, component: Component) -> int:
    found = 0
    for _, mask in component.template.blocks(scope, component.own):
        found |= mask
    return found


def _devices(
    node_view: NodeView,
    to_devices: ToDevices,
    scope: QualifiedName,
    is_meant: Callable[[AttributeValue], bool],
) -> int:
    found = 0
    for number, component in enumerate(node_view.components):
        for value, mask in component.template.blocks(scope, component.own):
            if is_meant(value):
                found |= to_devices(number, mask)
    return found
