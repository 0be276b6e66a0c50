"""Places annotated pods on the nodes of a cluster state.

Tables say whether a device is free. Where a pod is refused, ledgers say why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

from scheduler_core.engine.offers_cache import OffersCache
from scheduler_core.frontends.joint.choose import JointRefusal
from scheduler_core.frontends.joint.node_device import NodeDevice
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.frontends.pods.cards import Card, NodeCards
from scheduler_core.frontends.pods.exclusive import LINKED, OFFERED_TYPES
from scheduler_core.frontends.pods.hints import GPU
from scheduler_core.frontends.pods.node_devices import NodeDevices
from scheduler_core.frontends.pods.offered_devices import free_of_type, from_ledgers, from_tables
from scheduler_core.frontends.pods.place import PodResult, placed
from scheduler_core.frontends.pods.placed_pod import PlacedPod
from scheduler_core.frontends.pods.pod_request import PodAsk
from scheduler_core.frontends.pods.scoring import Scoring
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Undecided
from scheduler_core.rules.scopes import Reserved, reserved
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.node_class import NodeView


class PodPlacer:
    """Places pods on the nodes of a cluster, in the state that ``state`` has when it is asked.

    Without ``scoring`` devices that are equally close are chosen by their number. What a node's cards have in
    common from pod to pod is kept while the node's pools stay.
    """

    def __init__(self, state: ClusterState, scoring: Scoring | None = None) -> None:
        self.state = state
        self._scoring = scoring
        self._published = OffersCache(state.features)
        self._devices: WeakKeyDictionary[NodeView, NodeDevices] = WeakKeyDictionary()

    def place(self, ask: PodAsk, node: Node, table: NodeTable | None = None) -> PodResult:
        """Return the best devices of a pod on one node, or why there are none."""
        found = self.answer(ask, node, table)
        if isinstance(found, JointRefusal) and found.has_reasons:
            return placed(ask, node, self._on_ledgers(node), table or NodeTable())
        return found

    def answer(self, ask: PodAsk, node: Node, table: NodeTable | None = None) -> PodResult:
        """Return what ``place`` does, but a refusal may not say who holds the devices, which takes longer."""
        return placed(ask, node, self._node_devices(node), table or NodeTable())

    def decide(self, ask: PodAsk, node: Node, table: NodeTable | None = None) -> PlacedPod | Undecided | None:
        """Return what ``place`` does, but None in place of a refusal, whose reasons take longer to find."""
        found = self.answer(ask, node, table)
        return None if isinstance(found, JointRefusal) else found

    def free_gpus(self, node: Node) -> tuple[int, int]:
        """Return how many GPUs of a node are free as a whole, and how many it has."""
        node_view = self.state.views.node_view(node)
        if node_view.judges or not node_view.is_compiled:
            return self._on_ledgers(node).gpus()
        if free_of_type(node_view, LINKED)[1]:
            return self._node_devices(node).gpus()
        return free_of_type(node_view, GPU)

    def offered(self, ask: PodAsk, node: Node) -> Mapping[str, tuple[NodeDevice, ...]]:
        """Return all devices of the types that the pod asks for, with the reason where one is not free."""
        found = self._on_ledgers(node)
        both = {kind: found.of_kind(kind, ask.asks[kind], ask.hint(kind)) for kind in ask.asks}
        return {kind: (*matching, *_unmatched(others)) for kind, (matching, others) in both.items()}

    def has_groups(self, node: Node) -> bool:
        """Whether a node offers groups of GPUs as one device each."""
        return self._node_devices(node).has_groups

    def each(self, ask: PodAsk, kind: str, node: Node) -> tuple[tuple[Card, NodeDevice], ...]:
        """Return all devices of a type, with the reason where the pod could not take one of them now."""
        return self._on_ledgers(node).each(kind, ask.asks[kind], ask.hint(kind))

    def numbers(self, kind: str, node: Node) -> list[int]:
        """Return the minors of a type of device, as published."""
        return self._node_devices(node).numbers(kind)

    def _node_devices(self, node: Node) -> NodeDevices:
        node_view = self.state.views.node_view(node)
        if node_view.judges or not node_view.is_compiled:
            return self._on_ledgers(node)
        found = self._devices.get(node_view)
        if found is None:
            offered = from_tables(node_view, OFFERED_TYPES)
            cards = NodeCards(offered, self._reserved(node) if node_view.is_sealed else ())
            found = self._devices[node_view] = NodeDevices(cards, self.state, self._scoring)
        return found

    def _on_ledgers(self, node: Node) -> NodeDevices:
        """Return the devices of the published pools, whose ledgers say what keeps one from being free."""
        seen = self._published.seen_from(node, self.state.views.concerned(node))
        allocated = self.state.concerning(node)
        offered = from_ledgers(seen.pools, seen.offers, allocated, self.state.features)
        cards = NodeCards(offered, reserved(seen.pools, allocated))
        return NodeDevices(cards, self.state, self._scoring)

    def _reserved(self, node: Node) -> Reserved:
        seen = self._published.seen_from(node, self.state.views.concerned(node))
        return reserved(seen.pools, self.state.concerning(node))


def place_pod(
    ask: PodAsk,
    state: ClusterState,
    node: Node,
    table: NodeTable | None = None,
    scoring: Scoring | None = None,
) -> PodResult:
    """Return what a new ``PodPlacer`` answers."""
    return PodPlacer(state, scoring).place(ask, node, table)


def _unmatched(node_devices: Sequence[NodeDevice]) -> tuple[NodeDevice, ...]:
    return tuple(
        replace(one, is_free=False, takes=(), why="it does not match the selector") for one in node_devices
    )
