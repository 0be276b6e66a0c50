"""Chooses the node devices for a demand, or says why there are none. All choices are tried, the best first.

Every distribution of the first type over PCIe scopes is ranked together with the cards nearest to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from scheduler_core.base.effort import Effort
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.books.usage import Share
from scheduler_core.frontends.joint.closeness import Cost, compactness, depth, distance, levels
from scheduler_core.frontends.joint.demand import JointDemand, Partitioned, Wanted
from scheduler_core.frontends.joint.distributions import distributions, scopes_with_devices
from scheduler_core.frontends.joint.nearest_cards import nearest_cards
from scheduler_core.frontends.joint.node_device import NodeDevice
from scheduler_core.frontends.partitions.choice import candidates, why_too_slow
from scheduler_core.model.result import Cause
from scheduler_core.state.places import Place, Trial

Chosen = Mapping[str, tuple[NodeDevice, ...]]
_Ranked = tuple[Cost, tuple[NodeDevice, ...], list[list[NodeDevice]]]


@dataclass(frozen=True, slots=True)
class JointRefusal:
    """Why a demand cannot be met.

    Shape: ``kind`` is the type of device that is missing; ``has_reasons`` where the detail says of single
           devices why they are not free.
    """

    kind: str
    cause: Cause
    detail: str
    has_reasons: bool = False


def choose(demand: JointDemand, trial: Trial, effort: Effort) -> Chosen | JointRefusal:
    """Return the devices of every type, and take them; take nothing where the demand is refused.

    Raises: EffortExceeded.
    """
    wanted = [one for one in (demand.first, *demand.together, *demand.apart) if one is not None]
    lacking = short(demand)
    if lacking is not None:
        return lacking
    for first, cards in answers(demand, effort):
        devices = [*first, *(device for mine in cards for device in mine)]
        if not trial.take(_takes(devices)):
            continue
        rest = _apart(demand.apart, trial)
        if rest is not None:
            kinds = [one.kind for one in wanted]
            groups = [first, *cards, *rest] if demand.first is not None else rest
            return {kind: tuple(mine) for kind, mine in zip(kinds, groups, strict=True)}
        trial.give_back(_takes(devices))
    return refusal(demand)


def _takes(devices: Iterable[NodeDevice]) -> list[tuple[Place, Share | None]]:
    """Return what some devices take, place by place."""
    return [(one.place, one.share) for device in devices for one in device.takes]


def short(demand: JointDemand) -> JointRefusal | None:
    """Return the refusal where a type has too few devices, whatever is chosen of the other types."""
    first, by = demand.first, demand.partitioned
    if first is not None and by is not None and by.may_serve(first.count):
        first = None
    wanted = (one for one in (first, *demand.together, *demand.apart) if one is not None)
    return next((found for one in wanted if (found := _short(one)) is not None), None)


def _short(wanted: Wanted) -> JointRefusal | None:
    usable = len(wanted.usable)
    needed = len(wanted.devices) if wanted.count is None else wanted.count
    if not wanted.devices:
        return JointRefusal(wanted.kind, Cause.NO_MATCHING_DEVICE, f"the node has no matching {wanted.kind}")
    if usable >= needed:
        return None
    cause = Cause.INSUFFICIENT if needed <= len(wanted.devices) else Cause.NO_MATCHING_DEVICE
    reasons = "; ".join(f"{wanted.kind} {one.number}: {one.why}" for one in wanted.devices if not one.is_free)
    detail = f"{needed} needed, {usable} of {len(wanted.devices)} free"
    return JointRefusal(wanted.kind, cause, f"{detail}: {reasons}" if reasons else detail, bool(reasons))


def answers(
    demand: JointDemand, effort: Effort
) -> Iterator[tuple[tuple[NodeDevice, ...], list[list[NodeDevice]]]]:
    """Yield the possible choices, the best first: the first type, and the cards of each other type.

    Every way to spread the devices over scopes that is looked at counts a step.
    Raises: EffortExceeded.
    """
    if demand.first is None:
        yield (), []
        return
    if demand.partitioned is not None:
        for ranked in _partition_answers(demand, demand.first, demand.partitioned):
            yield from ((devices, cards) for _, devices, cards in ranked)
        if demand.partitioned.is_binding:
            return
    cards = [one.usable for one in demand.together]
    among = scopes_with_devices(_reachable(demand, demand.first), demand.first.everything, cards)
    count = len(demand.first.devices) if demand.first.count is None else demand.first.count
    ranked = [
        found
        for devices in _counted(distributions(among, count), effort)
        if depth(devices) <= demand.first.deepest
        and (found := _ranked(demand, demand.first, devices, ())) is not None
    ]
    ranked.sort(key=lambda one: one[0])
    yield from ((devices, cards) for _, devices, cards in ranked)


def _counted(found: Iterable[tuple[NodeDevice, ...]], effort: Effort) -> Iterator[tuple[NodeDevice, ...]]:
    for one in found:
        effort.step()
        yield one


def _partition_answers(demand: JointDemand, first: Wanted, by: Partitioned) -> Iterator[list[_Ranked]]:
    """Yield the choices by score group; within a group by value left, then closeness, then listed order."""
    if by.table is None or first.count is None:
        return
    usable = {one.number: one for one in first.usable}
    free = {one.number for one in first.everything if one.is_free}
    grouped = by.linked.minors if by.linked is not None else frozenset[int]()
    for group in candidates(by.table, first.count, by.spec, usable.keys() | grouped, free | grouped):
        ranked = []
        for place, (left, partition) in enumerate(group):
            devices = by.members(partition.minors, usable)
            if not devices:
                continue
            found = _ranked(demand, first, devices, (-left, place))
            if found is not None and depth(devices) <= first.deepest:
                ranked.append(found)
        yield sorted(ranked, key=lambda one: one[0])


def _ranked(
    demand: JointDemand, first: Wanted, devices: tuple[NodeDevice, ...], partition: Cost
) -> _Ranked | None:
    """Return a choice of the first type with its nearest cards and its cost; None where cards are missing."""
    cards = []
    for one in demand.together:
        mine = nearest_cards(one, devices, is_same_pcie=demand.is_same_pcie)
        if mine is None:
            return None
        cards.append(mine)
    near = distance(devices, cards)
    if partition:
        left, place = partition
        return (left, *near, *levels(devices, cards), place), devices, cards
    ranks = tuple(number for one in sorted(devices, key=lambda one: one.order) for number in one.order)
    return (*near, *compactness(devices, cards, first.used), *ranks), devices, cards


def _reachable(demand: JointDemand, first: Wanted) -> tuple[NodeDevice, ...]:
    """Return the devices of the first type whose PCIe scope has a card of every type that must share it."""
    if not demand.is_same_pcie:
        return first.usable
    scopes = [{card.pcie for card in one.usable} for one in demand.together]
    return tuple(
        device
        for device in first.usable
        if device.pcie is not None and all(device.pcie in one for one in scopes)
    )


def _apart(apart: Sequence[Wanted], trial: Trial) -> list[tuple[NodeDevice, ...]] | None:
    """Take the devices of types that are placed separately, in order; None where there are too few."""
    taken: list[tuple[NodeDevice, ...]] = []
    for wanted in apart:
        needed = len(wanted.devices) if wanted.count is None else wanted.count
        mine: list[NodeDevice] = []
        for device in wanted.usable:
            if len(mine) < needed and trial.take(_takes([device])):
                mine.append(device)
        taken.append(tuple(mine))
        if len(mine) < needed:
            for devices in taken:
                trial.give_back(_takes(devices))
            return None
    return taken


def refusal(demand: JointDemand) -> JointRefusal:
    """Return why no choice exists although every type has enough devices by itself."""
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
        too_slow = why_too_slow(by.table, first.count, by.spec)
        if too_slow is not None:
            return JointRefusal(first.kind, Cause.NO_MATCHING_DEVICE, too_slow)
        if not _has_partition(demand, first, by):
            return JointRefusal(first.kind, Cause.INSUFFICIENT, _why_none_is_free(demand, first, by))
    if demand.is_same_pcie and demand.together:
        wanted = (first, *demand.together)
        detail = f"no choice has {' and '.join(one.kind for one in wanted)} below the same {_scopes(wanted)}"
        return JointRefusal(first.kind, Cause.CONSTRAINT_UNSATISFIED, detail)
    detail = f"no {first.count} {first.kind} devices share the required topology scope"
    return JointRefusal(first.kind, Cause.CONSTRAINT_UNSATISFIED, detail)


def _scopes(wanted: Sequence[Wanted]) -> str:
    """Return what the PCIe scopes of devices are, in words."""
    every = [device for one in wanted for device in one.devices]
    unknown = next((one for one in every if one.pcie is None), None)
    if unknown is not None:
        return (
            f"PCIe switches: the switch and the root complex of {unknown.kind} {unknown.number} are unknown"
        )
    if all(one.pcie in one.switches for one in every):
        return "PCIe switches"
    return "PCIe root complexes, which count where some device is not below a switch"


def _has_partition(demand: JointDemand, first: Wanted, by: Partitioned) -> bool:
    """Whether some partition can be had, without the types that must be close to it."""
    alone = JointDemand(first=demand.first, partitioned=by)
    return any(map(list, _partition_answers(alone, first, by)))


def _why_none_is_free(demand: JointDemand, first: Wanted, by: Partitioned) -> str:
    """Return why no partition is free, by trying which demand of the pod keeps it from a free one."""
    size, spec = first.count, by.spec
    if spec.is_restricted and _has_partition(
        demand, first, replace(by, spec=replace(spec, is_restricted=False))
    ):
        why = "allocatePolicy Restricted demands the highest score, and only partitions with a lower one are"
        return f"no suitable partition of {size} is free: {why}"
    if spec.bandwidth is not None and _has_partition(
        demand, first, replace(by, spec=replace(spec, bandwidth=None))
    ):
        why = f"a ringBusBandwidth of {spec.bandwidth} is demanded, and those that are free have less"
        return f"no suitable partition of {size} is free: {why} or state none"
    return f"no suitable partition of {size} is free"
