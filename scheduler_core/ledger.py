"""The ledger: what is left of each source, and who holds the rest.

The state is the set of devices taken; every number is recomputed from it by adding and subtracting, so
the order of taking never matters and taking then releasing changes nothing. A device that draws itself
and is named by an active device is made real once, with its full draw, for as long as it has users.
Rules S1 to S8 of docs/semantics.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scheduler_core.errors import Overdrawn
from scheduler_core.model.device import Device, DeviceName, SourceName
from scheduler_core.model.pool import Pool
from scheduler_core.names import bare

_Place = tuple[SourceName, str]


class Ledger:
    """The books of one pool. Not thread-safe; cheap to build and to copy."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._devices: Mapping[DeviceName, Device] = {device.name: device for device in pool.devices}
        self._left: dict[_Place, int] = {
            (source, dimension): quantity.nano
            for source, amounts in pool.sources.items()
            for dimension, quantity in amounts.items()
        }
        self._users: dict[DeviceName, int] = {}
        self._holders: dict[DeviceName, str] = {}

    @property
    def taken(self) -> Mapping[DeviceName, str]:
        """Return the devices taken and who holds each."""
        return dict(self._holders)

    def left(self, source: SourceName, dimension: str) -> int:
        """Return what is left of one dimension. Units: billionths of the dimension's unit."""
        return self._left[source, dimension]

    def admits(self, name: DeviceName) -> bool:
        """Whether the device could be taken now."""
        return self.obstacle(name) is None

    def take(self, name: DeviceName, holder: str) -> None:
        """Take a device for ``holder``.

        Raises: Overdrawn, with the holders in the way, and changes nothing.
        """
        reason = self.obstacle(name)
        if reason is not None:
            raise Overdrawn(name, reason)
        self._enter(name, holder)

    def record(self, name: DeviceName, holder: str) -> None:
        """Enter what somebody already holds, overdrawn or not; devices that are gone hold nothing."""
        if name in self._devices and name not in self._holders:
            self._enter(name, holder)

    def _enter(self, name: DeviceName, holder: str) -> None:
        for device in self._activated_by(name):
            self._draw(device, 1)
        self._count_users(name, 1)
        self._holders[name] = holder

    def release(self, name: DeviceName) -> None:
        """Give a device back. Raises: KeyError where it is not taken."""
        del self._holders[name]
        self._count_users(name, -1)
        for device in self._activated_by(name):
            self._draw(device, -1)

    def obstacle(self, name: DeviceName) -> str | None:
        """Return why the device cannot be taken now, None where it can."""
        device = self._devices.get(name)
        if device is None:
            rejected = self._pool.rejected.get(name)
            return rejected.reason if rejected else f"pool {self._pool.id} has no such device"
        if name in self._holders:
            return f"{name} is held by {self._holders[name]}"
        if self._users.get(name):
            return f"{name} is cut into devices that are held by {self._holders_of(self._descends(name))}"
        for ancestor in self._ancestors(name):
            if ancestor in self._holders:
                return f"{ancestor}, which it is cut from, is held by {self._holders[ancestor]}"
        return self._shortage(name)

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
        users = [name for name in self._holders if place in set(self._places(name))]
        label = bare(dimension, self._pool.id.driver)
        by = self._holders_of(users) if users else "nobody: it has too little even when free"
        return f"{label} of {source} is held by {by}"

    def _holders_of(self, names: list[DeviceName]) -> str:
        return ", ".join(sorted({f"{self._holders[name]} ({name})" for name in names}))

    def _places(self, name: DeviceName) -> Iterator[_Place]:
        """Yield what the device and the ancestors that it keeps real draw from."""
        for member in (name, *self._ancestors(name)):
            for draw in self._devices[member].draws:
                yield from ((draw.source, dimension) for dimension in draw.amounts)

    def _descends(self, name: DeviceName) -> list[DeviceName]:
        return [holder for holder in self._holders if name in set(self._ancestors(holder))]

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

    def _draw(self, device: Device, sign: int) -> None:
        for draw in device.draws:
            for dimension, quantity in draw.amounts.items():
                self._left[draw.source, dimension] -= sign * quantity.nano

    def _count_users(self, name: DeviceName, step: int) -> None:
        """Count the taken device at every ancestor: an ancestor with users is not allocatable."""
        for ancestor in self._ancestors(name):
            self._users[ancestor] = self._users.get(ancestor, 0) + step
