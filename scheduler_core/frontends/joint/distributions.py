"""How many units to take from which PCIe scope: every way that differs, each once, with its units.

Units of one scope are alike but for their rank, and so are scopes that have as much to offer; what stands
nowhere stands alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scheduler_core.frontends.joint.node_device import Unit


@dataclass(frozen=True, slots=True)
class Place:
    """One PCIe scope. Shape: ``units`` usable, the first choice first; ``looks`` equal for places alike."""

    units: tuple[Unit, ...]
    looks: Hashable


def places(
    units: Sequence[Unit], everything: Sequence[Unit], beside: Mapping[Hashable, Hashable]
) -> list[Place]:
    """Return the scopes that have usable units, by their first one.

    Shape: ``everything`` are all units of the type; ``beside`` tells what else each scope has to offer.
    """
    by_scope: dict[Hashable, list[Unit]] = {}
    for unit in units:
        key = (unit.pcie, unit.numa) if unit.pcie is not None else (None, unit.numa, unit.number)
        by_scope.setdefault(key, []).append(unit)
    found = []
    for mine in by_scope.values():
        scope, numa = mine[0].pcie, mine[0].numa
        neighbours = sum(one.pcie == scope for one in everything) if scope is not None else 1
        looks = (
            len(mine),
            neighbours,
            numa,
            scope is None,
            beside.get(scope),
            _is_touched(mine[0], everything),
        )
        found.append(Place(tuple(mine), looks))
    return found


def layouts(among: Sequence[Place], count: int) -> Iterator[tuple[Unit, ...]]:
    """Yield every way to take ``count`` units, but for those that differ only by places that are alike."""
    yield from _layouts(among, count, 0, {}, ())


def _layouts(
    among: Sequence[Place], count: int, index: int, least: Mapping[Hashable, int], taken: tuple[Unit, ...]
) -> Iterator[tuple[Unit, ...]]:
    if count == 0:
        yield taken
        return
    if index == len(among) or sum(len(one.units) for one in among[index:]) < count:
        return
    place = among[index]
    # Of places that are alike the later one never gives more than the earlier one.
    most = min(count, len(place.units), least.get(place.looks, count))
    for number in range(most, -1, -1):
        rest = {**least, place.looks: number}
        yield from _layouts(among, count - number, index + 1, rest, (*taken, *place.units[:number]))


def _is_touched(unit: Unit, everything: Sequence[Unit]) -> bool:
    return any(one.is_touched and one.pcie == unit.pcie for one in everything if one.pcie is not None)
