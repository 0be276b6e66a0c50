"""Kinds of nodes that may be added to a cluster: those that it has, and those that the caller knows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.device import Device
from scheduler_core.model.nodes import AnyOf, Node, NodeSelection, OnNode, of_devices
from scheduler_core.model.pool import Pool, PoolId, Rejected
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.node_class import NodeClass, NodeView
from scheduler_core.state.node_views import pool_key, restored

_HOSTNAME: Final = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeKind:
    """A kind of node. Shape: ``node`` is one of the kind, ``pools`` are those that it alone has."""

    name: str
    node: Node
    pools: Sequence[Pool]

    def copy(self, number: int) -> tuple[Node, tuple[Pool, ...]]:
        """Return a further node of the kind, and its pools. No node has its name: names have no spaces."""
        name = f"{self.node.name} (copy {number})"
        labels = {**self.node.labels, **({_HOSTNAME: name} if _HOSTNAME in self.node.labels else {})}
        pools = (_moved(pool, f"{pool.id.name} (copy {number})", OnNode(name)) for pool in self.pools)
        return replace(self.node, name=name, labels=labels), tuple(pools)


@dataclass(frozen=True, slots=True, kw_only=True)
class Buyable:
    """What is known of nodes that may be added.

    Shape: ``kinds`` that the cluster need not have; ``names`` says, by node, what people call its kind.
    """

    kinds: Sequence[NodeKind] = ()
    names: Mapping[str, str] = field(default_factory=dict)


def node_kinds(state: ClusterState, nodes: Iterable[Node], known: Buyable) -> tuple[NodeKind, ...]:
    """Return the kinds of nodes that may be added: the given ones, then those of a cluster.

    Shape: nodes of equal hardware are of one kind, named after the first; nodes without a pool of their own
           are of none.
    """
    seen: set[NodeClass] = set()
    found: dict[Hashable, NodeKind] = {}
    for node in nodes:
        view = state.views.node_view(node)
        if view.node_class in seen:
            continue
        seen.add(view.node_class)
        kept = state.views.concerned(node)
        own = [pool for pool in kept if set(state.views.owners(pool_key(pool))) == {node.name}]
        if own:
            name = known.names.get(node.name, f"like {node.name}")
            kind = NodeKind(name=name, node=node, pools=tuple(map(restored, own)))
            found.setdefault(_hardware(view), kind)
    names = {one.name for one in known.kinds}
    return (*known.kinds, *(one for one in found.values() if one.name not in names))


def _hardware(view: NodeView) -> Hashable:
    """Return what nodes of equal hardware have in common.

    Nodes that are read early can have another node class than equal ones that are read when more is known of
    the values in which such nodes differ.
    """
    components = []
    for one in view.components:
        structure_class = one.template.structure_class
        common = structure_class.common(one.template.entries(one.own))
        components.append((structure_class, tuple(common)))
    return tuple(components), view.node_class.ranks, view.node_class.usable


def _moved(pool: Pool, name: str, where: OnNode) -> Pool:
    """Return a pool of one node as that of another node."""
    rejected = {key: Rejected(one.reason, _placed(one.device, where)) for key, one in pool.rejected.items()}
    return replace(
        pool,
        id=PoolId(pool.id.driver, name),
        devices=tuple([_placed(one, where) for one in pool.devices]),
        rejected=rejected,
        seen_from=tuple(
            [
                of_devices(_selection(each, where) for each in one.selections)
                if isinstance(one, AnyOf)
                else _selection(one, where)
                for one in pool.seen_from
            ]
        ),
        older=None,
    )


def _placed(device: Device, where: OnNode) -> Device:
    return replace(device, nodes=_selection(device.nodes, where))


def _selection(selection: NodeSelection, where: OnNode) -> NodeSelection:
    return where if isinstance(selection, OnNode) else selection
