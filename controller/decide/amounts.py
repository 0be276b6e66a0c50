"""Devices for a pod that asks by amounts: of Koordinator's names, of resource classes, or of both.

Takes the amounts and the pod's other claims; returns devices for all of them on one node. Nothing is held.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from controller.decide.question import AmountsWanted
from scheduler_core.base.errors import InvalidClaim
from scheduler_core.engine.engine import Engine
from scheduler_core.frontends.classes.claims import class_claim, unknown_classes
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.frontends.placement.decide import DecidedPod, NoNode, PodDecider
from scheduler_core.frontends.pods.pod_request import PodAsk
from scheduler_core.frontends.pods.written_claim import (
    WrittenRequest,
    requests_of_amounts,
    requests_of_classes,
)
from scheduler_core.model.claim import Claim, ClaimRef
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Undecided

CLASSES: Final = ClaimRef("", "classes")
"""The claim for amounts of classes while devices are searched. No object has an empty namespace."""
Admits = Callable[[Node], bool]


@dataclass(frozen=True, slots=True)
class Made:
    """What the claim for a pod's amounts will say."""

    requests: tuple[WrittenRequest, ...]
    ask: PodAsk | None


@dataclass(frozen=True, slots=True)
class Found:
    """Devices on one node: those for the amounts, and those of the other claims."""

    node: str
    made: Made
    beside: Allocation | None


class AmountsDecider:
    """Decides about amounts in the state of an engine. For one thread."""

    def __init__(self, engine: Engine, share_ids: Callable[[], str], unserved: Mapping[str, str]) -> None:
        self._engine = engine
        self._pods = PodDecider(engine)
        self._share_ids = share_ids
        self._unserved = unserved

    def decide(
        self,
        wanted: AmountsWanted,
        claims: Sequence[Claim],
        admits: Admits,
        tables: Mapping[str, NodeTable],
        somewhere: Callable[[Sequence[Claim], Admits], Allocation | Undecided | None],
    ) -> Found | NoNode | Undecided | None:
        """Return devices for the amounts and the claims; ``somewhere`` chooses a node for claims alone.

        Raises: CoreError for claims that are wrong, InvalidClaim for a resource class that nobody made.
        """
        of_classes = self._class_claim(wanted)
        together = [*claims, *([of_classes] if of_classes is not None else [])]
        ask = wanted.asked.ask
        if ask is None:
            found = somewhere(together, admits)
            return (
                self._found(found.node, (), found, of_classes, None)
                if isinstance(found, Allocation)
                else found
            )
        decided = self._pods.decide(ask, admits, tables, together)
        if isinstance(decided, DecidedPod):
            requests = requests_of_amounts(decided.placed, self._share_ids)
            return self._found(decided.node, requests, decided.beside, of_classes, ask)
        return decided

    def _class_claim(self, wanted: AmountsWanted) -> Claim | None:
        """Return the claim for the amounts of classes. Raises: InvalidClaim."""
        if not wanted.asked.classes:
            return None
        found = class_claim(CLASSES, wanted.asked.classes)
        unknown = unknown_classes(found, self._engine.state.classes)
        if unknown:
            rule = self._unserved.get(unknown[0], "no ResourceClass has this name")
            raise InvalidClaim(f"claim {wanted.ref}", "", unknown[0], rule)
        return found

    def _found(
        self,
        node: str,
        requests: tuple[WrittenRequest, ...],
        beside: Allocation | None,
        of_classes: Claim | None,
        ask: PodAsk | None,
    ) -> Found:
        if of_classes is not None and beside is not None:
            requests = (*requests, *requests_of_classes(of_classes, beside.results[CLASSES]))
        return Found(node, Made(requests, ask), beside)
