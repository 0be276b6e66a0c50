"""Compatibility groups in the place of ``compatibleOnlyWith``: the same pool, as v1 can say it.

``resource.k8s.io/v1`` has no field for expressions about other devices, but groups on what a device draws.
Devices that may be in use together, two by two, form groups: every largest set of such devices is one. So a
set of devices has a group in common exactly if no expression refuses a pair of it. The devices of a source
all get groups, so both meanings of a device without any agree. Source: KEP-5963; rules S10 and S11 of
docs/semantics.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from scheduler_core.base import limits
from scheduler_core.base.errors import CannotProject
from scheduler_core.books.compatibility import refusals
from scheduler_core.model.device import Device, DeviceName, SourceName
from scheduler_core.model.pool import Pool

_Refused = Mapping[DeviceName, frozenset[DeviceName]]


def with_groups(pool: Pool) -> Pool:
    """Return the pool with groups for what its expressions say, and without expressions.

    Shape: a pool without expressions is returned as it is.
    Raises: CannotProject with every reason, where groups cannot say the same.
    """
    if all(device.only_with is None for device in pool.devices):
        return pool
    by_source, reasons = _refused(pool)
    groups: dict[tuple[DeviceName, SourceName], frozenset[str]] = {}
    for source, refused in by_source.items():
        users = [device for device in pool.devices if any(draw.source == source for draw in device.draws)]
        reasons += [
            f"{one.name} has compatibility groups on {source}, and expressions refuse devices there"
            for one in users
            if any(draw.source == source and draw.groups for draw in one.draws)
        ]
        for name, own in _groups(_meeting(pool, source, users, refused), refused).items():
            groups[name, source] = own
            if len(own) > limits.COMPATIBILITY_GROUPS:
                rule = f"v1 allows {limits.COMPATIBILITY_GROUPS}"
                reasons.append(f"{name} needs {len(own)} compatibility groups on {source}; {rule}")
    if reasons:
        raise CannotProject(str(pool.id), tuple(reasons))
    return replace(pool, devices=tuple(_grouped(device, groups) for device in pool.devices))


def _meeting(pool: Pool, source: SourceName, users: Sequence[Device], refused: _Refused) -> list[DeviceName]:
    """Return the users of a source that counting alone does not keep apart from all that are refused."""
    known = [one for one in users if one.name in refused]
    return [
        one.name
        for one in users
        if one.name in refused or not all(_overdraw(pool, source, one, other) for other in known)
    ]


def _overdraw(pool: Pool, source: SourceName, one: Device, other: Device) -> bool:
    """Whether two devices together draw more from a source than there is."""
    own, its = (
        next(draw.amounts for draw in device.draws if draw.source == source) for device in (one, other)
    )
    whole = pool.sources[source]
    return any(its[key].nano + own[key].nano > whole[key].nano for key in own.keys() & its.keys())


def _grouped(device: Device, groups: Mapping[tuple[DeviceName, SourceName], frozenset[str]]) -> Device:
    draws = tuple(
        replace(draw, groups=groups.get((device.name, draw.source), draw.groups)) for draw in device.draws
    )
    return replace(device, only_with=None, draws=draws)


def _refused(pool: Pool) -> tuple[dict[SourceName, _Refused], list[str]]:
    """Return by source which of its users refuse each other, and why other pairs cannot be expressed.

    A device and its parts are left out: they exclude each other without an expression, also in v1.
    """
    found: dict[SourceName, dict[DeviceName, frozenset[DeviceName]]] = {}
    reasons: list[str] = []
    by_name = {device.name: device for device in pool.devices}
    above = {device.name: _ancestors(device, by_name) for device in pool.devices}
    for one, other in refusals(pool.id.driver, pool.devices):
        if one.name in above[other.name] or other.name in above[one.name]:
            continue
        common = {draw.source for draw in one.draws} & {draw.source for draw in other.draws}
        if not common:
            reasons.append(f"{one.name} and {other.name} exclude each other without a common source")
            continue
        refused = found.setdefault(min(common), {})
        refused[one.name] = refused.get(one.name, frozenset()) | {other.name}
        refused[other.name] = refused.get(other.name, frozenset()) | {one.name}
    return {source: refused for source, refused in found.items()}, reasons


def _ancestors(device: Device, by_name: Mapping[DeviceName, Device]) -> frozenset[DeviceName]:
    """Return the devices that a device is cut from, directly or not."""
    found: set[DeviceName] = set()
    left = list(device.parents)
    while left:
        parent = left.pop()
        if parent not in found and parent in by_name:
            found.add(parent)
            left += by_name[parent].parents
    return frozenset(found)


def _groups(users: Sequence[DeviceName], refused: _Refused) -> Mapping[DeviceName, frozenset[str]]:
    """Return the groups of each user. Users that refuse the same devices have the same."""
    classes: dict[frozenset[DeviceName], list[DeviceName]] = {}
    for name in users:
        classes.setdefault(refused.get(name, frozenset()), []).append(name)
    members = list(classes.values())
    goes_with = [
        frozenset(
            index for index, other in enumerate(members) if other[0] not in refused.get(one[0], frozenset())
        )
        for one in members
    ]
    sets = sorted(sorted(one) for one in _largest_sets(frozenset(range(len(members))), goes_with))
    return {
        name: frozenset(f"group-{number}" for number, one in enumerate(sets) if index in one)
        for index, names in enumerate(members)
        for name in names
    }


def _largest_sets(
    left: frozenset[int],
    goes_with: Sequence[frozenset[int]],
    chosen: frozenset[int] = frozenset(),
    seen: frozenset[int] = frozenset(),
) -> Iterator[frozenset[int]]:
    """Yield every set that goes together and to which nothing can be added (Bron and Kerbosch, 1973)."""
    if not left and not seen:
        yield chosen
    for index in sorted(left):
        others = goes_with[index] - {index}
        yield from _largest_sets(left & others, goes_with, chosen | {index}, seen & others)
        left -= {index}
        seen |= {index}
