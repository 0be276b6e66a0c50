"""The node devices of one type for a pod: which match, which are free, and their place in the topology.

It works on every pool whose devices have the attributes ``type`` and ``minor`` and topology attributes: on
pools of this project's agent, and on those that ``reported`` makes of Koordinator's Device objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from scheduler_core.base.quantity import Quantity
from scheduler_core.books.ledger import Ledger
from scheduler_core.books.usage import Share
from scheduler_core.frontends.joint.node_device import NodeDevice, Take
from scheduler_core.frontends.pods.amounts import CARDS, MEMORY, Amounts, Ask, filled
from scheduler_core.frontends.pods.exclusive import DEVICE_TYPES, scopes_of
from scheduler_core.frontends.pods.hints import GPU, Exclusive, Hint
from scheduler_core.frontends.pods.reported import LABELS
from scheduler_core.frontends.pods.scoring import Scoring, device_score
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import AttributeValue, QualifiedName
from scheduler_core.model.names import bare, qualified
from scheduler_core.model.nodes import Node
from scheduler_core.model.obstacles import TaintNotTolerated
from scheduler_core.model.sentences import obstacle_text
from scheduler_core.model.taints import intolerable
from scheduler_core.rules.scopes import Reserved, Scope, reservation, reserved
from scheduler_core.search.candidates import Offer, offers
from scheduler_core.search.problem import books

NUMA_NODE = QualifiedName("resource.kubernetes.io/numaNode")
ADDRESS = QualifiedName("resource.kubernetes.io/pciBusID")


@dataclass(frozen=True, slots=True)
class CardOffers:
    """The offers of a GPU or card and its VFs. Shape: ``whole`` is None where only VFs are published."""

    whole: Offer | None
    vfs: tuple[Offer, ...] = ()


class NodeDevices:
    """The GPUs and cards of one node. Shape: ``cluster.pools`` as seen from the node."""

    def __init__(self, cluster: Cluster, node: Node, scoring: Scoring | None = None) -> None:
        self.ledgers = books(cluster.pools, cluster.allocated, cluster.features)
        self._taken = tuple(ledger.taken for ledger in self.ledgers)
        self._cluster = cluster
        self._scoring = scoring
        self._offers = offers(cluster.pools, node, cluster.features)
        self._reserved: Reserved = reserved(cluster.pools, cluster.allocated)
        self._has_switches = self._all_have_switches()

    def numbers(self, kind: str) -> list[int]:
        """Return the minors of a type of device, as published."""
        return [self._number(card, place) for place, card in enumerate(self._cards(kind))]

    def of_kind(
        self, kind: str, ask: Ask, hint: Hint
    ) -> tuple[tuple[NodeDevice, ...], tuple[NodeDevice, ...]]:
        """Return the devices of a type that match the hint's selector, and the others."""
        cards = self._cards(kind)
        found = [self._node_device(kind, card, place, ask, hint) for place, card in enumerate(cards)]
        used = {one.pcie for one in found if one.is_touched}
        matching: list[NodeDevice] = []
        others: list[NodeDevice] = []
        for card, node_device in zip(cards, found, strict=True):
            is_match = hint.selector is None or hint.selector.admits(_labels(card.whole or card.vfs[0]))
            (matching if is_match else others).append(_if_exclusive(node_device, hint, used))
        return tuple(matching), tuple(others)

    def _cards(self, kind: str) -> list[CardOffers]:
        types = DEVICE_TYPES.get(kind, (kind,))
        mine = [one for one in self._offers if _text(one, "type") in types]
        mine = [one for one in mine if kind == GPU or _own(one, "rdmaCapable") is not False]
        if len(types) == 1:
            return [CardOffers(one) for one in mine]
        by_card: dict[tuple[int, object], list[Offer]] = {}
        for one in mine:
            key = _own(one, "pfPciAddress")
            by_card.setdefault((one.pool, key if key is not None else one.device.name), []).append(one)
        return [_card(devices) for devices in by_card.values()]

    def _node_device(self, kind: str, card: CardOffers, place: int, ask: Ask, hint: Hint) -> NodeDevice:
        lead = card.whole or card.vfs[0]
        found = self._takes(kind, card, ask, hint)
        why = self._refused(card) or (found if isinstance(found, str) else "")
        given = self._given(lead, ask)
        return NodeDevice(
            kind=kind,
            number=self._number(card, place),
            pcie=self._scope(lead),
            numa=_single(lead.device.attributes.get(NUMA_NODE)),
            is_touched=self._is_touched(card),
            takes=() if why or isinstance(found, str) else found,
            why=why,
            score=self._score(lead, given),
            given=given,
        )

    def _takes(self, kind: str, card: CardOffers, ask: Ask, hint: Hint) -> tuple[Take, ...] | str:
        """Return what a node device takes, or why it is not free."""
        lead = card.whole or card.vfs[0]
        if lead.device.is_shareable:
            users = self._taken[lead.pool].get(lead.device.name)
            if kind == GPU and not ask.is_shared and users is not None:
                return f"it is used in part by {users}"
            share = self._share(lead, ask)
            if not isinstance(share, str) and hint.vf_selector is not None:
                vf = self._free_vf(card, hint)
                return (Take(lead.pool, lead.device.name, share), vf) if vf else self._no_vf(card)
            return share if isinstance(share, str) else (Take(lead.pool, lead.device.name, share),)
        if kind == GPU and ask.is_shared:
            return "it can only be allocated whole"
        wants_vf = hint.vf_selector is not None or (
            kind in CARDS and bool(card.vfs) and ask.per_device[CARDS[kind]] < 100
        )
        if wants_vf:
            vf = self._free_vf(card, hint)
            return (vf,) if vf else self._no_vf(card)
        if any(amount > 100 for name, amount in ask.per_device.items() if name != MEMORY):
            return "it has less than is requested of each device"
        if card.whole is None:
            return "only its VFs are published"
        whole = Take(lead.pool, lead.device.name)
        return self._obstacle(lead) or (whole,)

    def _share(self, offer: Offer, ask: Ask) -> Share | str:
        """Return the share of a device, or why it cannot be taken."""
        given = self._given(offer, ask)
        share = {QualifiedName(name): Quantity.of(amount) for name, amount in given.items()}
        if not share:
            return "it has none of the requested amounts"
        lacking = [name for name, amount in share.items() if amount > offer.device.capacity[name]]
        if lacking:
            return f"it has less {lacking[0]} than is requested of each device"
        return self._obstacle(offer, share) or share

    def _given(self, offer: Offer, ask: Ask) -> Amounts:
        """Return the requested amounts that a device has, with its memory in bytes and in percent."""
        total = _total(offer)
        named = {name: amount for name, amount in ask.per_device.items() if name in total}
        if not named or not total.get(MEMORY):
            return named
        full = filled(named, total)
        return {name: amount for name, amount in full.items() if name in total}

    def _free_vf(self, card: CardOffers, hint: Hint) -> Take | None:
        """Return the first free VF that matches, by address."""
        by_address = sorted(
            card.vfs, key=lambda one: str(one.device.attributes.get(ADDRESS, one.device.name))
        )
        for vf in by_address:
            matches = hint.vf_selector is None or hint.vf_selector.admits(_labels(vf))
            if matches and self._ledger(vf).admits(vf.device.name) and not intolerable(vf.device.taints, ()):
                return Take(vf.pool, vf.device.name)
        return None

    def _no_vf(self, card: CardOffers) -> str:
        """Return that a card has no VF to give, with the obstacle of the first one."""
        first = card.vfs[0] if card.vfs else None
        reason = self._obstacle(first, of=str(first.device.name)) if first is not None else None
        return "it has no free VF that matches" + (f": {reason}" if reason else "")

    def _refused(self, card: CardOffers) -> str | None:
        for one in (card.whole, *card.vfs[:1]):
            if one is None:
                continue
            taint = intolerable(one.device.taints, ())
            if taint is not None:
                return obstacle_text(TaintNotTolerated(taint))
            found = reservation(one.device, self._reserved)
            if found is not None:
                return obstacle_text(found)
        return None

    def _is_touched(self, card: CardOffers) -> bool:
        devices = [one for one in (card.whole, *card.vfs) if one is not None]
        if any(one.device.name in self._taken[one.pool] for one in devices):
            return True
        whole = card.whole
        return whole is not None and not whole.device.is_shareable and not self._admits(whole)

    def _obstacle(self, offer: Offer, share: Share | None = None, of: str = "it") -> str | None:
        """Return why a device, or a share of it, cannot be taken now, as a sentence; None where it can."""
        found = self._ledger(offer).obstacle(offer.device.name, share)
        return None if found is None else obstacle_text(found, of)

    def _admits(self, offer: Offer) -> bool:
        return self._ledger(offer).admits(offer.device.name)

    def _score(self, lead: Offer, given: Amounts) -> int:
        if self._scoring is None or not lead.device.is_shareable:
            return 0
        total = _total(lead)
        pool = self._cluster.pools[lead.pool]
        used: dict[str, int] = {}
        for claim in self._cluster.allocated:
            for result in claim.results:
                if result.device == pool.id_of(lead.device):
                    for name, amount in result.consumed.items():
                        used[name] = used.get(name, 0) + amount.whole
        left = {name: amount - used.get(name, 0) for name, amount in total.items()}
        return device_score(self._scoring, given, total, left)

    def _scope(self, lead: Offer) -> Scope | None:
        switch, root = scopes_of(lead.view.driver)
        return lead.device.attributes.get(switch if self._has_switches else root)

    def _all_have_switches(self) -> bool:
        """Whether every GPU and card of the node has a switch attribute; otherwise none is compared by it."""
        types = {one for several in DEVICE_TYPES.values() for one in several}
        mine = (one for one in self._offers if _text(one, "type") in types)
        return all(scopes_of(one.view.driver)[0] in one.device.attributes for one in mine)

    def _number(self, card: CardOffers, place: int) -> int:
        minor = _own(card.whole or card.vfs[0], "minor")
        return minor if isinstance(minor, int) else place

    def _ledger(self, offer: Offer) -> Ledger:
        return self.ledgers[offer.pool]


