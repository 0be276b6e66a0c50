"""The combined counter set: counters of several sources in one set, for devices with many sources.

v1 allows two counter sets per device. A dimension of a source may move to another counter set without any
change of meaning, if every device that draws it draws it from there, and so does the source itself when it is
allocated whole. Takes a pool; returns the dimensions that have to move.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from scheduler_core.base import limits
from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.device import Device, DeviceName, Draw, SourceName
from scheduler_core.model.pool import Pool

COMBINED: Final = SourceName("combined")
"""The name under which the set is published."""


@dataclass(frozen=True, slots=True)
class CombinedCounters:
    """The dimensions that move. Shape: ``source_of`` has the source of each, ``amounts`` its total."""

    source_of: Mapping[str, SourceName] = field(default_factory=dict)
    amounts: Mapping[str, Quantity] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def remaining(self, draws: Sequence[Draw]) -> tuple[Draw, ...]:
        """Return what these draws still take from the sources themselves."""
        if not self.source_of:
            return tuple(draws)
        rest = (replace(draw, amounts=dict(self._amounts(draw, moved=False))) for draw in draws)
        return tuple(draw for draw in rest if draw.amounts or draw.groups is not None)

    def drawn_by(self, device: Device) -> Mapping[str, Quantity]:
        """Return what a device draws from the combined set; a source draws all that it has there."""
        drawn = {name: amount for draw in device.draws for name, amount in self._amounts(draw, moved=True)}
        own = (name for name, source in self.source_of.items() if source == SourceName(device.name))
        return drawn | {name: self.amounts[name] for name in own}

    def sets_of(self, device: Device) -> int:
        """Return how many counter sets a device draws from, if it is no source itself."""
        return len(self.remaining(device.draws)) + bool(self.drawn_by(device))

    def _amounts(self, draw: Draw, *, moved: bool) -> Iterator[tuple[str, Quantity]]:
        for name, amount in draw.amounts.items():
            if (self.source_of.get(name) == draw.source) == moved:
                yield name, amount


def combined_counters_of(pool: Pool) -> CombinedCounters:
    """Return the dimensions that have to move. Shape: empty where no device has too many sources for v1."""
    wide = [one for one in pool.devices if len(one.draws) > limits.COUNTER_SETS_PER_DEVICE]
    sources: dict[str, SourceName] = {}
    problems: dict[str, None] = {}
    for device in wide:
        for draw in device.draws:
            for name in draw.amounts:
                if sources.setdefault(name, draw.source) != draw.source:
                    problems[_ambiguous(device.name, name)] = None
    if not sources:
        return CombinedCounters()
    if any(SourceName(device.name) == COMBINED for device in pool.devices):
        problems[f"device {COMBINED} has the name of the counter set that {wide[0].name} needs"] = None
    if len(sources) > limits.COUNTERS:
        rule = f"v1 allows {limits.COUNTERS} counters in one set"
        problems[f"devices with many sources draw {len(sources)} dimensions; {rule}"] = None
    amounts = {name: pool.sources[source][name] for name, source in sources.items()}
    return CombinedCounters(sources, amounts, tuple(problems))


def _ambiguous(device: DeviceName, dimension: str) -> str:
    what = f"draws {dimension} from several of its sources"
    rule = "v1 allows 2 counter sets, and a set cannot have two counters of one name"
    return f"{device} {what}; {rule}"
