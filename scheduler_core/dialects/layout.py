"""How a v1 pool is divided into slices within the limits of the API server.

From Kubernetes 1.35 on, counter sets and devices are in different slices. Before, a device and its counter
sets are in the same slice. Devices keep their order, because the scheduler takes the first that fits.
Devices of one source stay in one slice where possible, so that a change touches few slices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import TypeVar

from scheduler_core.base import limits
from scheduler_core.base.errors import CannotProject
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.device import Device, SourceName
from scheduler_core.model.pool import Pool

_T = TypeVar("_T")
_COUNTERS_PER_OLD_SLICE = 1024  # v1 until 1.34: all counters of a slice, of sets and consumptions


class Layout(StrEnum):
    """Where counter sets are: in slices of their own, or in the slices of their devices."""

    SEPARATE = "separate"  # Kubernetes 1.35 and newer
    TOGETHER = "together"  # Kubernetes 1.34


@dataclass(frozen=True, slots=True)
class Cut:
    """The content of one slice."""

    sources: tuple[SourceName, ...]
    devices: tuple[Device, ...]


def cut(pool: Pool, layout: Layout) -> tuple[Cut, ...]:
    """Return the slices of a projected pool, at least one: an empty slice shows that the driver is running.

    Raises: CannotProject where devices that share counter sets do not fit in one slice of 1.34.
    """
    groups = tuple(runs(pool.devices))
    if layout is Layout.SEPARATE:
        counters = [Cut(tuple(part), ()) for part in _parts(tuple(pool.sources), limits.COUNTER_SETS)]
        devices = [Cut((), part) for part in _packed(groups, _device_limit(pool))]
        return tuple(counters + devices) or (Cut((), ()),)
    cuts = tuple(_together(pool, groups)) or (Cut((), ()),)
    if (source := repeated_source(cuts)) is not None:
        reason = f"counter set {source} is drawn from by devices of several slices of the old layout"
        raise CannotProject(str(pool.id), (reason,))
    return cuts


def crowded_sources(pool: Pool) -> frozenset[SourceName]:
    """Return the counter sets whose devices do not fit in one slice of 1.34, whatever else it has."""
    groups = (_join(Cut((), ()), group) for group in runs(pool.devices) if group[0].draws)
    return frozenset(source for one in groups if not fits_together(pool, one) for source in one.sources)


def repeated_source(cuts: Sequence[Cut]) -> SourceName | None:
    """Return a counter set that several slices need: each slice would count it separately."""
    seen: set[SourceName] = set()
    for one in cuts:
        for source in one.sources:
            if source in seen:
                return source
        seen.update(one.sources)
    return None


def _device_limit(pool: Pool) -> int:
    is_short = bool(pool.sources) or any(device.taints for device in pool.devices)
    return limits.DEVICES_WITH_COUNTERS if is_short else limits.DEVICES


def runs(devices: Iterable[Device]) -> Iterator[tuple[Device, ...]]:
    """Yield runs of devices that draw from the same source."""
    run: list[Device] = []
    for device in devices:
        if run and _first_source(run[-1]) != _first_source(device):
            yield tuple(run)
            run = []
        run.append(device)
    if run:
        yield tuple(run)


def _first_source(device: Device) -> SourceName | None:
    return device.draws[0].source if device.draws else None


def _packed(groups: Sequence[tuple[Device, ...]], most: int) -> Iterator[tuple[Device, ...]]:
    """Fill slices with whole groups. Only a group that is larger than a slice is split."""
    current: list[Device] = []
    for group in groups:
        if current and len(current) + len(group) > most:
            yield tuple(current)
            current = []
        for part in _parts(group, most):
            if len(current) + len(part) > most:
                yield tuple(current)
                current = []
            current.extend(part)
    if current:
        yield tuple(current)


def _parts(items: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _together(pool: Pool, groups: Sequence[tuple[Device, ...]]) -> Iterator[Cut]:
    current = Cut((), ())
    parts = (part for group in groups for part in ((group,) if group[0].draws else zip(group, strict=True)))
    for group in parts:  # devices that draw nothing need no company
        joined = _join(current, group)
        if current.devices and not fits_together(pool, joined):
            yield current
            joined = _join(Cut((), ()), group)
        if not fits_together(pool, joined):
            reason = f"{len(group)} devices that share counter sets do not fit in one slice of the old layout"
            raise CannotProject(str(pool.id), (f"{group[0].name} and the devices after it: {reason}",))
        current = joined
    if current.devices:
        yield current


def _join(left: Cut, group: tuple[Device, ...]) -> Cut:
    sources = dict.fromkeys(draw.source for device in group for draw in device.draws)
    return Cut(tuple(dict.fromkeys((*left.sources, *sources))), left.devices + group)


def fits_together(pool: Pool, content: Cut) -> bool:
    """Whether a slice of the old layout may have this content."""
    counters = sum(len(pool.sources[source]) for source in content.sources)
    counters += sum(len(draw.amounts) for device in content.devices for draw in device.draws)
    return (
        len(content.devices) <= _device_limit(pool)
        and len(content.sources) <= limits.COUNTER_SETS
        and counters <= _COUNTERS_PER_OLD_SLICE
    )
