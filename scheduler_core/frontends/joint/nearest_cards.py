"""Which cards go waves chosen GPUs: one per PCIe scope, taken in turn; else from their NUMA nodes; else any.

Cards from afar come only to reach the number that was asked for, never to fill up scopes without one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from scheduler_core.frontends.joint.demand import Wanted
from scheduler_core.frontends.joint.node_device import NodeDevice
from scheduler_core.rules.scopes import Scope


def in_turn(units: Sequence[NodeDevice], preferred: Collection[Scope]) -> list[list[NodeDevice]]:
    """Return the units of the preferred scopes in rounds: the first of each, then the second of each."""
    by_scope: dict[Scope, list[NodeDevice]] = {}
    for unit in units:
        if unit.pcie is not None and unit.pcie in preferred:
            by_scope.setdefault(unit.pcie, []).append(unit)
    longest = max(map(len, by_scope.values()), default=0)
    return [[mine[turn] for mine in by_scope.values() if turn < len(mine)] for turn in range(longest)]


def waves(
    wanted: Wanted, scopes: Collection[Scope], numas: Collection[Scope]
) -> Iterator[Sequence[NodeDevice]]:
    """Yield the units in waves, the closest wave first; within a wave in order of preference.

    Shape: every usable unit is in exactly one wave.
    """
    usable = wanted.usable
    rounds = in_turn(usable, scopes)
    yield from rounds
    close = {unit.number for turn in rounds for unit in turn}
    rest = [unit for unit in usable if unit.number not in close]
    yield [unit for unit in rest if unit.numa is not None and unit.numa in numas]
    yield [unit for unit in rest if unit.numa is None or unit.numa not in numas]


def nearest_cards(
    wanted: Wanted, first: Sequence[NodeDevice], *, is_same_pcie: bool
) -> list[NodeDevice] | None:
    """Return the cards that go with the chosen units, None where too few can.

    Shape: nothing is tried out on the books; what the cards cost each other is not seen here.
    """
    scopes = {
        unit.pcie: sum(one.pcie == unit.pcie for one in first) for unit in first if unit.pcie is not None
    }
    numas = {unit.numa for unit in first if unit.numa is not None}
    count = len(wanted.units) if wanted.count is None else wanted.count
    found: list[NodeDevice] = []
    for wave, units in enumerate(waves(wanted, scopes, numas)):
        # The scopes with most of the chosen units come first where not every scope can have a card.
        ranked = sorted(units, key=lambda unit: -scopes.get(unit.pcie or "", 0)) if wave == 0 else list(units)
        first_turn = wave == 0 and bool(units) and units[0].pcie in scopes
        room = len(units) if first_turn and wanted.may_grow else count - len(found)
        found += ranked[: max(0, room)]
    if len(found) < count:
        return None
    if is_same_pcie and ({unit.pcie for unit in found} != set(scopes) or not all(u.pcie for u in first)):
        return None
    return found
