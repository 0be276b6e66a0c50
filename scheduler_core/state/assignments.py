"""What claims hold: the bits of the components' states, and the claims themselves for whoever asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef
from scheduler_core.model.names import qualified
from scheduler_core.tables.component import CompiledPool, Component, Consumed

PoolKey = tuple[str, str]
"""Driver and name."""
Places = list[tuple[Component, int, Consumed]]
"""Components, in each the bit of a device, and what is held of it if it serves many claims."""


class Assignments:
    """Claims by name, and by the pools whose devices they hold.

    A device that several claims hold, which is a mistake of somebody else, is taken until the last one
    releases it. ``find`` gives the pool of a key, None where it is not known or not in tables; ``moved`` is
    told of every component that changed, and its state before.
    """

    def __init__(
        self, find: Callable[[PoolKey], CompiledPool | None], moved: Callable[[Component, int], None]
    ) -> None:
        self._find = find
        self._moved = moved
        self._claims: dict[ClaimRef, AllocatedClaim] = {}
        self._arrivals: dict[ClaimRef, int] = {}
        self._arrived = 0
        self._by_pool: dict[PoolKey, dict[ClaimRef, Places]] = {}
        self._again: Counter[tuple[Component, int]] = Counter()

    def __contains__(self, ref: ClaimRef) -> bool:
        return ref in self._claims

    def is_exclusive(self, ref: ClaimRef) -> bool:
        """Whether a claim keeps others out of more than it holds. Raises: KeyError where it is not known."""
        return bool(self._claims[ref].exclusive)

    def add(self, claim: AllocatedClaim) -> Iterable[PoolKey]:
        """Take what a claim holds, and return the pools that it holds something of."""
        self._claims[claim.ref] = claim
        self._arrived += 1
        self._arrivals[claim.ref] = self._arrived
        pools = _pools_of(claim)
        for pool in pools:
            places = _places(self._find(pool), pool, claim)
            self._by_pool.setdefault(pool, {})[claim.ref] = places
            self._take(places)
        return pools

    def remove(self, ref: ClaimRef) -> Iterable[PoolKey]:
        """Give back what a claim holds, and return the pools. Raises: KeyError where it is not known."""
        pools = _pools_of(self._claims.pop(ref))
        del self._arrivals[ref]
        for pool in pools:
            self._give(self._by_pool[pool].pop(ref))
        return pools

    def enter_all(self, pool: CompiledPool) -> None:
        """Enter everything that is held into the fresh states of a pool."""
        key = (pool.id.driver, pool.id.name)
        refs = self._by_pool.get(key, {})
        for component, bit, _ in [place for places in refs.values() for place in places]:
            self._again.pop((component, bit), None)
        for ref in refs:
            refs[ref] = _places(pool, key, self._claims[ref])
            self._take(refs[ref])

    def concerning(self, pools: Iterable[PoolKey]) -> tuple[AllocatedClaim, ...]:
        """Return the claims that hold devices of some pools, in the order in which they came."""
        refs = {ref for pool in pools for ref in self._by_pool.get(pool, ())}
        return tuple(self._claims[ref] for ref in sorted(refs, key=self._arrivals.__getitem__))

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
    """Return the pools whose devices a claim holds. Looking on holds nothing."""
    return dict.fromkeys(
        [(one.device.driver, one.device.pool) for one in claim.results if not one.admin_access]
    )


def _places(pool: CompiledPool | None, key: PoolKey, claim: AllocatedClaim) -> Places:
    """Return where a pool has the devices of a claim; those that are gone hold nothing."""
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
    """Return what a result holds of a device that serves many claims, empty for any other device.

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
