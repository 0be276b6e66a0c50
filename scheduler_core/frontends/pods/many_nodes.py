"""Annotated pods on several nodes, tried one after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.joint.choose import JointRefusal
from scheduler_core.frontends.joint.node_device import NodeDevice
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.frontends.pods.place import entered
from scheduler_core.frontends.pods.placed_pod import PlacedPod
from scheduler_core.frontends.pods.placer import PodPlacer
from scheduler_core.frontends.pods.pod_request import PodAsk
from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Undecided


@dataclass(frozen=True, slots=True)
class PodAnswer:
    """What became of one pod.

    Shape: ``placed`` None where no node has the devices; ``refused`` by node, in the order of trying;
           ``offers`` by type, of the node that the pod got, else of the first node; ``undecided`` the nodes
           of which nobody knows whether the pod fits.
    """

    ask: PodAsk
    placed: PlacedPod | None
    refused: Mapping[str, JointRefusal]
    offers: Mapping[str, tuple[NodeDevice, ...]]
    undecided: tuple[Undecided, ...] = ()


def place_pods(
    asks: Sequence[PodAsk], placer: PodPlacer, nodes: Sequence[Node], tables: Mapping[str, NodeTable]
) -> Iterator[PodAnswer]:
    """Place pods one after another, each on the first node that fits; yield what became of each.

    Each pod holds its devices in the placer's state, alone where it says so, before the next one is placed.
    Shape: at least one node.
    """
    for ask in asks:
        found = place_pod_somewhere(ask, placer, nodes, tables)
        yield found
        if found.placed is not None:
            placer.state.hold(entered(ask, found.placed, _ref(ask)))


def place_pod_somewhere(
    ask: PodAsk, placer: PodPlacer, nodes: Sequence[Node], tables: Mapping[str, NodeTable]
) -> PodAnswer:
    """Place a pod on the first node that fits, and hold nothing. Shape: at least one node."""
    refused: dict[str, JointRefusal] = {}
    undecided: list[Undecided] = []
    for node in nodes:
        match placer.place(ask, node, tables.get(node.name)):
            case PlacedPod() as placed:
                return PodAnswer(ask, placed, refused, placer.offered(ask, node))
            case Undecided() as unknown:
                undecided.append(unknown)
            case JointRefusal() as refusal:
                refused[node.name] = refusal
    return PodAnswer(ask, None, refused, placer.offered(ask, nodes[0]), tuple(undecided))


def _ref(ask: PodAsk) -> ClaimRef:
    """Return the pod as a holder of devices. A pod's subject ends in its namespace and name."""
    namespace, _, name = ask.subject.removeprefix("Pod ").rpartition("/")
    return ClaimRef(namespace or "default", name)
