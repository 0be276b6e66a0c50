"""The choice: a demand and the books to units, or to why there are none. Complete, and the best first.

Every layout of the first type is looked at, the best ones first; each with the cards that go beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scheduler_core.frontends.joint.closeness import Cost, compactness, depth, distance
from scheduler_core.frontends.joint.demand import JointDemand, Partitioned, Wanted
from scheduler_core.frontends.joint.distributions import distributions, scopes_with_devices
from scheduler_core.frontends.joint.nearest_cards import nearest_cards
from scheduler_core.frontends.joint.node_device import NodeDevice, TrialLedgers
from scheduler_core.frontends.partitions.choice import candidates
from scheduler_core.model.result import Cause

Chosen = Mapping[str, tuple[NodeDevice, ...]]
_Ranked = tuple[Cost, tuple[NodeDevice, ...], list[list[NodeDevice]]]


@dataclass(frozen=True, slots=True)
class JointRefusal:
    """Why a demand cannot be met, for the type of device that is in trouble."""

    kind: str
    cause: Cause
    detail: str


def choose(demand: JointDemand, books: TrialLedgers) -> Chosen | JointRefusal:
    """Return the units of every type, taken from the books; nothing is taken where it is refused."""
    wanted = [one for one in (demand.first, *demand.together, *demand.apart) if one is not None]
    lacking = short(demand)
    if lacking is not None:
        return lacking
    for first, cards in answers(demand):
        units = [*first, *(unit for mine in cards for unit in mine)]
        if not books.take(units):
            continue
        rest = _apart(demand.apart, books)
        if rest is not None:
            kinds = [one.kind for one in wanted]
            groups = [first, *cards, *rest] if demand.first is not None else rest
            return {kind: tuple(mine) for kind, mine in zip(kinds, groups, strict=True)}
        books.give_back(units)
    return refusal(demand)


def short(demand: JointDemand) -> JointRefusal | None:
    """Return the refusal where a type has too few units whatever is chosen of the others."""
    wanted = (one for one in (demand.first, *demand.together, *demand.apart) if one is not None)
    return next((found for one in wanted if (found := _short(one)) is not None), None)


def _short(wanted: Wanted) -> JointRefusal | None:
    usable = len(wanted.usable)
    needed = len(wanted.units) if wanted.count is None else wanted.count
    if not wanted.units:
        return JointRefusal(
            wanted.kind, Cause.NO_MATCHING_DEVICE, f"the node has no {wanted.kind} that is asked for"
        )
    if usable >= needed:
        return None
    cause = Cause.INSUFFICIENT if needed <= len(wanted.units) else Cause.NO_MATCHING_DEVICE
    reasons = "; ".join(f"{wanted.kind} {one.number}: {one.why}" for one in wanted.units if not one.takes)
    detail = f"{needed} wanted, {usable} of {len(wanted.units)} can be had"
    return JointRefusal(wanted.kind, cause, f"{detail}: {reasons}" if reasons else detail)


def answers(demand: JointDemand) -> Iterator[tuple[tuple[NodeDevice, ...], list[list[NodeDevice]]]]:
    """Yield what could be given, the best first."""
    if demand.first is None:
        yield (), []
        return
    if demand.partitioned is not None:
        for ranked in _partition_answers(demand, demand.first, demand.partitioned):
            yield from ((units, cards) for _, units, cards in ranked)
        if demand.partitioned.is_binding:
            return
    offers = _offers(demand.together)
    among = scopes_with_devices(_reachable(demand, demand.first), _everything(demand.first), offers)
    count = len(demand.first.units) if demand.first.count is None else demand.first.count
    ranked = [
        found
        for units in distributions(among, count)
        if depth(units) <= demand.first.deepest
        and (found := _ranked(demand, demand.first, units, ())) is not None
    ]
    ranked.sort(key=lambda one: one[0])
    yield from ((units, cards) for _, units, cards in ranked)


def _partition_answers(demand: JointDemand, first: Wanted, by: Partitioned) -> Iterator[list[_Ranked]]:
    """Yield the answers by score group; in one by what is left whole, then by closeness, then as listed."""
    if by.table is None or first.count is None:
        return
    usable = {one.number: one for one in first.usable}
    free = {one.number for one in _everything(first) if one.takes}
    for group in candidates(by.table, first.count, by.spec, usable.keys(), free):
        ranked = []
        for place, (left, partition) in enumerate(group):
            units = tuple(usable[minor] for minor in partition.minors)
            found = _ranked(demand, first, units, (-left, place))
            if found is not None and depth(units) <= first.deepest:
                ranked.append(found)
        yield sorted(ranked, key=lambda one: one[0])


def _ranked(
    demand: JointDemand, first: Wanted, units: tuple[NodeDevice, ...], partition: Cost
) -> _Ranked | None:
    """Return a set of units with the cards beside it and its cost, None where cards are missing."""
    cards = []
    for one in demand.together:
        mine = nearest_cards(one, units, is_same_pcie=demand.is_same_pcie)
        if mine is None:
            return None
        cards.append(mine)
    near = distance(units, cards)
    if partition:
        left, place = partition
        return (left, *near, place), units, cards
    ranks = tuple(number for one in sorted(units, key=lambda one: one.order) for number in one.order)
    return (*near, *compactness(units, _everything(first)), *ranks), units, cards


def _reachable(demand: JointDemand, first: Wanted) -> tuple[NodeDevice, ...]:
    """Return the units below whose switch every type that must be there has a card."""
    if not demand.is_same_pcie:
        return first.usable
    scopes = [{card.pcie for card in one.usable} for one in demand.together]
    return tuple(
        unit for unit in first.usable if unit.pcie is not None and all(unit.pcie in one for one in scopes)
    )


def _everything(wanted: Wanted) -> tuple[NodeDevice, ...]:
    return (*wanted.units, *wanted.others)


def _offers(together: Sequence[Wanted]) -> dict[object, object]:
    """Return what each PCIe scope has of the other types, for telling scopes that are alike."""
    found: dict[object, list[int]] = {}
    for index, wanted in enumerate(together):
        for unit in wanted.usable:
            found.setdefault(unit.pcie, [0] * len(together))[index] += 1
    return {scope: tuple(counts) for scope, counts in found.items()}


def _apart(apart: Sequence[Wanted], books: TrialLedgers) -> list[tuple[NodeDevice, ...]] | None:
    """Take the units of types that are placed on their own, in order; None where they are too few."""
    taken: list[tuple[NodeDevice, ...]] = []
    for wanted in apart:
        needed = len(wanted.units) if wanted.count is None else wanted.count
        mine: list[NodeDevice] = []
        for unit in wanted.usable:
            if len(mine) < needed and books.take([unit]):
                mine.append(unit)
        taken.append(tuple(mine))
        if len(mine) < needed:
            for units in taken:
                books.give_back(units)
            return None
    return taken


def refusal(demand: JointDemand) -> JointRefusal:
    """Return why nothing was found although every type has enough by itself."""
    assert demand.first is not None
    first = demand.first
    by = demand.partitioned
    if by is not None and by.is_binding:
        if by.table is None:
            return JointRefusal(first.kind, Cause.NO_MATCHING_DEVICE, "the node has no table of partitions")
        if first.count is None or not by.table.by_size.get(first.count):
            filled = (size for size, listed in by.table.by_size.items() if listed)
            sizes = ", ".join(map(str, sorted(filled))) or "none"
            detail = f"the table of partitions has no partition of {first.count}; it has {sizes}"
            return JointRefusal(first.kind, Cause.NO_MATCHING_DEVICE, detail)
        if not any(map(list, _partition_answers(_alone(demand), first, by))):
            return JointRefusal(
                first.kind, Cause.INSUFFICIENT, f"no partition of {first.count} is free that will do"
            )
    if demand.is_same_pcie and demand.together:
        kinds = " and ".join((first.kind, *(one.kind for one in demand.together)))
        detail = f"no choice puts {kinds} below the same PCIe switches"
        return JointRefusal(first.kind, Cause.CONSTRAINT_UNSATISFIED, detail)
    detail = f"no {first.count} of them stand as close together as required"
    return JointRefusal(first.kind, Cause.CONSTRAINT_UNSATISFIED, detail)


def _alone(demand: JointDemand) -> JointDemand:
    return JointDemand(first=demand.first, partitioned=demand.partitioned)
