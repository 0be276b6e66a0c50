"""Why pods get no devices, as sentences: the core is asked, as if their claims were decided about now.

Takes what is known of a cluster; nothing is decided or kept. Pods whose claims ask for the same are asked
about once, and each is told about its own claims.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from controller.decide.reasons import NodesAlike
from controller.model.pods import PodRef
from controller.state.cluster_seen import ClusterSeen
from scheduler_core.advice.advise import advise
from scheduler_core.advice.refused_nodes import RefusedAlike, closest_first, refused_nodes
from scheduler_core.advice.sentences import remedy_text
from scheduler_core.base.errors import CoreError
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import Claim, ClaimRef
from scheduler_core.model.nodes import Node

_ASKED: Final = 100
"""So many different shapes of pods are asked about; the others say how to ask."""
_ADVISED: Final = 10
"""For so many of them it is found out what would help: that takes many questions."""
_TRIED: Final = 16
"""Nodes on which it is tried what would help."""


class Reasons:
    """Answers for the pods of a moment. Takes a ``ClusterSeen``, which must not change meanwhile."""

    def __init__(self, seen: ClusterSeen, engine: Engine) -> None:
        self._seen = seen
        self._engine = engine
        self._advised = 0
        self._known: dict[tuple[str, ...], tuple[str, ...]] = {}

    def of(self, pod: PodRef, claims: Sequence[Claim]) -> tuple[str, ...]:
        """Return why claims of a pod get no devices, and then what would help. Shape: never empty."""
        ordered = sorted(claims, key=lambda one: self._seen.claims[one.ref].shape)
        shape = tuple(self._seen.claims[one.ref].shape for one in ordered)
        if shape not in self._known and len(self._known) < _ASKED:
            nameless = [replace(one, ref=_stand_in(place)) for place, one in enumerate(ordered)]
            self._known[shape] = self._sentences(nameless)
        asking = f"tangram explain pod/{pod.name} -n {pod.namespace} says why"
        found = self._known.get(shape, ())
        return tuple(_with_names(text, ordered) for text in found) or (asking,)

    def _sentences(self, claims: list[Claim]) -> tuple[str, ...]:
        """Return why claims get no devices."""
        nodes = self._nodes()
        if not nodes:
            return ("no DRA driver publishes devices in this cluster",)
        try:
            return self._refusals(claims, nodes)
        except CoreError as error:
            return (str(error),)

    def _nodes(self) -> list[Node]:
        """Return the nodes that may have devices: all, where there are devices of no single node."""
        views = self._seen.devices.views
        names = {*views.names, *self._seen.nodes} if views.has_shared else views.names
        return [views.node(name) for name in sorted(names)]

    def _refusals(self, claims: list[Claim], nodes: list[Node]) -> tuple[str, ...]:
        """Return what ``_sentences`` does, nodes with the same reason together. Raises: CoreError."""
        for node in nodes:
            if self._engine.fits(claims, node) is True:
                return (f"node {node.name} has its devices free: they are not allocated yet",)
        groups = refused_nodes(claims, self._engine, nodes)
        return (*map(_group_text, groups), *self._advice(claims, nodes, groups))

    def _advice(self, claims: list[Claim], nodes: list[Node], groups: Sequence[RefusedAlike]) -> list[str]:
        if not groups or self._advised >= _ADVISED:
            return []
        self._advised += 1
        remedies = advise(claims, self._engine, closest_first(nodes, groups)[:_TRIED])
        return [f"to make it fit: {remedy_text(one)}" for one in remedies]


def _stand_in(place: int) -> ClaimRef:
    """Return what a claim is called in answers for several pods. No object can have such a name."""
    return ClaimRef("(pod)", f"(claim {place})")


def _with_names(text: str, claims: Sequence[Claim]) -> str:
    for place, one in enumerate(claims):
        text = text.replace(str(_stand_in(place)), str(one.ref))
    return text


def _group_text(group: RefusedAlike) -> str:
    return str(NodesAlike(count=len(group.nodes), why=group.why, example=group.nodes[0]))
