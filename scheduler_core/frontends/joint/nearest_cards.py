"""Chooses the cards for chosen GPUs: one per PCIe scope in turn, then from their NUMA nodes, then any.

Cards of other scopes are taken only to reach the number that was asked for. Of the cards of one scope those
come first that share the most switches with a chosen GPU that has no card yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from scheduler_core.frontends.joint.closeness import has_levels, shared_switches
from scheduler_core.frontends.joint.demand import Wanted
from scheduler_core.frontends.joint.node_device import NodeDevice
from scheduler_core.rules.scopes import Scope


def in_turn(devices: Sequence[NodeDevice], preferred: Collection[Scope]) -> list[list[NodeDevice]]:
    """Return the devices of the preferred scopes in rounds: the first of each, then the second of each."""
    by_scope: dict[Scope, list[NodeDevice]] = {}
    for device in devices:
        if device.pcie is not None and device.pcie in preferred:
            by_scope.setdefault(device.pcie, []).append(device)
    longest = max(map(len, by_scope.values()), default=0)
    return [[mine[turn] for mine in by_scope.values() if turn < len(mine)] for turn in range(longest)]


def by_closeness(
    wanted: Wanted, first: Sequence[NodeDevice], scopes: Collection[Scope], numas: Collection[Scope]
) -> Iterator[Sequence[NodeDevice]]:
    """Yield the free devices in groups, the closest group first; within a group in order of preference.

    Shape: every free device is in exactly one group.
    """
    usable = wanted.usable
    rounds = in_turn(_nearest_first(usable, first) if has_levels(first) else usable, scopes)
    yield from rounds
    close = {device.number for turn in rounds for device in turn}
    rest = [device for device in usable if device.number not in close]
    yield [device for device in rest if device.numa is not None and device.numa in numas]
    yield [device for device in rest if device.numa is None or device.numa not in numas]


def _nearest_first(cards: Sequence[NodeDevice], first: Sequence[NodeDevice]) -> list[NodeDevice]:
    left, found, without = list(cards), list[NodeDevice](), list(first)
    while left:
        pairs = ((card, device) for card in left for device in without or first)
        card, device = max(pairs, key=lambda pair: shared_switches(*pair))
        found.append(card)
        left.remove(card)
        if device in without:
            without.remove(device)
    return found


def nearest_cards(
    wanted: Wanted, first: Sequence[NodeDevice], *, is_same_pcie: bool
) -> list[NodeDevice] | None:
    """Return the cards for the chosen devices, None where there are too few.

    The ledgers are not asked here: whether the cards can be taken together is checked later.
    """
    scopes = Counter([device.pcie for device in first if device.pcie is not None])
    numas = {device.numa for device in first if device.numa is not None}
    count = len(wanted.devices) if wanted.count is None else wanted.count
    found: list[NodeDevice] = []
    for number, devices in enumerate(by_closeness(wanted, first, scopes, numas)):
        # Where not every scope gets a card, those with most of the chosen devices come first.
        ranked = list(devices)
        if number == 0:
            ranked.sort(key=lambda device: -scopes[device.pcie or ""])
        is_first_round = number == 0 and bool(devices) and devices[0].pcie in scopes
        most = len(devices) if is_first_round and wanted.may_grow else count - len(found)
        found += ranked[: max(0, most)]
        if len(found) >= count:
            break
    if len(found) < count:
        return None
    if is_same_pcie and ({device.pcie for device in found} != set(scopes) or not all(u.pcie for u in first)):
        return None
    return found
