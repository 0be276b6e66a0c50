"""Places of devices: where the core counts whether a device is in use, and trial takes of several devices.

Compiled pools are counted in tables, other pools in ledgers. Both give the same answers; only a ledger can
also say what keeps a device from being taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.books.ledger import Ledger
from scheduler_core.books.ledgers import ledgers_of
from scheduler_core.books.usage import Share
from scheduler_core.model.device import DeviceId, DeviceName
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.node_views import PoolKey, restored
from scheduler_core.tables.component import CompiledPool, Component, Consumed


@dataclass(frozen=True, slots=True, eq=False)
class TablePlace:
    """A device of a compiled pool."""

    component: Component
    position: int


@dataclass(frozen=True, slots=True, eq=False)
class LedgerPlace:
    """A device of a pool that has a ledger."""

    ledger: Ledger
    name: DeviceName


Place = TablePlace | LedgerPlace


def is_in_use(place: Place) -> bool:
    """Whether some claim holds the device or a share of it."""
    if isinstance(place, TablePlace):
        return bool(place.component.state >> place.position & 1)
    return place.name in place.ledger.taken


def admits(place: Place, share: Share | None = None) -> bool:
    """Whether the device, or a share of it, can be taken now."""
    if isinstance(place, LedgerPlace):
        return place.ledger.admits(place.name, share)
    component, position = place.component, place.position
    return _admits(component, position, component.state, component.consumed.get(1 << position), share)


class Places:
    """The places of a state's devices, for one question: ledgers have what claims hold when they are made.

    Shape: with ``explained`` every place has a ledger, which says why a device cannot be taken.
    """

    def __init__(self, state: ClusterState, *, explained: bool = False) -> None:
        self._state = state
        self._explained = explained
        self._ledgers: dict[PoolKey, Ledger] = {}

    def of(self, device: DeviceId) -> Place | None:
        """Return the place of a device, None where no pool has it."""
        key = (device.driver, device.pool)
        compiled = self._state.views.compiled(key)
        if compiled is None or self._explained or _judges(compiled):
            return self._on_ledger(key, device.device)
        found = compiled.find(device.device)
        return None if found is None else TablePlace(*found)

    def _on_ledger(self, key: PoolKey, device: DeviceName) -> LedgerPlace | None:
        ledger = self._ledgers.get(key)
        if ledger is None:
            pool = self._state.views.get(key)
            if pool is None:
                return None
            known = self._state.with_pools([restored(pool)])
            (ledger,) = ledgers_of(known.pools, known.allocated, known.features)
            self._ledgers[key] = ledger
        return LedgerPlace(ledger, device) if ledger.has(device) else None


def _judges(pool: CompiledPool) -> bool:
    """Whether some device has an expression about others, which tables do not evaluate."""
    return any(one.template.structure_class.judges for one in pool.components)


class Trial:
    """Takes devices on trial, on top of what is in use.

    Takes from ledgers change the ledgers until they are given back; tables are never changed.
    """

    def __init__(self, holder: str) -> None:
        self._holder = holder
        self._states: dict[Component, int] = {}
        self._consumed: dict[tuple[Component, int], Consumed] = {}
        self._times: Counter[tuple[Component, int]] = Counter()

    def take(self, takes: Sequence[tuple[Place, Share | None]]) -> bool:
        """Take all devices, or none where they cannot be taken together."""
        for done, (place, share) in enumerate(takes):
            if not self._take(place, share):
                self.give_back(takes[:done])
                return False
        return True

    def give_back(self, takes: Sequence[tuple[Place, Share | None]]) -> None:
        """Give devices back, in any order."""
        for place, share in takes:
            match place:
                case LedgerPlace(ledger, name):
                    ledger.release(name, self._holder, share)
                case TablePlace(component, position):
                    self._vacate(component, position, share)

    def _take(self, place: Place, share: Share | None) -> bool:
        if isinstance(place, LedgerPlace):
            if not place.ledger.admits(place.name, share):
                return False
            place.ledger.take(place.name, self._holder, share)
            return True
        component, position = place.component, place.position
        state = self._states.get(component, component.state)
        held = self._held(component, position)
        if not _admits(component, position, state, held, share):
            return False
        if _is_shareable(component, position):
            self._consumed[component, position] = _sum(component, position, held, share, 1)
        self._states[component] = state | 1 << position
        self._times[component, position] += 1
        return True

    def _vacate(self, component: Component, position: int, share: Share | None) -> None:
        if _is_shareable(component, position):
            held = self._held(component, position)
            self._consumed[component, position] = _sum(component, position, held, share, -1)
        self._times[component, position] -= 1
        if not self._times[component, position] and not component.state >> position & 1:
            self._states[component] &= ~(1 << position)

    def _held(self, component: Component, position: int) -> Consumed | None:
        return self._consumed.get((component, position)) or component.consumed.get(1 << position)


def _admits(
    component: Component, position: int, state: int, held: Consumed | None, share: Share | None
) -> bool:
    """Whether a device can be taken in a state of its component.

    Shape: ``held`` is what claims hold of a shareable device in use.
    """
    is_used = state >> position & 1
    if is_used and (share is None or held is None or held[0]):
        return False
    if not is_used and not component.template.tables.free(state) >> position & 1:
        return False
    if share is None:
        return True
    capacity = component.template.structure_class.device_facts[position].capacity
    used = dict(zip(capacity, held[1:], strict=True)) if is_used and held is not None else None
    for name, amount in share.items():
        if amount.nano + (used[name] if used is not None else 0) > capacity[name].nano:
            return False
    return True


def _is_shareable(component: Component, position: int) -> bool:
    return bool(component.template.structure_class.shareable >> position & 1)


def _sum(
    component: Component, position: int, held: Consumed | None, share: Share | None, sign: int
) -> Consumed:
    """Return what is held of a shareable device after a take (``sign`` 1) or a return (-1).

    Shape: ``share`` is None where all of it is taken or given back.
    """
    capacity = component.template.structure_class.device_facts[position].capacity
    whole, *sums = held or (0, *[0] * len(capacity))
    if share is None:
        return (whole + sign, *sums)
    more = [share[name].nano if name in share else 0 for name in capacity]
    return (whole, *[used + sign * amount for used, amount in zip(sums, more, strict=True)])