def _if_exclusive(node_device: NodeDevice, hint: Hint, used: Set[Scope | None]) -> NodeDevice:
    """Return the node device, as not free where the exclusive policy refuses it.

    Shape: ``used`` are the PCIe scopes of the type in which other pods use a device.
    """
    match hint.exclusive:
        case Exclusive.DEVICE if node_device.is_touched:
            why = "it is used by others, which DeviceLevel does not allow"
        case Exclusive.PCIE if node_device.pcie is None:
            why = "its PCIe scope is unknown, which PCIeLevel needs"
        case Exclusive.PCIE if node_device.pcie in used:
            why = "it is in a PCIe scope that others use, which PCIeLevel does not allow"
        case _:
            return node_device
    return replace(node_device, takes=(), why=node_device.why or why)


def _card(devices: Sequence[Offer]) -> CardOffers:
    whole = next((one for one in devices if _text(one, "type") != "vf"), None)
    return CardOffers(whole, tuple(one for one in devices if one is not whole))


def _total(offer: Offer) -> dict[str, int]:
    """Return the total of a device by resource name."""
    return {name: amount.whole for name, amount in offer.device.capacity.items()}


def _labels(offer: Offer) -> Mapping[str, str]:
    """Return the labels for label selectors: a device's labels, or its attributes under both names."""
    attributes = offer.device.attributes
    own = {
        name.removeprefix(LABELS): str(value) for name, value in attributes.items() if name.startswith(LABELS)
    }
    if offer.device.is_shareable or own:
        return own
    found = {str(name): _written(value) for name, value in attributes.items()}
    return found | {bare(name, offer.view.driver): value for name, value in found.items()}


def _written(value: AttributeValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _own(offer: Offer, key: str) -> AttributeValue | None:
    return offer.device.attributes.get(qualified(key, offer.view.driver))


def _text(offer: Offer, key: str) -> str:
    return str(_own(offer, key))


def _single(value: AttributeValue | None) -> Scope | None:
    """Return one NUMA node: the first one of a list."""
    return value[0] if isinstance(value, tuple) else value
