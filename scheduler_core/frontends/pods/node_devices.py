"""The node devices of one type for a pod: which match, and which of them are free."""

from __future__ import annotations

from collections.abc import Hashable, Sequence, Set
from dataclasses import replace
from itertools import compress
from typing import Final

from scheduler_core.frontends.joint.demand import Linked
from scheduler_core.frontends.joint.node_device import NodeDevice
from scheduler_core.frontends.partitions.table import PartitionTable
from scheduler_core.frontends.pods.amounts import Amounts, Ask
from scheduler_core.frontends.pods.cards import Card, NodeCards
from scheduler_core.frontends.pods.hints import GPU, Exclusive, Hint
from scheduler_core.frontends.pods.linked_gpus import linked
from scheduler_core.frontends.pods.offered_devices import OfferedDevice
from scheduler_core.frontends.pods.scoring import Scoring, device_score
from scheduler_core.frontends.pods.wanted_device import WantedDevice, total_of
from scheduler_core.rules.scopes import Scope
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.places import admits, is_in_use

Sorted = tuple[tuple[NodeDevice, ...], tuple[NodeDevice, ...]]
"""The devices that match a hint's selector, and the others."""
_WISHES: Final = 64  # different wishes remembered per node; then they are forgotten


class NodeDevices:
    """The GPUs and cards of one node, as free as they are when ``of_kind`` is asked."""

    def __init__(self, cards: NodeCards, state: ClusterState, scoring: Scoring | None = None) -> None:
        self._cards = cards
        self._state = state
        self._scoring = scoring
        self._known: dict[Hashable, WantedDevice] = {}

    def numbers(self, kind: str) -> list[int]:
        """Return the minors of a type of device, as published."""
        return [card.number for card in self._cards.of_kind(kind)]

    @property
    def has_groups(self) -> bool:
        """Whether the node offers groups of GPUs as one device each."""
        return bool(self._cards.groups)

    def gpus(self) -> tuple[int, int]:
        """Return how many GPUs are free as a whole, alone or in a group, and how many there are."""
        cards = self._cards.of_kind(GPU)
        alone = {card.number for card in cards}
        groups = [(one.is_free, set(one.partition.minors) - alone) for one in self._cards.groups]
        grouped = set[int]().union(*(minors for _, minors in groups))
        free = set[int]().union(*(minors for is_free, minors in groups if is_free))
        return sum(map(_is_free, cards)) + len(free), len(cards) + len(grouped)

    def linked(self, singles: Sorted, hint: Hint) -> Linked | None:
        """Return the linked GPUs that a pod can get as one device, None where the node offers no such groups.

        Shape: ``singles`` as ``of_kind`` returns them for GPUs.
        """
        groups = self._cards.groups
        return linked(groups, singles, hint) if groups else None

    @property
    def table(self) -> PartitionTable | None:
        """Return the table of partitions that the node publishes, None if it publishes none."""
        return self._cards.table

    def of_kind(self, kind: str, ask: Ask, hint: Hint) -> Sorted:
        """Return the devices of a type that match the hint's selector, and the others."""
        cards = self._cards.of_kind(kind)
        found = self._found(cards, kind, ask, hint)
        if hint.selector is None:
            return tuple(found), ()
        matches = [hint.selector.admits(card.labels) for card in cards]
        others = (one for one, is_match in zip(found, matches, strict=True) if not is_match)
        return tuple(compress(found, matches)), tuple(others)

    def each(self, kind: str, ask: Ask, hint: Hint) -> tuple[tuple[Card, NodeDevice], ...]:
        """Return all devices of a type with what a pod could take of each, selected by its hint or not."""
        cards = self._cards.of_kind(kind)
        return tuple(zip(cards, self._found(cards, kind, ask, hint), strict=True))

    def _found(self, cards: Sequence[Card], kind: str, ask: Ask, hint: Hint) -> list[NodeDevice]:
        wanted = self._wanted(kind, ask, hint)
        found = [wanted.node_device(card) for card in cards]
        if self._scoring is not None:
            scoring = self._scoring
            found = [
                replace(one, score=self._score(scoring, card.lead, one.given))
                for card, one in zip(cards, found, strict=True)
            ]
        if hint.exclusive is not None:
            used = {one.pcie for one in found if one.is_touched}
            found = [_if_exclusive(one, hint.exclusive, used) for one in found]
        return found

    def _wanted(self, kind: str, ask: Ask, hint: Hint) -> WantedDevice:
        key = (kind, ask.is_shared, *ask.per_device.items(), hint.vf_selector)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _WISHES:
                self._known.clear()
            found = self._known[key] = WantedDevice(kind, ask, hint)
        return found

    def _score(self, scoring: Scoring, lead: OfferedDevice, given: Amounts) -> int:
        if not lead.is_shareable:
            return 0
        left = total = total_of(lead)
        for claim in self._state.holders(lead.id):
            for result in claim.results:
                if result.device == lead.id:
                    used = {name: amount.whole for name, amount in result.consumed.items()}
                    left = {name: amount - used.get(name, 0) for name, amount in left.items()}
        return device_score(scoring, given, total, left)


def _is_free(card: Card) -> bool:
    whole = card.whole
    if whole is None or card.refused:
        return False
    return not is_in_use(whole.place) if whole.is_shareable else admits(whole.place)


def _if_exclusive(node_device: NodeDevice, policy: Exclusive, used: Set[Scope | None]) -> NodeDevice:
    """Return the node device, as not free where the exclusive policy refuses it.

    Shape: ``used`` are the PCIe scopes of the type in which other pods use a device.
    """
    match policy:
        case Exclusive.DEVICE if node_device.is_touched:
            why = "it is used by others, which DeviceLevel does not allow"
        case Exclusive.PCIE if node_device.pcie is None:
            why = "its PCIe scope is unknown, which PCIeLevel needs"
        case Exclusive.PCIE if node_device.pcie in used:
            why = "it is in a PCIe scope that others use, which PCIeLevel does not allow"
        case _:
            return node_device
    return replace(node_device, is_free=False, takes=(), why=node_device.why or why)
