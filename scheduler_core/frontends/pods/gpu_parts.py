"""The part of a GPU that a pod gets where its node offers GPUs in shares.

Percentages are of the whole GPU, also where only a part of it is offered in shares; where the node does not
offer the GPU as a whole, they are of what it offers.
"""

from __future__ import annotations

from collections.abc import Mapping

from scheduler_core.base.quantity import Quantity
from scheduler_core.books.usage import Share
from scheduler_core.frontends.pods.amounts import CORE, MEMORY, RATIO, Amounts, filled
from scheduler_core.frontends.pods.cards import Card
from scheduler_core.frontends.pods.offered_devices import OfferedDevice
from scheduler_core.model.consumption import NotRepresentable, consumed
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.names import bare, qualified


def part_of(card: Card, part: OfferedDevice, asked: Amounts) -> Share | str:
    """Return what a pod consumes of the shared device of a GPU, or why it can never have that.

    Shape: ``asked`` from one GPU, by resource name. Amounts are rounded up to what the device gives.
    """
    driver = part.id.driver
    memory, processors = qualified("memory", driver), qualified("multiprocessors", driver)
    totals = (card.whole or part).capacity
    wanted: dict[QualifiedName, Quantity] = {}
    if MEMORY in asked:
        wanted[memory] = Quantity.of(asked[MEMORY])
    elif RATIO in asked and memory in totals:
        wanted[memory] = _percent(asked[RATIO], totals[memory])
    if asked.get(CORE) and processors in totals:
        wanted[processors] = _percent(asked[CORE], totals[processors])
    return _consumed(part, wanted)


def given_of(card: Card, share: Share, asked: Amounts) -> Amounts:
    """Return a share by Koordinator's names and by those of the device's capacities."""
    memory = (card.whole or card.lead).capacity.get(qualified("memory", card.lead.id.driver))
    named = filled(asked, {MEMORY: memory.whole}) if memory is not None else asked
    return {**named, **{str(name): amount.whole for name, amount in share.items()}}


def _percent(percent: int, total: Quantity) -> Quantity:
    return Quantity.of(-(-total.whole * percent // 100))


def _consumed(part: OfferedDevice, wanted: Mapping[QualifiedName, Quantity]) -> Share | str:
    found: dict[QualifiedName, Quantity] = {}
    for name, value in part.capacity.items():
        try:
            amount = consumed(wanted.get(name), value, part.policies.get(name))
        except NotRepresentable as problem:
            return f"{bare(name, part.id.driver)} cannot be rounded: {problem}"
        if amount is None or amount > value:
            kind = bare(name, part.id.driver)
            return f"the shares of its GPU have less {kind} than the pod requests of each GPU"
        found[name] = Quantity(amount.nano, value.family)  # written as the device's capacity is
    return found
