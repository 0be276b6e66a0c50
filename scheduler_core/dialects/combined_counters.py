"""The board: one counter set for what devices with more sources than v1 allows draw from them.

Moving a dimension of a source into another counter set changes nothing as long as everybody who draws it
moves along, and the source itself when it is given whole. A pool goes in, what moves comes out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from scheduler_core.base import limits
from scheduler_core.base.quantity import Quantity
from scheduler_core.model.device import Device, DeviceName, Draw, SourceName
from scheduler_core.model.pool import Pool

COMBINED: Final = SourceName("board")


@dataclass(frozen=True, slots=True)
class CombinedCounters:
    """What moves. Shape: ``source_of`` the source of each dimension; ``amounts`` what there is of it."""

    source_of: Mapping[str, SourceName] = field(default_factory=dict)
    amounts: Mapping[str, Quantity] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def kept(self, draws: Sequence[Draw]) -> tuple[Draw, ...]:
        """Return what is still drawn from the sources themselves."""
        if not self.source_of:
            return tuple(draws)
        rest = (replace(draw, amounts=dict(self._amounts(draw, moved=False))) for draw in draws)
        return tuple(draw for draw in rest if draw.amounts or draw.groups is not None)

    def drawn_by(self, device: Device) -> Mapping[str, Quantity]:
        """Return what a device draws from the board: a source, when it is given whole, all of its own."""
        drawn = {name: amount for draw in device.draws for name, amount in self._amounts(draw, moved=True)}
        own = (name for name, source in self.source_of.items() if source == SourceName(device.name))
        return drawn | {name: self.amounts[name] for name in own}

    def sets_of(self, device: Device) -> int:
        """Return from how many counter sets a device that is no source draws."""
        return len(self.kept(device.draws)) + bool(self.drawn_by(device))

    def _amounts(self, draw: Draw, *, moved: bool) -> Iterator[tuple[str, Quantity]]:
        for name, amount in draw.amounts.items():
            if (self.source_of.get(name) == draw.source) == moved:
                yield name, amount


def combined_counters_of(pool: Pool) -> CombinedCounters:
    """Return what has to move. Shape: empty where every device keeps within v1's limit of sources."""
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
        problems[f"a device is called {COMBINED}, as the counter set that {wide[0].name} needs"] = None
    if len(sources) > limits.COUNTERS:
        rule = f"v1 allows {limits.COUNTERS} counters in one set"
        problems[f"devices with many sources draw {len(sources)} dimensions; {rule}"] = None
    amounts = {name: pool.sources[source][name] for name, source in sources.items()}
    return CombinedCounters(sources, amounts, tuple(problems))


def _ambiguous(device: DeviceName, dimension: str) -> str:
    what = f"draws {dimension} from several of its sources"
    return f"{device} {what}; v1 allows 2 counter sets, and one for all needs names that differ"
