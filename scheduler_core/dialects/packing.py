"""A v1 pool in the slices that it had before, as far as the API's limits allow. Pure.

Devices and counter sets keep their slice (``places``). A counter, or a whole set, that nothing draws from any
more stays as it was, so that a device that goes changes one slice and not that of its counters too; a set
makes room for a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from scheduler_core.base import limits
from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.dialects.layout import Cut, Layout, cut, fits_together, repeated_source, runs
from scheduler_core.dialects.places import is_worth_keeping, places_after
from scheduler_core.model.device import Device, DeviceName, SourceName
from scheduler_core.model.pool import Pool

_Sets = Mapping[SourceName, Mapping[str, Quantity]]


@dataclass(frozen=True, slots=True)
class Packed:
    """The content of each slice of a pool.

    Shape: ``cuts`` in the order of the slices, at least one; ``sources`` are all counter sets in them;
           ``places`` have devices that are gone too.
    """

    cuts: tuple[Cut, ...]
    sources: _Sets = field(default_factory=dict)
    places: Mapping[DeviceName, int] = field(default_factory=dict)

    @classmethod
    def of(cls, cuts: Sequence[Cut], sources: _Sets) -> Packed:
        """Return slices as they are."""
        places = {device.name: index for index, one in enumerate(cuts) for device in one.devices}
        return cls(tuple(cuts), sources, places)


def packed(pool: Pool, layout: Layout, before: Packed | None = None) -> Packed:
    """Return the slices of a projected pool: those that it had, or new ones where it does not fit in them.

    Raises: CannotProject, as ``layout.cut``.
    """
    fresh = Packed.of(cut(pool, layout), pool.sources)
    if before is None or not is_worth_keeping(len(before.cuts), len(fresh.cuts)):
        return fresh
    again = _separate(pool, before) if layout is Layout.SEPARATE else _together(pool, before)
    return fresh if again is None else again


def _separate(pool: Pool, before: Packed) -> Packed | None:
    counters = [one for one in before.cuts if one.sources]
    if any(one.devices for one in counters):
        return None  # it was written in the other layout
    sets = _sets(pool, counters)
    places = _devices(pool, before, first=len(counters))
    if sets is None or places is None:
        return None
    devices = _contents(pool.devices, places, len(before.cuts))[len(counters) :]
    if any(_is_too_full(pool, one) for one in devices):
        return None
    names = (name for one in sets for name in one)
    sources = {name: _counters(pool.sources.get(name), before.sources.get(name)) for name in names}
    cuts = (*(Cut(one, ()) for one in sets), *(Cut((), one) for one in devices))
    return Packed(cuts, sources, {**before.places, **places})


def _together(pool: Pool, before: Packed) -> Packed | None:
    """Return the slices with the counter sets that their devices draw from."""
    if any(one.sources and not one.devices for one in before.cuts):
        return None
    places = _devices(pool, before, first=0)
    if places is None:
        return None
    contents = _contents(pool.devices, places, len(before.cuts))
    cuts = tuple(Cut(_drawn(one), one) for one in contents)
    if repeated_source(cuts) is not None or not all(fits_together(pool, one) for one in cuts):
        return None
    return Packed(cuts, pool.sources, {**before.places, **places})


def _sets(pool: Pool, counters: Sequence[Cut]) -> list[tuple[SourceName, ...]] | None:
    """Return the counter sets of each slice that has counters, None where a new one finds no room."""
    found = [list(one.sources) for one in counters]
    known = {name for names in found for name in names}
    for name in pool.sources:
        if name in known:
            continue
        for names in found:
            unused = next((one for one in names if one not in pool.sources), None)
            if len(names) == limits.COUNTER_SETS and unused is not None:
                names.remove(unused)
            if len(names) < limits.COUNTER_SETS:
                names.append(name)
                break
        else:
            return None
    return [tuple(names) for names in found]


def _counters(
    now: Mapping[str, Quantity] | None, before: Mapping[str, Quantity] | None
) -> Mapping[str, Quantity]:
    """Return the counters of a set with those that it had before, as far as there is room for them."""
    joined = {**(before or {}), **(now or {})}
    return joined if now is None or len(joined) <= limits.COUNTERS else now


def _devices(pool: Pool, before: Packed, first: int) -> dict[DeviceName, int] | None:
    """Return the slice of each device, None where they do not fit; slices before ``first`` have counters."""
    groups = [group for run in runs(pool.devices) for group in _apart(run)]
    places = {name: index - first for name, index in before.places.items() if index >= first}
    most = limits.DEVICES_WITH_COUNTERS if pool.sources else limits.DEVICES
    found = places_after(groups, places, len(before.cuts) - first, most)
    return None if found is None else {name: index + first for name, index in found.items()}


def _apart(run: Sequence[Device]) -> Iterator[tuple[DeviceName, ...]]:
    """Yield what has to stay together: devices of one source; those that draw nothing one by one."""
    names = tuple(device.name for device in run)
    yield from [names] if run[0].draws else [(name,) for name in names]


def _contents(
    devices: Iterable[Device], places: Mapping[DeviceName, int], slices: int
) -> list[tuple[Device, ...]]:
    contents: list[list[Device]] = [[] for _ in range(slices)]
    for device in devices:
        contents[places[device.name]].append(device)
    return [tuple(one) for one in contents]


def _is_too_full(pool: Pool, devices: Sequence[Device]) -> bool:
    is_short = bool(pool.sources) or any(device.taints for device in devices)
    return len(devices) > (limits.DEVICES_WITH_COUNTERS if is_short else limits.DEVICES)


def _drawn(devices: Iterable[Device]) -> tuple[SourceName, ...]:
    return tuple(dict.fromkeys(draw.source for device in devices for draw in device.draws))
