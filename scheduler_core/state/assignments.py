"""Assignments: which devices each claim holds, also as bits in the states of the components."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef, ClaimUid
from scheduler_core.model.device import DeviceId
from scheduler_core.model.names import qualified
from scheduler_core.tables.component import CompiledPool, Component, Consumed

PoolKey = tuple[str, str]
"""Driver and name."""
Holder = ClaimUid | ClaimRef
"""The key of a claim: its UID, or its namespace and name where it has no UID."""
Places = list[tuple[Component, int, Consumed]]
"""Components, in each the bit of a device, and what is held of it if it is shareable."""


def holder_of(claim: AllocatedClaim) -> Holder:
    """Return the key of a claim. A claim that was deleted and created again has another UID."""
    return claim.ref if claim.uid is None else claim.uid


class Assignments:
    """Claims by UID, and by the pools whose devices they hold.

    A device that several claims hold by mistake stays taken until the last of them releases it. ``find``
    returns the compiled pool of a key, None where the pool is unknown or not compiled. ``moved`` is called
    for every component whose state changed, with its state before.
    """

    def __init__(
        self, find: Callable[[PoolKey], CompiledPool | None], moved: Callable[[Component, int], None]
    ) -> None:
        self._find = find
        self._moved = moved
        self._claims: dict[Holder, AllocatedClaim] = {}
        self._arrivals: dict[Holder, int] = {}
        self._arrived = 0
        self._by_pool: dict[PoolKey, dict[Holder, Places]] = {}
        self._again: Counter[tuple[Component, int]] = Counter()

    def get(self, holder: Holder) -> AllocatedClaim | None:
        """Return a claim that holds devices, None where it is not known."""
        return self._claims.get(holder)

    def add(self, claim: AllocatedClaim) -> Iterable[PoolKey]:
        """Take what a claim holds, and return the pools of its devices. The claim must not be known."""
        holder = holder_of(claim)
        self._claims[holder] = claim
        self._arrived += 1
        self._arrivals[holder] = self._arrived
        pools = _pools_of(claim)
        for pool in pools:
            places = _places(self._find(pool), pool, claim)
            self._by_pool.setdefault(pool, {})[holder] = places
            self._take(places)
        return pools

    def remove(self, holder: Holder) -> Iterable[PoolKey]:
        """Give back what a claim holds, and return the pools. Raises: KeyError where it is not known."""
        pools = _pools_of(self._claims.pop(holder))
        del self._arrivals[holder]
        for pool in pools:
            holders = self._by_pool[pool]
            self._give(holders.pop(holder))
            if not holders:
                del self._by_pool[pool]
        return pools

    def enter_all(self, pool: CompiledPool) -> None:
        """Take everything that claims hold of a pool whose components are all free."""
        key = (pool.id.driver, pool.id.name)
        holders = self._by_pool.get(key, {})
        for holder in holders:
            holders[holder] = _places(pool, key, self._claims[holder])
            self._take(holders[holder])

    def withdraw(self, key: PoolKey) -> None:
        """Forget the positions of a removed pool's devices. The claims stay known."""
        holders = self._by_pool.get(key, {})
        for holder, places in holders.items():
            for component, bit, _ in places:
                self._again.pop((component, bit), None)
            holders[holder] = []

    def concerning(self, pools: Iterable[PoolKey]) -> tuple[AllocatedClaim, ...]:
        """Return the claims that hold devices of some pools, in the order in which they came."""
        holders = {holder for pool in pools for holder in self._by_pool.get(pool, ())}
        return tuple(self._claims[holder] for holder in sorted(holders, key=self._arrivals.__getitem__))

    def holding(self, device: DeviceId) -> tuple[AllocatedClaim, ...]:
        """Return the claims that hold a device, in the order in which they came."""
        claims = self.concerning([(device.driver, device.pool)])
        return tuple(
            claim
            for claim in claims
            if any(one.device == device and not one.admin_access for one in claim.results)
        )

    def repeats(self) -> Iterable[tuple[Component, int, int]]:
        """Yield the devices that claims hold beside the first: component, bit, how many more."""
        return ((component, bit, more) for (component, bit), more in self._again.items())

    def _take(self, places: Places) -> None:
        for component, bit, held in places:
            if held:
                _consume(component, bit, held, 1)
            before = component.state
            if before & bit:
                self._again[component, bit] += 1
            else:
                component.state = before | bit
                self._moved(component, before)

    def _give(self, places: Places) -> None:
        for component, bit, held in places:
            if held:
                _consume(component, bit, held, -1)
            place = (component, bit)
            if self._again and place in self._again:
                self._again[place] -= 1
                if not self._again[place]:
                    del self._again[place]
            elif component.state & bit:
                before = component.state
                component.state = before & ~bit
                self._moved(component, before)


def _pools_of(claim: AllocatedClaim) -> dict[PoolKey, None]:
    """Return the pools whose devices a claim holds. Admin access holds nothing."""
    return dict.fromkeys(
        [(one.device.driver, one.device.pool) for one in claim.results if not one.admin_access]
    )


def _places(pool: CompiledPool | None, key: PoolKey, claim: AllocatedClaim) -> Places:
    """Return where a pool has the devices of a claim. A device that the pool no longer lists has no place."""
    places: Places = []
    if pool is None:
        return places
    for result in claim.results:
        device = result.device
        if device.pool == key[1] and device.driver == key[0] and not result.admin_access:
            found = pool.find(device.device)
            if found is not None:
                component, position = found
                places.append((component, 1 << position, _held(component, position, result)))
    return places


def _held(component: Component, position: int, result: AllocatedDevice) -> Consumed:
    """Return what a result holds of a shareable device, empty for any other device.

    A result without a share id holds the whole device.
    """
    structure_class = component.template.structure_class
    if not structure_class.shareable >> position & 1:
        return ()
    capacity = structure_class.device_facts[position].capacity
    if result.share_id is None:
        return (1, *[0] * len(capacity))
    amounts = {qualified(key, component.pool.driver): amount.nano for key, amount in result.consumed.items()}
    return (0, *[amounts.get(name, 0) for name in capacity])


def _consume(component: Component, bit: int, held: Consumed, sign: int) -> None:
    before = component.consumed.pop(bit, None) or (0,) * len(held)
    after = tuple([old + sign * more for old, more in zip(before, held, strict=True)])
    if sign > 0 or any(after):
        component.consumed[bit] = after
