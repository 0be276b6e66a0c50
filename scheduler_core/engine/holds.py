"""What claims hold: the bits of the components' states, and the claims themselves for whoever asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from scheduler_core.engine.component import CompiledPool, Component
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef
from scheduler_core.model.device import DeviceId
from scheduler_core.model.pool import PoolId


class Holds:
    """Claims by name, and by the pools whose devices they hold.

    A device that several claims hold, which is a mistake of somebody else, is taken until the last one
    releases it.
    """

    def __init__(self) -> None:
        self._claims: dict[ClaimRef, AllocatedClaim] = {}
        self._by_pool: dict[PoolId, dict[ClaimRef, None]] = {}
        self._again: Counter[DeviceId] = Counter()

    def get(self, ref: ClaimRef) -> AllocatedClaim | None:
        """Return a claim that holds devices, None where it holds none."""
        return self._claims.get(ref)

    def add(self, claim: AllocatedClaim) -> None:
        """Note a claim."""
        self._claims[claim.ref] = claim
        for pool in pools_of(claim):
            self._by_pool.setdefault(pool, {})[claim.ref] = None

    def remove(self, ref: ClaimRef) -> AllocatedClaim:
        """Forget a claim and return it. Raises: KeyError where it is not known."""
        claim = self._claims.pop(ref)
        for pool in pools_of(claim):
            self._by_pool[pool].pop(ref, None)
        return claim

    def concerning(self, pools: Iterable[PoolId]) -> tuple[AllocatedClaim, ...]:
        """Return the claims that hold devices of some pools, in the order in which they came."""
        refs = dict.fromkeys(ref for pool in pools for ref in self._by_pool.get(pool, ()))
        return tuple(self._claims[ref] for ref in refs)

    def take(self, pool: CompiledPool, results: Iterable[AllocatedDevice]) -> None:
        """Enter results into the states of a pool."""
        for component, position, device in _places(pool, results):
            bit = 1 << position
            if component.state & bit:
                self._again[device] += 1
            component.state |= bit

    def give(self, pool: CompiledPool, results: Iterable[AllocatedDevice]) -> None:
        """Take results out of the states of a pool."""
        for component, position, device in _places(pool, results):
            if self._again[device]:
                self._again[device] -= 1
            else:
                component.state &= ~(1 << position)

    def enter_all(self, pool: CompiledPool) -> None:
        """Enter everything that is held into the fresh states of a pool."""
        for device in [device for device in self._again if (device.driver, device.pool) == _key(pool.id)]:
            del self._again[device]
        for claim in self.concerning([pool.id]):
            self.take(pool, claim.results)


def pools_of(claim: AllocatedClaim) -> set[PoolId]:
    """Return the pools whose devices a claim holds. Looking on holds nothing."""
    return {
        PoolId(result.device.driver, result.device.pool)
        for result in claim.results
        if not result.admin_access
    }


def _places(
    pool: CompiledPool, results: Iterable[AllocatedDevice]
) -> Iterator[tuple[Component, int, DeviceId]]:
    """Yield where a pool has the devices of the results; those that are gone hold nothing."""
    key = _key(pool.id)
    for result in results:
        device = result.device
        if (device.driver, device.pool) == key and not result.admin_access:
            found = pool.find(device.device)
            if found is not None:
                yield (*found, device)


def _key(pool: PoolId) -> tuple[str, str]:
    return pool.driver, pool.name
