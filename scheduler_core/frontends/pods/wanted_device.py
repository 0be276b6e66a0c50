"""What a pod wants of each GPU or card of a type: which pool devices it would take, or why it cannot."""

from __future__ import annotations

from scheduler_core.base.quantity import Quantity
from scheduler_core.books.usage import Share
from scheduler_core.frontends.joint.node_device import NodeDevice, Take
from scheduler_core.frontends.pods.amounts import CARDS, MEMORY, Amounts, Ask, filled
from scheduler_core.frontends.pods.cards import Card, labels
from scheduler_core.frontends.pods.exclusive import GPU_PART
from scheduler_core.frontends.pods.gpu_parts import given_of, part_of
from scheduler_core.frontends.pods.hints import GPU, Hint
from scheduler_core.frontends.pods.offered_devices import OfferedDevice
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.sentences import obstacle_text
from scheduler_core.model.taints import intolerable
from scheduler_core.state.places import LedgerPlace, admits, is_in_use


class WantedDevice:
    """What pods with equal wishes want of each device of a type, for the cards of one node.

    What does not depend on the devices in use is worked out once per card, or once per capacity.
    """

    def __init__(self, kind: str, ask: Ask, hint: Hint) -> None:
        self.kind = kind
        self._ask = ask
        self._hint = hint
        self._given: dict[int, Amounts] = {}
        self._shares: dict[int, Share | str] = {}
        self._alone: dict[Card, tuple[Take]] = {}
        self._parts: dict[Card, Share | str] = {}
        self._known: dict[tuple[Card, str | None, bool], NodeDevice] = {}

    def node_device(self, card: Card) -> NodeDevice:
        """Return a card as a node device, as free as it is now."""
        found, is_touched = card.refused or self.takes(card), _is_touched(card)
        if not isinstance(found, str) and found is not self._alone.get(card):
            return self._new(card, found, is_touched=is_touched)
        key = (card, found if isinstance(found, str) else None, is_touched)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._new(card, found, is_touched=is_touched)
        return known

    def _new(self, card: Card, found: tuple[Take, ...] | str, *, is_touched: bool) -> NodeDevice:
        return NodeDevice(
            kind=self.kind,
            number=card.number,
            pcie=card.pcie,
            switches=card.switches,
            numa=card.numa,
            is_touched=is_touched,
            is_free=not isinstance(found, str),
            takes=() if isinstance(found, str) else found,
            why=found if isinstance(found, str) else "",
            # Of GPUs in shares those that others use already are filled first.
            score=int(is_touched and self._asks_part(card)),
            given=self._given_in(card),
        )

    def _asks_part(self, card: Card) -> bool:
        return self._ask.is_shared and card.part is not None

    def _given_in(self, card: Card) -> Amounts:
        share = self._parts.get(card)
        if share is None or isinstance(share, str):
            return self.given(card.lead)
        return given_of(card, share, self._ask.per_device)

    def _only(self, card: Card, share: Share | None = None) -> tuple[Take]:
        """Return the take of the card itself and nothing else."""
        found = self._alone.get(card)
        if found is None:
            found = self._alone[card] = (Take(card.lead.id, card.lead.place, share, card.type),)
        return found

    def given(self, device: OfferedDevice) -> Amounts:
        """Return the requested amounts that a device has, with its memory in bytes and in percent."""
        found = self._given.get(id(device.capacity))
        if found is None:
            found = self._given[id(device.capacity)] = self._given_of(total_of(device))
        return found

    def _given_of(self, total: Amounts) -> Amounts:
        named = {name: amount for name, amount in self._ask.per_device.items() if name in total}
        if not named or not total.get(MEMORY):
            return named
        full = filled(named, total)
        return {name: amount for name, amount in full.items() if name in total}

    def takes(self, card: Card) -> tuple[Take, ...] | str:
        """Return what a node device takes, or why it is not free."""
        lead, hint = card.lead, self._hint
        if card.part is not None and self._ask.is_shared:
            return self._part(card, card.part)
        if card.part is lead:
            return "it is offered in shares only"
        if lead.is_shareable:
            if self.kind == GPU and not self._ask.is_shared and is_in_use(lead.place):
                return _use(lead)
            share = self._share(lead)
            if not isinstance(share, str) and hint.vf_selector is not None:
                vf = self._free_vf(card)
                return (Take(lead.id, lead.place, share, card.type), vf) if vf else self._no_vf(card)
            return share if isinstance(share, str) else self._only(card, share)
        if self.kind == GPU and self._ask.is_shared:
            return "it can only be allocated whole"
        if self._wants_vf(card):
            vf = self._free_vf(card)
            return (vf,) if vf else self._no_vf(card)
        if any(amount > 100 for name, amount in self._ask.per_device.items() if name != MEMORY):
            return "it has less than is requested of each device"
        if card.whole is None:
            return "only its VFs are published"
        return _obstacle(lead) or self._only(card)

    def _part(self, card: Card, part: OfferedDevice) -> tuple[Take, ...] | str:
        """Return the share of a GPU that is offered in shares, or why it cannot be taken."""
        share = self._parts.get(card)
        if share is None:
            share = self._parts[card] = part_of(card, part, self._ask.per_device)
        if isinstance(share, str):
            return share
        reason = _obstacle(part, share)
        if reason is not None:
            return reason
        found = self._alone.get(card)
        if found is None:
            found = self._alone[card] = (Take(part.id, part.place, share, GPU_PART),)
        return found

    def _wants_vf(self, card: Card) -> bool:
        if self._hint.vf_selector is not None:
            return True
        return self.kind in CARDS and bool(card.vfs) and self._ask.per_device[CARDS[self.kind]] < 100

    def _share(self, device: OfferedDevice) -> Share | str:
        """Return the share of a device, or why it cannot be taken."""
        found = self._shares.get(id(device.capacity))
        if found is None:
            found = self._shares[id(device.capacity)] = self._share_of(device)
        return found if isinstance(found, str) else _obstacle(device, found) or found

    def _share_of(self, device: OfferedDevice) -> Share | str:
        share = {QualifiedName(name): Quantity.of(amount) for name, amount in self.given(device).items()}
        if not share:
            return "it has none of the requested amounts"
        lacking = [name for name, amount in share.items() if amount > device.capacity[name]]
        return f"it has less {lacking[0]} than is requested of each device" if lacking else share

    def _free_vf(self, card: Card) -> Take | None:
        """Return the first free VF that matches, by address."""
        selector = self._hint.vf_selector
        for vf in card.by_address:
            is_match = selector is None or selector.admits(labels(vf))
            if is_match and admits(vf.place) and not intolerable(vf.taints, ()):
                return Take(vf.id, vf.place, type="vf")
        return None

    @staticmethod
    def _no_vf(card: Card) -> str:
        """Return that a card has no VF to give, with the obstacle of the first one."""
        first = card.vfs[0] if card.vfs else None
        reason = _obstacle(first, of=str(first.id.device)) if first is not None else None
        return "it has no free VF that matches" + (f": {reason}" if reason else "")


