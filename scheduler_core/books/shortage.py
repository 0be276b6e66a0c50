"""What keeps a device from being taken: who holds what it needs, or what it may not stand beside.

In come a pool, its books and a device; out come values with amounts and holders. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from scheduler_core.base.quantity import Quantity
from scheduler_core.books.ledger import Ledger, Share
from scheduler_core.model.device import Device, DeviceName, SourceName
from scheduler_core.model.names import bare
from scheduler_core.model.pool import Pool
from scheduler_core.model.refusal import Held, Hindrance, Missing, Obstacle

_Place = tuple[SourceName, str]


def obstacle(pool: Pool, ledger: Ledger, name: DeviceName, share: Share | None = None) -> Obstacle | None:
    """Return why a device, or a share of it, cannot be taken now; None where it can."""
    text = ledger.obstacle(name, share)
    if text is None:
        return None
    text = text.removeprefix(f"{name} ")
    books = _Books.of(pool, ledger)
    if name in ledger.taken and share is None:
        return Obstacle(Hindrance.HELD, text, books.held(lambda one: one == name))
    consumed = tuple(_consumed(pool, ledger, books.devices[name], share or {}))
    if name in ledger.taken:
        return Obstacle(Hindrance.CONSUMED, text, _together(consumed), consumed)
    relatives = books.relatives(name)
    if relatives:
        return Obstacle(Hindrance.RELATED, text, books.held(relatives.__contains__))
    short = missing(pool, ledger, name)
    if short:
        return Obstacle(Hindrance.SHORT, text, _together(short), short)
    source, other = ledger.group_conflict(name), ledger.at_odds_with(name)
    if source is not None:
        return Obstacle(Hindrance.GROUPS, text, books.held(lambda one: books.uses(one, source)))
    if other is not None:
        return Obstacle(Hindrance.EXPRESSION, text, books.held(lambda one: one == other))
    return Obstacle(Hindrance.CONSUMED, text, _together(consumed), consumed)


def missing(pool: Pool, ledger: Ledger, name: DeviceName) -> tuple[Missing, ...]:
    """Return the amounts that the device lacks of what it draws from.

    Shape: in the order of its draws; empty where amounts are not what refuses it: it, what it is cut from
           or what is cut from it is in use itself.
    """
    books = _Books.of(pool, ledger)
    chain = tuple(_chain(name, books.devices))
    if name in ledger.taken or books.relatives(name):
        return ()
    active = frozenset().union(*books.chains.values())
    wanted = _wanted(books.devices[one] for one in chain if one not in active)
    return tuple(
        books.missing(place, amount) for place, amount in wanted.items() if amount.nano > ledger.left(*place)
    )


@dataclass(frozen=True, slots=True)
class _Books:
    """A pool, its ledger, and what each taken device is cut from, itself included."""

    pool: Pool
    ledger: Ledger
    devices: Mapping[DeviceName, Device]
    chains: Mapping[DeviceName, frozenset[DeviceName]]

    @classmethod
    def of(cls, pool: Pool, ledger: Ledger) -> _Books:
        devices = {device.name: device for device in pool.devices}
        return cls(
            pool, ledger, devices, {taken: frozenset(_chain(taken, devices)) for taken in ledger.taken}
        )

    def held(self, is_meant: Callable[[DeviceName], bool]) -> tuple[Held, ...]:
        """Return taken devices with their holders, in pool order."""
        taken = self.ledger.taken
        return tuple(Held(one, taken[one]) for one in self.devices if one in taken and is_meant(one))

    def relatives(self, name: DeviceName) -> frozenset[DeviceName]:
        """Return the taken devices that this one is cut from, or that are cut from it."""
        chain = frozenset(_chain(name, self.devices))
        return frozenset(
            taken
            for taken, other in self.chains.items()
            if taken != name and (name in other or taken in chain)
        )

    def uses(self, name: DeviceName, source: SourceName) -> bool:
        """Whether a taken device, or what it is cut from, draws from the source."""
        return any(draw.source == source for one in self.chains[name] for draw in self.devices[one].draws)

    def missing(self, place: _Place, needed: Quantity) -> Missing:
        source, dimension = place
        total = self.pool.sources[source][dimension]
        return Missing(
            source=source,
            dimension=bare(dimension, self.pool.id.driver),
            needed=needed,
            left=Quantity(max(0, self.ledger.left(source, dimension)), total.family),
            total=total,
            holders=self.held(lambda one: self._draws(one, place)),
        )

    def _draws(self, name: DeviceName, place: _Place) -> bool:
        source, dimension = place
        return any(
            draw.source == source and draw.amounts.get(dimension, Quantity.of(0)).nano > 0
            for member in self.chains[name]
            for draw in self.devices[member].draws
        )


def _consumed(pool: Pool, ledger: Ledger, device: Device, share: Share) -> Iterator[Missing]:
    """Yield the capacities of a shareable device of which its shares have left too little."""
    by = Held(device.name, ledger.taken[device.name]) if device.name in ledger.taken else None
    for capacity, needed in share.items():
        total = device.capacity[capacity]
        left = ledger.unconsumed(device.name, capacity)
        if needed.nano > left:
            yield Missing(
                source=SourceName(device.name),
                dimension=bare(capacity, pool.id.driver),
                needed=needed,
                left=Quantity(max(0, left), total.family),
                total=total,
                holders=(by,) if by is not None else (),
            )


def _together(short: Iterable[Missing]) -> tuple[Held, ...]:
    return tuple(dict.fromkeys(holder for one in short for holder in one.holders))


def _wanted(devices: Iterable[Device]) -> dict[_Place, Quantity]:
    wanted: dict[_Place, Quantity] = {}
    for device in devices:
        for draw in device.draws:
            for dimension, amount in draw.amounts.items():
                before = wanted.get((draw.source, dimension))
                nano = amount.nano + (before.nano if before is not None else 0)
                wanted[draw.source, dimension] = Quantity(nano, amount.family)
    return wanted


def _chain(name: DeviceName, devices: Mapping[DeviceName, Device]) -> Iterator[DeviceName]:
    """Yield the device and all that it is cut from, once each."""
    seen: set[DeviceName] = set()
    open_names = [name]
    while open_names:
        one = open_names.pop(0)
        if one not in seen:
            seen.add(one)
            yield one
            open_names += devices[one].parents
