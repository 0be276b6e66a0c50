"""Computes how many GPUs and cards of a node are left for a pod after each thing that it asks.

Takes a pod's ask and a node in a state; returns a funnel per type of device. What a pod could take of a
device if nothing were in use is asked of the same pools without claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.explain.values_present import present
from scheduler_core.frontends.joint.choose import JointRefusal
from scheduler_core.frontends.joint.node_device import NodeDevice
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.frontends.pod_reasons.funnel import PodFunnel, PodStage, PodStageKind
from scheduler_core.frontends.pod_reasons.words import amount_text, memory_of, requirement_text
from scheduler_core.frontends.pods.amounts import MEMORY
from scheduler_core.frontends.pods.cards import Card
from scheduler_core.frontends.pods.hints import GPU
from scheduler_core.frontends.pods.placer import PodPlacer
from scheduler_core.frontends.pods.pod_request import PodAsk
from scheduler_core.model.funnel import ValuesPresent
from scheduler_core.model.nodes import Node
from scheduler_core.state.cluster_state import ClusterState


def pod_funnels(
    ask: PodAsk, placer: PodPlacer, node: Node, table: NodeTable | None = None
) -> tuple[PodFunnel, ...]:
    """Return a funnel for each type that the pod asks for. Shape: the types in the pod's order."""
    answer = placer.answer(ask, node, table)
    refusal = answer if isinstance(answer, JointRefusal) else None
    seen = placer.state.seen_from(node)
    unused = PodPlacer(ClusterState.of(replace(seen, allocated=())))
    found = []
    for kind, wanted in ask.asks.items():
        stages = tuple(_Stages(ask, kind, placer, unused, node).all())
        funnel = PodFunnel(type=kind, node=node.name, needed=wanted.count, stages=stages)
        if refusal is not None and refusal.kind == kind and funnel.decisive is None:
            last = PodStage(kind=PodStageKind.TOGETHER, asked=refusal.detail, left=0)
            funnel = replace(funnel, stages=(*stages, last))
        found.append(_with_values_where_needed(funnel))
    return tuple(found)


def _with_values_where_needed(funnel: PodFunnel) -> PodFunnel:
    """Return the funnel with values only where too few devices are left."""
    least = funnel.needed or 1
    stages = tuple(one if one.left < least else replace(one, values=()) for one in funnel.stages)
    return replace(funnel, stages=stages)


@dataclass(frozen=True, slots=True)
class _Stages:
    """The stages of one type. Shape: ``unused`` knows the node as it would be if nothing were in use."""

    ask: PodAsk
    kind: str
    placer: PodPlacer
    unused: PodPlacer
    node: Node

    def all(self) -> Iterator[PodStage]:
        """Yield the stages, each with what it leaves of the one before."""
        if self.kind == GPU and not self.ask.asks[GPU].is_shared and self.placer.has_groups(self.node):
            free, total = self.placer.free_gpus(self.node)
            yield PodStage(kind=PodStageKind.KNOWN, left=total)
            yield PodStage(kind=PodStageKind.FREE, left=free)
            return
        now = {card.lead.id: one for card, one in self.placer.each(self.ask, self.kind, self.node)}
        left = list(self.unused.each(self.ask, self.kind, self.node))
        yield PodStage(kind=PodStageKind.KNOWN, left=len(left))
        selector = self.ask.hint(self.kind).selector
        if selector is not None:
            before, left = left, [one for one in left if selector.admits(one[0].labels)]
            asked = ", ".join(map(requirement_text, selector.requirements))
            values = tuple(_labels_present(self.ask, self.kind, [card for card, _ in before]))
            yield PodStage(kind=PodStageKind.SELECTOR, asked=asked, left=len(left), values=values)
        well = [one for one in left if not one[0].refused]
        if len(well) < len(left):
            lost = _by_reason((card.refused, card.number) for card, _ in left if card.refused)
            yield PodStage(kind=PodStageKind.HEALTH, left=len(well), lost=lost)
        able = [one for one in well if one[1].is_free]
        yield self._amount(well, able)
        held = [now[card.lead.id] for card, _ in able]
        lost = _by_reason((one.why, one.number) for one in held if not one.is_free)
        yield PodStage(kind=PodStageKind.FREE, left=sum(one.is_free for one in held), lost=lost)

    def _amount(
        self, before: Sequence[tuple[Card, NodeDevice]], able: Sequence[tuple[Card, NodeDevice]]
    ) -> PodStage:
        asked = self.ask.asks[self.kind]
        totals = [memory_of(card) for card, _ in before] if MEMORY in asked.per_device else []
        wanted = (amount_text(MEMORY, asked.per_device[MEMORY]),) if totals else ()
        return PodStage(
            kind=PodStageKind.AMOUNT,
            asked=_asked_of_each(asked.per_device, whole=self.kind == GPU and not asked.is_shared),
            left=len(able),
            lost=_by_reason((one.why, one.number) for _, one in before if not one.is_free),
            values=(_memory_present(totals, wanted),) if totals else (),
        )


def _memory_present(totals: Sequence[int | None], wanted: Sequence[str]) -> ValuesPresent:
    texts = [None if one is None else amount_text(MEMORY, one) for one in totals]
    found = present(MEMORY, texts, wanted)
    largest = max((one for one in totals if one is not None), default=None)
    is_known = bool(set(wanted) & found.found.keys())
    return replace(found, nearest=None if largest is None or is_known else amount_text(MEMORY, largest))


def _asked_of_each(per_device: Mapping[str, int], *, whole: bool) -> str:
    if whole:
        return ""
    return ", ".join(f"{name} {amount_text(name, amount)}" for name, amount in per_device.items())


def _labels_present(ask: PodAsk, kind: str, cards: Sequence[Card]) -> Iterator[ValuesPresent]:
    """Yield what devices have of each label that the hint's selector reads and some do not meet."""
    selector = ask.hint(kind).selector
    for one in () if selector is None else selector.requirements:
        if all(one.admits(card.labels) for card in cards):
            continue
        found = present(one.key, [card.labels.get(one.key) for card in cards], one.values)
        if not found.found:
            names = sorted({name for card in cards for name in card.labels})
            found = replace(found, nearest=next(iter(get_close_matches(one.key, names, 1)), None))
        yield found


def _by_reason(found: Iterable[tuple[str, int]]) -> Mapping[str, tuple[int, ...]]:
    """Return the numbers of devices by reason, the most frequent first."""
    alike: dict[str, tuple[int, ...]] = {}
    for why, number in found:
        alike[why] = (*alike.get(why, ()), number)
    return dict(sorted(alike.items(), key=lambda item: -len(item[1])))
