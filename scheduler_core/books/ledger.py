"""The ledger: what is left of each source, and who holds the rest.

The state is the set of devices taken; every number is recomputed from it by adding and subtracting, so
the order of taking never matters and taking then releasing changes nothing. A device that draws itself
and is named by an active device is made real once, with its full draw, for as long as it has users. A
shareable device is drawn once for all its shares, and its own capacity is shared out.
Rules S1 to S11 of docs/semantics.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from copy import copy

from scheduler_core.base.errors import Overdrawn
from scheduler_core.base.features import ALL, Features
from scheduler_core.base.quantity import Quantity
from scheduler_core.books.compatibility import GroupBook, is_at_odds
from scheduler_core.model.device import Device, DeviceName, QualifiedName, SourceName
from scheduler_core.model.names import bare
from scheduler_core.model.pool import Pool

_Place = tuple[SourceName, str]
Share = Mapping[QualifiedName, Quantity]
"""What one claim consumes of a shareable device, by capacity."""


class Ledger:
    """The books of one pool. Not thread-safe; cheap to build and to copy."""

    def __init__(self, pool: Pool, features: Features = ALL) -> None:
        self._pool = pool
        self._devices: Mapping[DeviceName, Device] = {device.name: device for device in pool.devices}
        # What a device draws from a source that its invalid pool does not have leaves less than nothing.
        self._left: defaultdict[_Place, int] = defaultdict(int)
        for source, amounts in pool.sources.items():
            for dimension, quantity in amounts.items():
                self._left[source, dimension] = quantity.nano
        self._users: dict[DeviceName, int] = {}
        self._holders: dict[DeviceName, str] = {}
        self._shares: dict[DeviceName, list[str]] = {}
        self._consumed: dict[tuple[DeviceName, QualifiedName], int] = {}
        self._groups = GroupBook(features.groups)
        self._judges = any(device.only_with is not None for device in pool.devices)

    def __copy__(self) -> Ledger:
        """Return a ledger that goes its own way from here."""
        twin = object.__new__(Ledger)
        twin._pool, twin._devices, twin._judges = self._pool, self._devices, self._judges
        twin._left = self._left.copy()
        twin._users, twin._holders = self._users.copy(), self._holders.copy()
        twin._shares = {name: holders.copy() for name, holders in self._shares.items()}
        twin._consumed = self._consumed.copy()
        twin._groups = copy(self._groups)
        return twin

    @property
    def taken(self) -> Mapping[DeviceName, str]:
        """Return the devices taken and who holds each; of a shared one all holders."""
        return self._holders | {name: ", ".join(by) for name, by in self._shares.items() if by}

    def left(self, source: SourceName, dimension: str) -> int:
        """Return what is left of one dimension. Units: billionths of the dimension's unit."""
        return self._left[source, dimension]

    def admits(self, name: DeviceName, share: Share | None = None) -> bool:
        """Whether the device, or a share of it, could be taken now."""
        return self.obstacle(name, share) is None

    def take(self, name: DeviceName, holder: str, share: Share | None = None) -> None:
        """Take a device for ``holder``; of a shareable one the ``share`` of its capacity.

        Raises: Overdrawn, with the holders in the way, and changes nothing.
        """
        reason = self.obstacle(name, share)
        if reason is not None:
            raise Overdrawn(name, reason)
        self._enter(name, holder, share)

    def record(self, name: DeviceName, holder: str, share: Share | None = None) -> None:
        """Enter what somebody already holds, overdrawn or not; devices that are gone hold nothing."""
        if name in self._devices and name not in self._holders:
            self._enter(name, holder, share)

    def release(self, name: DeviceName, holder: str = "", share: Share | None = None) -> None:
        """Give a device or a holder's share of it back. Raises: KeyError where it is not taken."""
        if share is None:
            del self._holders[name]
            if self._shares.get(name):
                return
        else:
            holders = self._shares[name]
            holders.remove(holder)
            self._consume(name, share, -1)
            if holders or name in self._holders:
                return
        self._count_users(name, -1)
        self._activate(name, -1)

    def _enter(self, name: DeviceName, holder: str, share: Share | None) -> None:
        if share is None:
            self._holders[name] = holder
            if self._shares.get(name):
                return  # drawn already: somebody has held it twice
        else:
            holders = self._shares.setdefault(name, [])
            holders.append(holder)
            self._consume(name, share, 1)
            if len(holders) > 1:
                return
        self._activate(name, 1)
        self._count_users(name, 1)

    def _activate(self, name: DeviceName, sign: int) -> None:
        """Draw for the device and the ancestors that become real with it, or give that back."""
        for device in self._activated_by(name):
            self._groups.enter(device.draws, sign)
            for draw in device.draws:
                for dimension, quantity in draw.amounts.items():
                    self._left[draw.source, dimension] -= sign * quantity.nano

    def _consume(self, name: DeviceName, share: Share, sign: int) -> None:
        for capacity, amount in share.items():
            place = (name, capacity)
            self._consumed[place] = self._consumed.get(place, 0) + sign * amount.nano

    def obstacle(self, name: DeviceName, share: Share | None = None) -> str | None:
        """Return why the device, or a share of it, cannot be taken now, None where it can."""
        device = self._devices.get(name)
        if device is None:
            rejected = self._pool.rejected.get(name)
            return rejected.reason if rejected else f"pool {self._pool.id} has no such device"
        if name in self._holders:
            return f"{name} is held by {self._holders[name]}"
        if self._shares.get(name):
            return self._share_obstacle(device, share)
        if self._users.get(name):
            return f"{name} is cut into devices that are held by {self._holders_of(self._descends(name))}"
        taken = self.taken
        for ancestor in self._ancestors(name):
            if ancestor in taken:
                return f"{ancestor}, which it is cut from, is held by {taken[ancestor]}"
        return self._shortage(name) or self._mismatch(device) or self._overshare(device, share)

    def unconsumed(self, name: DeviceName, capacity: QualifiedName) -> int:
        """Return what shares have left of a device's capacity. Units: billionths of the capacity's unit."""
        return self._devices[name].capacity[capacity].nano - self._consumed.get((name, capacity), 0)

    def group_conflict(self, name: DeviceName) -> SourceName | None:
        """Return the source on which the device has no group in common with what is in use."""
        return self._groups.conflict([draw for member in self._activated_by(name) for draw in member.draws])

    def at_odds_with(self, name: DeviceName) -> DeviceName | None:
        """Return a device in use beside which this one may not be, by the expression of either."""
        if not self._judges:
            return None
        driver, device = self._pool.id.driver, self._devices[name]
        return next((one for one in self.taken if is_at_odds(driver, device, self._devices[one])), None)

    def _share_obstacle(self, device: Device, share: Share | None) -> str | None:
        if share is None:
            return f"{device.name} is shared by {', '.join(self._shares[device.name])}"
        return self._overshare(device, share)

    def _overshare(self, device: Device, share: Share | None) -> str | None:
        for capacity, amount in (share or {}).items():
            if amount.nano > self.unconsumed(device.name, capacity):
                holders = ", ".join(self._shares.get(device.name, ())) or "nobody"
                label = bare(capacity, self._pool.id.driver)
                return f"{label} of {device.name} is consumed by {holders}"
        return None

    def _mismatch(self, device: Device) -> str | None:
        """Return what in use the device cannot stand beside, by groups or by expressions."""
        source = self.group_conflict(device.name)
        if source is not None:
            return f"{device.name} shares no compatibility group with what is in use of {source}"
        other = self.at_odds_with(device.name)
        if other is not None:
            return f"{device.name} is not compatible with {other}, held by {self.taken[other]}"
        return None

    def _shortage(self, name: DeviceName) -> str | None:
        wanted: dict[_Place, int] = {}
        for device in self._activated_by(name):
            for draw in device.draws:
                for dimension, quantity in draw.amounts.items():
                    place = (draw.source, dimension)
                    wanted[place] = wanted.get(place, 0) + quantity.nano
        for place, amount in wanted.items():
            if amount > self._left[place]:
                return self._shortage_text(place)
        return None

    def _shortage_text(self, place: _Place) -> str:
        source, dimension = place
        users = [name for name in self.taken if place in set(self._places(name))]
        label = bare(dimension, self._pool.id.driver)
        by = f"held by {self._holders_of(users)}" if users else "it has too little even when free"
        return f"{source} has too little {label} left: {by}"

    def _holders_of(self, names: list[DeviceName]) -> str:
        taken = self.taken
        return ", ".join(sorted({f"{taken[name]} ({name})" for name in names}))

    def _places(self, name: DeviceName) -> Iterator[_Place]:
        """Yield what the device and the ancestors that it keeps real draw from."""
        for member in (name, *self._ancestors(name)):
            for draw in self._devices[member].draws:
                yield from ((draw.source, dimension) for dimension in draw.amounts)

    def _descends(self, name: DeviceName) -> list[DeviceName]:
        return [holder for holder in self.taken if name in set(self._ancestors(holder))]

    def _activated_by(self, name: DeviceName) -> list[Device]:
        """Return the device and the ancestors that have no user yet: those become real with it."""
        idle = [parent for parent in self._ancestors(name) if not self._users.get(parent)]
        return [self._devices[member] for member in (name, *idle)]

    def _ancestors(self, name: DeviceName) -> list[DeviceName]:
        """Return every device that ``name`` is cut from, once each, nearest first."""
        found: dict[DeviceName, None] = {}
        open_names = list(self._devices[name].parents)
        while open_names:
            parent = open_names.pop(0)
            if parent not in found:
                found[parent] = None
                open_names.extend(self._devices[parent].parents)
        return list(found)

    def _count_users(self, name: DeviceName, step: int) -> None:
        """Count the taken device at every ancestor: an ancestor with users is not allocatable."""
        for ancestor in self._ancestors(name):
            self._users[ancestor] = self._users.get(ancestor, 0) + step
