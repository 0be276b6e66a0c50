"""How many units to take from which PCIe scope: every way that differs, each once, with its units.

Units of one scope are alike but for their rank, and so are scopes that have as much to offer; what stands
nowhere stands alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scheduler_core.frontends.joint.node_device import NodeDevice


@dataclass(frozen=True, slots=True)
class ScopeDevices:
    """One PCIe scope. Shape: ``units`` usable, best first; ``looks`` is equal for interchangeable scopes."""

    units: tuple[NodeDevice, ...]
    looks: Hashable


def scopes_with_devices(
    units: Sequence[NodeDevice], everything: Sequence[NodeDevice], beside: Mapping[Hashable, Hashable]
) -> list[ScopeDevices]:
    """Return the scopes that have usable units, by their first one.

    Shape: ``everything`` are all units of the type; ``beside`` tells what else each scope has to offer.
    """
    by_scope: dict[Hashable, list[NodeDevice]] = {}
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
        found.append(ScopeDevices(tuple(mine), looks))
    return found


def distributions(among: Sequence[ScopeDevices], count: int) -> Iterator[tuple[NodeDevice, ...]]:
    """Yield every way to take ``count`` units, but for those that differ only by interchangeable scopes."""
    yield from _layouts(among, count, 0, {}, ())


def _layouts(
    among: Sequence[ScopeDevices],
    count: int,
    index: int,
    least: Mapping[Hashable, int],
    taken: tuple[NodeDevice, ...],
) -> Iterator[tuple[NodeDevice, ...]]:
    if count == 0:
        yield taken
        return
    if index == len(among) or sum(len(one.units) for one in among[index:]) < count:
        return
    place = among[index]
    # Of scopes_with_devices that are alike the later one never gives more than the earlier one.
    most = min(count, len(place.units), least.get(place.looks, count))
    for number in range(most, -1, -1):
        rest = {**least, place.looks: number}
        yield from _layouts(among, count - number, index + 1, rest, (*taken, *place.units[:number]))


def _is_touched(unit: NodeDevice, everything: Sequence[NodeDevice]) -> bool:
    return any(one.is_touched and one.pcie == unit.pcie for one in everything if one.pcie is not None)
