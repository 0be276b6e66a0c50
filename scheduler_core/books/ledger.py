"""The ledger of one pool: which device can be allocated now, and what keeps it from that.

``admits`` answers yes or no and builds nothing, because the search asks it at every step. ``obstacle``
answers the same question with a value that has the amounts and the holders.
Rules S1 to S11 of docs/semantics.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy

from scheduler_core.base.errors import CoreError
from scheduler_core.base.features import ALL, Features
from scheduler_core.books.obstacles import find_obstacle
from scheduler_core.books.usage import Share, Usage
from scheduler_core.model.device import Device, DeviceName, QualifiedName, SourceName
from scheduler_core.model.obstacles import LedgerObstacle
from scheduler_core.model.pool import Pool
from scheduler_core.model.sentences import obstacle_text


class Overdrawn(CoreError):
    """A device that the ledger cannot take, and the obstacle. Raised before anything has changed."""

    def __init__(self, device: DeviceName, obstacle: LedgerObstacle) -> None:
        self.device = device
        self.obstacle = obstacle
        super().__init__(f"device {device} cannot be taken: {self.reason}")

    @property
    def reason(self) -> str:
        """Return the obstacle as a sentence that names the device."""
        return obstacle_text(self.obstacle, self.device)


class Ledger:
    """The ledger of one pool. Not thread-safe; cheap to build and to copy."""

    def __init__(self, pool: Pool, features: Features = ALL) -> None:
        self._usage = Usage(pool, features)

    def __copy__(self) -> Ledger:
        """Return an independent copy."""
        twin = object.__new__(Ledger)
        twin._usage = copy(self._usage)
        return twin

    @property
    def taken(self) -> Mapping[DeviceName, str]:
        """Return the devices in use and who holds each; of a shared one all holders."""
        usage = self._usage
        return usage.holders | {name: ", ".join(by) for name, by in usage.shares.items() if by}

    def has(self, name: DeviceName) -> bool:
        """Whether the pool has a usable device of that name."""
        return name in self._usage.devices

    def is_whole_taken(self, name: DeviceName) -> bool:
        """Whether one claim has the whole device, not a share of it."""
        return name in self._usage.holders

    def left(self, source: SourceName, dimension: str) -> int:
        """Return what is left of one dimension. Units: billionths of the dimension's unit."""
        return self._usage.left[source, dimension]

    def admits(self, name: DeviceName, share: Share | None = None) -> bool:
        """Whether the device, or a share of it, can be taken now."""
        usage = self._usage
        device = usage.devices.get(name)
        if device is None or name in usage.holders:
            return False
        if usage.shares.get(name):
            return share is not None and self._has_share(device, share)
        if usage.users.get(name) or any(map(usage.is_used, usage.ancestors(name))):
            return False
        activated = usage.activated_by(name)
        return (
            self._has_amounts(activated)
            and usage.group_conflict(activated) is None
            and usage.refused_by_expression(device) is None
            and (share is None or self._has_share(device, share))
        )

    def obstacle(self, name: DeviceName, share: Share | None = None) -> LedgerObstacle | None:
        """Return why the device, or a share of it, cannot be taken now; None where it can."""
        return find_obstacle(self._usage, name, share)

    def take(self, name: DeviceName, holder: str, share: Share | None = None) -> None:
        """Take a device for ``holder``; of a shareable one the ``share`` of its capacity.

        Raises: Overdrawn, with the obstacle, and changes nothing.
        """
        if not self.admits(name, share):
            obstacle = self.obstacle(name, share)
            assert obstacle is not None, "what the ledger does not admit has an obstacle"
            raise Overdrawn(name, obstacle)
        self._usage.enter(name, holder, share)

    def record(self, name: DeviceName, holder: str, share: Share | None = None) -> None:
        """Enter what a claim holds already, overdrawn or not; a removed device holds nothing."""
        if name in self._usage.devices and name not in self._usage.holders:
            self._usage.enter(name, holder, share)

    def release(self, name: DeviceName, holder: str = "", share: Share | None = None) -> None:
        """Give a device or a holder's share of it back. Raises: KeyError where it is not taken."""
        self._usage.leave(name, holder, share)

    def unconsumed(self, name: DeviceName, capacity: QualifiedName) -> int:
        """Return what shares have left of a device's capacity. Units: billionths of the capacity's unit."""
        return self._usage.unconsumed(name, capacity)

    def _has_share(self, device: Device, share: Share) -> bool:
        usage = self._usage
        return all(amount.nano <= usage.unconsumed(device.name, name) for name, amount in share.items())

    def _has_amounts(self, activated: list[Device]) -> bool:
        """Whether the sources have enough left for the devices that become active together."""
        left = self._usage.left
        if len(activated) == 1:  # it draws once from each source: nothing is to be added up
            for draw in activated[0].draws:
                for dimension, quantity in draw.amounts.items():
                    if quantity.nano > left[draw.source, dimension]:
                        return False
            return True
        wanted: dict[tuple[SourceName, str], int] = {}
        for device in activated:
            for draw in device.draws:
                for dimension, quantity in draw.amounts.items():
                    place = (draw.source, dimension)
                    wanted[place] = wanted.get(place, 0) + quantity.nano
        return all(amount <= left[place] for place, amount in wanted.items())
