"""What a device lacks: source, dimension, amounts, and who holds the rest.

In come a pool, its books and a device that was refused; out come amounts. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from scheduler_core.ledger import Ledger
from scheduler_core.model.device import Device, DeviceName, SourceName
from scheduler_core.model.pool import Pool
from scheduler_core.names import bare
from scheduler_core.quantity import Quantity

_NAMES: Final = 3  # devices of one holder that a sentence names
_Place = tuple[SourceName, str]


@dataclass(frozen=True, slots=True)
class Held:
    """A device that draws from the same source, and who holds it."""

    device: DeviceName
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """One dimension of one source of which too little is left.

    Shape: ``left`` is never negative; ``holders`` in pool order, empty where the source is too small even
           when free.
    Units: those of the dimension.
    """

    source: SourceName
    dimension: str
    needed: Quantity
    left: Quantity
    total: Quantity
    holders: tuple[Held, ...]

    def __str__(self) -> str:
        by = ", ".join(_by_holder(self.holders)) or "nobody"
        amounts = f"needs {self.needed}, {self.left} of {self.total} left"
        return f"{self.dimension} of {self.source}: {amounts}; held by {by}"


def _by_holder(holders: Iterable[Held]) -> Iterator[str]:
    """Yield each holder once, with the devices that it holds."""
    devices: dict[str, list[str]] = {}
    for one in holders:
        devices.setdefault(one.by, []).append(one.device)
    for by, names in devices.items():
        rest = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
        yield f"{by} ({', '.join(names[:_NAMES])}{rest})"


def missing(pool: Pool, ledger: Ledger, name: DeviceName) -> tuple[Missing, ...]:
    """Return the amounts that the device lacks.

    Shape: in the order of its draws; empty where amounts are not what refuses it: it, what it is cut from
           or what is cut from it is in use itself.
    """
    devices = {device.name: device for device in pool.devices}
    chains = {taken: frozenset(_chain(taken, devices)) for taken in ledger.taken}
    chain = tuple(_chain(name, devices))
    if any(name in other for other in chains.values()) or any(one in ledger.taken for one in chain):
        return ()
    active = frozenset().union(*chains.values())
    wanted = _wanted(devices[one] for one in chain if one not in active)
    found = _Lookup(pool, ledger, devices, chains)
    return tuple(
        found.missing(place, amount) for place, amount in wanted.items() if amount.nano > ledger.left(*place)
    )


@dataclass(frozen=True, slots=True)
class _Lookup:
    pool: Pool
    ledger: Ledger
    devices: Mapping[DeviceName, Device]
    chains: Mapping[DeviceName, frozenset[DeviceName]]

    def missing(self, place: _Place, needed: Quantity) -> Missing:
        source, dimension = place
        total = self.pool.sources[source][dimension]
        holders = tuple(
            Held(one, self.ledger.taken[one])
            for one in self.devices
            if one in self.chains and self._draws(one, place)
        )
        return Missing(
            source=source,
            dimension=bare(dimension, self.pool.id.driver),
            needed=needed,
            left=Quantity(max(0, self.ledger.left(source, dimension)), total.family),
            total=total,
            holders=holders,
        )

    def _draws(self, name: DeviceName, place: _Place) -> bool:
        source, dimension = place
        return any(
            draw.source == source and draw.amounts.get(dimension, Quantity.of(0)).nano > 0
            for member in self.chains[name]
            for draw in self.devices[member].draws
        )


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