def _is_touched(card: Card) -> bool:
    """Whether some part of a card is in use."""
    for one in card.devices:
        if is_in_use(one.place):
            return True
    whole = card.whole
    return whole is not None and not whole.is_shareable and not admits(whole.place)


def _obstacle(device: OfferedDevice, share: Share | None = None, of: str = "it") -> str | None:
    """Return why a device, or a share of it, cannot be taken now, as a sentence; None where it can.

    Tables do not know why: the question is asked again of ledgers before anybody reads the sentence.
    """
    place = device.place
    if admits(place, share):
        return None
    if isinstance(place, LedgerPlace):
        found = place.ledger.obstacle(place.name, share)
        assert found is not None, "what the ledger does not admit has an obstacle"
        return obstacle_text(found, of)
    return f"{of} is in use"


def _use(device: OfferedDevice) -> str:
    """Return who uses a device of which pods have shares, and whether all of it."""
    place = device.place
    if not isinstance(place, LedgerPlace):
        return "it is in use"
    ledger, users = place.ledger, place.ledger.taken[place.name]
    if any(ledger.unconsumed(place.name, capacity) for capacity in device.capacity):
        return f"it is used in part by {users}"
    return f"all of it is used by {users}"


def total_of(device: OfferedDevice) -> dict[str, int]:
    """Return the total of a device by resource name."""
    return {name: amount.whole for name, amount in device.capacity.items()}
