"""A pod that fits on none of several nodes: why, the node that comes closest, and what would help.

Takes a pod's ask, where it was refused, and what says whether an ask fits; returns a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from scheduler_core.advice.remedies import PodRemedy
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.engine import Engine
from scheduler_core.frontends.joint.choose import JointRefusal
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.frontends.placement.beside import Beside, devices_beside
from scheduler_core.frontends.pod_reasons.advise import advise_pod
from scheduler_core.frontends.pod_reasons.funnel import PodFunnel
from scheduler_core.frontends.pod_reasons.stages import pod_funnels
from scheduler_core.frontends.pods.placed_pod import PlacedPod
from scheduler_core.frontends.pods.placer import PodPlacer
from scheduler_core.frontends.pods.pod_request import PodAsk
from scheduler_core.model.claim import Claim
from scheduler_core.model.nodes import Node

_EXPLAINED: Final = 16  # nodes whose devices are counted, one for each reason


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsNodes:
    """Nodes that refuse a pod for the same reason. Shape: ``nodes`` are names, in the order of trying."""

    nodes: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedPod:
    """Why a pod fits on none of some nodes.

    Shape: ``groups`` the largest first; ``funnels`` are of the node that comes closest, by type of device.
    """

    groups: tuple[PodsNodes, ...]
    funnels: tuple[PodFunnel, ...]
    remedies: tuple[PodRemedy, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFits:
    """Answers whether a pod fits on a node in the present state, together with its other claims.

    Shape: ``engine`` is asked about ``claims`` and has the placer's state; ``tables`` by name of the node.
    """

    placer: PodPlacer
    tables: Mapping[str, NodeTable]
    engine: Engine | None = None
    claims: Sequence[Claim] = ()

    def __call__(self, ask: PodAsk, node: Node) -> bool:
        """Whether it fits. Raises: as ``Engine.allocate``, for the claims."""
        table = self.tables.get(node.name)
        found = self.placer.answer(ask, node, table)
        if not isinstance(found, PlacedPod):
            return False
        if not self.claims or self.engine is None:
            return True
        where = Beside(self.engine, self.placer, node, table)
        return isinstance(devices_beside(ask, found, self.claims, where), tuple)


def refused_pod(
    ask: PodAsk,
    fits: PodFits,
    nodes: Sequence[Node],
    reasons: Mapping[str, str],
    elsewhere: Sequence[Node] = (),
) -> RefusedPod:
    """Return why a pod fits on none of ``nodes``, and what would help.

    Shape: ``reasons`` by name of the node; at least one node.
    """
    by_name = {node.name: node for node in nodes}
    alike: dict[str, list[str]] = {}
    for node in nodes:
        alike.setdefault(reasons.get(node.name, "the pod does not fit there"), []).append(node.name)
    firsts = [by_name[names[0]] for names in list(alike.values())[:_EXPLAINED]]
    explained = {one.name: pod_funnels(ask, fits.placer, one, fits.tables.get(one.name)) for one in firsts}
    best = max(explained, key=lambda name: sum(map(_closeness, explained[name])))
    ordered = sorted(nodes, key=lambda node: node.name != best)
    groups = [PodsNodes(nodes=tuple(names), why=why) for why, names in alike.items()]
    return RefusedPod(
        groups=tuple(sorted(groups, key=lambda one: -len(one.nodes))),
        funnels=explained[best],
        remedies=advise_pod(ask, fits.placer, fits, ordered, elsewhere),
    )


def short_reasons(refused: Mapping[str, JointRefusal]) -> Mapping[str, str]:
    """Return the refusals of nodes without what they say of single devices, by name."""
    return {name: short_reason(why) for name, why in refused.items()}


def short_reason(refusal: JointRefusal) -> str:
    """Return a refusal without what it says of single devices."""
    detail = refusal.detail.partition(": ")[0] if refusal.has_reasons else refusal.detail
    return f"{refusal.kind}: {detail}"


def _closeness(funnel: PodFunnel) -> int:
    """Return how far a type of device comes on a node: the stages that leave enough."""
    return len(funnel.stages) + 1 if funnel.decisive is None else funnel.decisive
