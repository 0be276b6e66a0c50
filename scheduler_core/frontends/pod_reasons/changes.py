"""Single changes of a pod that asks by amounts. None is tried here.

Takes a pod's ask and a node; returns changes, each with the ask that it leads to, those first that keep the
most of what was asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from scheduler_core.advice.remedies import AskForAmount, Change, DropHint, PodChange, RelabelHint
from scheduler_core.base.errors import InvalidInput
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.explain.values_present import natural
from scheduler_core.frontends.annotations.labels import LabelRequirement, LabelSelector
from scheduler_core.frontends.pod_reasons.words import amount_text, memory_of, requirement_text
from scheduler_core.frontends.pods.amounts import CORE, GPU_PERCENT, MEMORY, RATIO, WHOLE_GPUS, Amounts
from scheduler_core.frontends.pods.cards import Card
from scheduler_core.frontends.pods.hints import GPU, Hint
from scheduler_core.frontends.pods.placer import PodPlacer
from scheduler_core.frontends.pods.pod_request import PodAsk, changed_ask
from scheduler_core.model.nodes import Node

_VALUES: Final = 8  # other values of a label that are offered
_AMOUNTS: Final = 512  # no GPU has more GiB, and no node more devices
_ALIKE: Final = 0.5  # of difflib's measure, 1 for equal texts
_GI: Final = 2**30
_MI: Final = 2**20
_OF_GPUS: Final = "koordinator.sh/gpu"


@dataclass(frozen=True, slots=True)
class Changed:
    """A change and what the pod asks after it."""

    change: PodChange
    ask: PodAsk


def relabelled(ask: PodAsk, placer: PodPlacer, node: Node) -> Iterator[Changed]:
    """Yield other values and keys for the selectors of the hints: corrections first, the nearest first."""
    for kind in ask.asks:
        selector = ask.hint(kind).selector
        cards = [card for card, _ in placer.each(ask, kind, node)]
        for place, one in enumerate(() if selector is None else selector.requirements):
            if one.operator != "In":
                continue
            for change, other in _others(one, cards):
                told = RelabelHint(
                    node=node.name,
                    change=change,
                    type=kind,
                    old=requirement_text(one),
                    new=requirement_text(other),
                )
                yield from _with_hint(ask, kind, _replaced(ask.hint(kind), place, other), told)


def smaller(ask: PodAsk, node: Node) -> Iterator[Sequence[Changed]]:
    """Yield, per amount, the asks with less of it, the least first: what fits with more fits with less."""
    for name, asked in ask.amounts.items():
        step = _step(name, asked)
        numbers = range(1, min(-(-asked // step), _AMOUNTS))
        found = (_amount(ask, node, name, asked, number * step) for number in numbers)
        yield [one for one in found if one is not None]


def whole(ask: PodAsk, placer: PodPlacer, node: Node) -> Iterator[Changed]:
    """Yield the ask for whole GPUs where parts are asked for; it says how much memory they have."""
    gpus = ask.asks.get(GPU)
    if gpus is None or not gpus.is_shared:
        return
    parts = [name for name in ask.amounts if name.startswith(_OF_GPUS)]
    rest = {name: amount for name, amount in ask.amounts.items() if name not in parts}
    memory = {memory_of(card) for card, _ in placer.each(ask, GPU, node)} - {None}
    has = f" (memory {amount_text(MEMORY, max(filter(None, memory)))})" if MEMORY in parts and memory else ""
    remedy = AskForAmount(
        node=node.name,
        asked=", ".join(f"{name}: {amount_text(name, ask.amounts[name])}" for name in parts),
        amount=f"{WHOLE_GPUS}: {gpus.count}{has}",
    )
    yield from _with(ask, {**rest, WHOLE_GPUS: gpus.count or 1}, remedy)


def dropped(ask: PodAsk, node: Node) -> Iterator[Changed]:
    """Yield the ask without each thing that its annotations say."""
    for kind in ask.asks:
        hint = ask.hint(kind)
        if hint.exclusive is not None:
            remedy = DropHint(node=node.name, type=kind, hint=f"exclusivePolicy {hint.exclusive}")
            yield from _with_hint(ask, kind, replace(hint, exclusive=None), remedy)
        if hint.scope is not None:
            remedy = DropHint(node=node.name, type=kind, hint=f"requiredTopologyScope {hint.scope}")
            yield from _with_hint(ask, kind, replace(hint, scope=None), remedy)
    if ask.joint is not None and ask.joint.is_same_pcie:
        kinds = " and ".join(ask.joint.types)
        remedy = DropHint(node=node.name, type=kinds, hint="requiredScope SamePCIe")
        yield Changed(remedy, replace(ask, joint=replace(ask.joint, is_same_pcie=False)))
    if ask.spec is not None and ask.spec.is_restricted:
        remedy = DropHint(node=node.name, type=GPU, hint="allocatePolicy Restricted")
        yield Changed(remedy, replace(ask, spec=replace(ask.spec, is_restricted=False)))
    if ask.spec is not None and ask.spec.bandwidth is not None:
        remedy = DropHint(node=node.name, type=GPU, hint=f"ringBusBandwidth {ask.spec.bandwidth}")
        yield Changed(remedy, replace(ask, spec=replace(ask.spec, bandwidth=None)))
    if ask.spec is not None:
        remedy = DropHint(node=node.name, type=GPU, hint="the annotation gpu-partition-spec")
        yield Changed(remedy, replace(ask, spec=None))


def _others(one: LabelRequirement, cards: Sequence[Card]) -> Iterator[tuple[Change, LabelRequirement]]:
    """Yield a requirement with other values that devices have, or with another key."""
    values = {card.labels[one.key] for card in cards if one.key in card.labels} - set(one.values)
    is_known = any(one.admits(card.labels) for card in cards)
    if not values and not is_known:
        names = sorted({name for card in cards for name in card.labels})
        for name in get_close_matches(one.key, names, 2):
            yield Change.CORRECTION, replace(one, key=name)
        return
    close = [] if is_known else get_close_matches(one.values[0], sorted(values), 1, _ALIKE)
    for value in close:
        yield Change.CORRECTION, replace(one, values=(value,))
    for value in sorted(values.difference(close), key=natural)[:_VALUES]:
        yield Change.OTHER_VALUE, replace(one, values=(value,))


def _replaced(hint: Hint, place: int, other: LabelRequirement) -> Hint:
    assert hint.selector is not None, "a requirement of it was replaced"
    kept = hint.selector.requirements
    return replace(hint, selector=LabelSelector((*kept[:place], other, *kept[place + 1 :])))


def _amount(ask: PodAsk, node: Node, name: str, asked: int, amount: int) -> Changed | None:
    told = AskForAmount(
        node=node.name,
        asked=f"{name}: {amount_text(name, asked)}",
        amount=f"{name}: {amount_text(name, amount)}",
    )
    return next(_with(ask, {**ask.amounts, name: amount}, told), None)


def _step(name: str, asked: int) -> int:
    """Return by how much an amount is made smaller. Units: of the amount."""
    if name == MEMORY:
        return _GI if asked > _GI else _MI
    is_percent = name in (GPU_PERCENT, CORE, RATIO) or (name.startswith("koordinator.sh/") and asked > 100)
    return 100 if is_percent and asked > 100 and not asked % 100 else 1


def _with_hint(ask: PodAsk, kind: str, hint: Hint, told: PodChange) -> Iterator[Changed]:
    yield from _with(ask, ask.amounts, told, {kind: hint})


def _with(
    ask: PodAsk, amounts: Amounts, told: PodChange, hints: dict[str, Hint] | None = None
) -> Iterator[Changed]:
    """Yield the change, unless the pod may not ask for that."""
    try:
        yield Changed(told, changed_ask(ask, amounts, {**ask.hints, **(hints or {})}))
    except InvalidInput:
        return
