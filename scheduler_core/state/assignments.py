"""What claims hold: the bits of the components' states, and the claims themselves for whoever asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from scheduler_core.model.claim import AllocatedClaim, ClaimRef
from scheduler_core.tables.component import CompiledPool, Component

PoolKey = tuple[str, str]
"""Driver and name."""
Places = list[tuple[Component, int]]
"""Components, and in each the bit of a device."""


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
        for place in [place for places in refs.values() for place in places]:
            self._again.pop(place, None)
        for ref in refs:
            refs[ref] = _places(pool, key, self._claims[ref])
            self._take(refs[ref])

    def concerning(self, pools: Iterable[PoolKey]) -> tuple[AllocatedClaim, ...]:
        """Return the claims that hold devices of some pools, in the order in which they came."""
        refs = {ref for pool in pools for ref in self._by_pool.get(pool, ())}
        return tuple(self._claims[ref] for ref in sorted(refs, key=self._arrivals.__getitem__))

    def _take(self, places: Places) -> None:
        for place in places:
            component, bit = place
            before = component.state
            if before & bit:
                self._again[place] += 1
            else:
                component.state = before | bit
                self._moved(component, before)

    def _give(self, places: Places) -> None:
        for place in places:
            component, bit = place
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
                places.append((found[0], 1 << found[1]))
    return places
