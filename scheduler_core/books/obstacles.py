"""What keeps a device from being allocated, as a value with the amounts and the holders.

Takes the usage of a pool and the name of a device; returns an obstacle or None. Nothing changes here. The
order of the questions is the order in which a reader wants the answers: the device itself, its relatives, the
amounts, compatibility, its own capacity.
"""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_core.base.quantity import Quantity
from scheduler_core.books.usage import Place, Share, Usage
from scheduler_core.model.device import Device, DeviceName, SourceName
from scheduler_core.model.names import bare, memory_slice
from scheduler_core.model.obstacles import (
    ExpressionRefuses,
    Held,
    InUse,
    InvalidDevice,
    LedgerObstacle,
    Missing,
    NoCommonGroup,
    ParentsInUse,
    PartsInUse,
    SharesConsumed,
    TooLittleLeft,
    UnknownDevice,
)


def find_obstacle(usage: Usage, name: DeviceName, share: Share | None) -> LedgerObstacle | None:
    """Return why a device, or a share of it, cannot be allocated now; None where it can."""
    device = usage.devices.get(name)
    if device is None:
        rejected = usage.pool.rejected.get(name)
        return UnknownDevice(usage.pool.id) if rejected is None else InvalidDevice(rejected.reason)
    if name in usage.holders or (share is None and usage.shares.get(name)):
        return InUse(_held(usage, [name]))
    if usage.shares.get(name):
        return _consumed(usage, device, share)
    return (
        _relatives(usage, name)
        or _too_little(usage, name)
        or _incompatible(usage, device)
        or _consumed(usage, device, share)
    )


def _relatives(usage: Usage, name: DeviceName) -> PartsInUse | ParentsInUse | None:
    if usage.users.get(name):
        return PartsInUse(_held(usage, (one for one in usage.in_use() if name in usage.ancestors(one))))
    parents = [one for one in usage.ancestors(name) if usage.is_used(one)]
    return ParentsInUse(_held(usage, parents)) if parents else None


def _too_little(usage: Usage, name: DeviceName) -> TooLittleLeft | None:
    wanted: dict[Place, Quantity] = {}
    for device in usage.activated_by(name):
        for draw in device.draws:
            for dimension, amount in draw.amounts.items():
                before = wanted.get((draw.source, dimension))
                nano = amount.nano + (before.nano if before is not None else 0)
                wanted[draw.source, dimension] = Quantity(nano, amount.family)
    missing = [
        _missing(usage, place, amount) for place, amount in wanted.items() if amount.nano > usage.left[place]
    ]
    if not missing:
        return None
    missing.sort(key=lambda one: memory_slice(one.dimension) is None)  # what a user knows of comes first
    return TooLittleLeft(tuple(missing), _whole(usage, missing[0]))


def _whole(usage: Usage, missing: Missing) -> tuple[Held, ...]:
    """Return the holders of a memory slice whose device takes all memory slices of the source."""
    if memory_slice(missing.dimension) is None:
        return ()
    slices = [one for one in usage.pool.sources[missing.source] if memory_slice(one) is not None]
    return tuple(
        one
        for one in missing.holders
        if all(_draws_from(usage, one.device, missing.source, dimension) for dimension in slices)
    )


def _missing(usage: Usage, place: Place, needed: Quantity) -> Missing:
    source, dimension = place
    total = usage.pool.sources.get(source, {}).get(dimension, Quantity(0, needed.family))
    return Missing(
        source=source,
        dimension=bare(dimension, usage.pool.id.driver),
        needed=needed,
        left=Quantity(max(0, usage.left[place]), total.family),
        total=total,
        holders=_held(usage, (one for one in usage.in_use() if _draws_from(usage, one, source, dimension))),
    )


def _incompatible(usage: Usage, device: Device) -> NoCommonGroup | ExpressionRefuses | None:
    source = usage.group_conflict(usage.activated_by(device.name))
    if source is not None:
        return NoCommonGroup(source, _held(usage, _of_other_groups(usage, device, source)))
    other = usage.refused_by_expression(device)
    return None if other is None else ExpressionRefuses(_held(usage, [other]))


def _of_other_groups(usage: Usage, device: Device, source: SourceName) -> list[DeviceName]:
    """Return the devices in use that are in the way: each by itself, or else only all together."""
    mine = _groups(usage, device.name, source)
    users = [one for one in usage.in_use() if _draws_from(usage, one, source)]
    theirs = {one: _groups(usage, one, source) for one in users}
    is_mixed_allowed = usage.meaning == "kep-4815"
    opponents = [
        one
        for one, groups in theirs.items()
        if (
            not mine & groups
            if mine is not None and groups is not None
            else not is_mixed_allowed and mine != groups
        )
    ]
    return opponents or [one for one, groups in theirs.items() if groups is not None]


def _groups(usage: Usage, name: DeviceName, source: SourceName) -> frozenset[str] | None:
    """Return the groups with which a device, or what it is cut from, uses a source; None without any."""
    declared = [
        draw.groups
        for member in (name, *usage.ancestors(name))
        for draw in usage.devices[member].draws
        if draw.source == source and draw.groups
    ]
    return frozenset.intersection(*declared) if declared else None


def _consumed(usage: Usage, device: Device, share: Share | None) -> SharesConsumed | None:
    """Return the capacities of a shareable device that have too little left for one more share."""
    holders = _held(usage, [device.name]) if usage.is_used(device.name) else ()
    missing = []
    for capacity, needed in (share or {}).items():
        left = usage.unconsumed(device.name, capacity)
        if needed.nano > left:
            total = device.capacity[capacity]
            missing.append(
                Missing(
                    source=SourceName(device.name),
                    dimension=bare(capacity, usage.pool.id.driver),
                    needed=needed,
                    left=Quantity(max(0, left), total.family),
                    total=total,
                    holders=holders,
                )
            )
    return SharesConsumed(tuple(missing)) if missing else None


def _draws_from(usage: Usage, name: DeviceName, source: SourceName, dimension: str | None = None) -> bool:
    """Whether a device in use, or one it is cut from, draws from a source; or from one dimension of it."""
    for member in (name, *usage.ancestors(name)):
        for draw in usage.devices[member].draws:
            if draw.source == source:
                if dimension is None:
                    return True
                amount = draw.amounts.get(dimension)
                if amount is not None and amount.nano > 0:
                    return True
    return False


def _held(usage: Usage, names: Iterable[DeviceName]) -> tuple[Held, ...]:
    """Return devices in use with their holders. Shape: in pool order; an entry per share of a device."""
    found = list(names)
    if len(found) > 1:
        wanted = set(found)
        found = [name for name in usage.devices if name in wanted]
    return tuple(Held(name, by) for name in found for by in usage.holders_of(name))
