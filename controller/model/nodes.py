"""A node as the controller sees it. Takes the document of a Node; returns a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from controller.model.checked import name, text
from controller.model.placement import NodeTaint
from controller.model.resources import Amounts, read_amounts
from scheduler_core.frontends.partitions.node_table import NodeTable, node_table_or_problem
from scheduler_core.model.nodes import Node
from scheduler_core.model.ownership import CONTROLLER, OWNER

_UNSCHEDULABLE: Final = NodeTaint("node.kubernetes.io/unschedulable", "", "NoSchedule")
_KEEPING_OUT: Final = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNode:
    """A node.

    Shape: ``taints`` are those that keep pods out; ``table`` are the partitions of its GPUs that its
           annotation lists.
    """

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    declared_features: frozenset[str] = frozenset()
    taints: tuple[NodeTaint, ...] = ()
    room: Amounts = field(default_factory=Amounts)
    table: NodeTable = field(default_factory=NodeTable)

    @property
    def wants_controller(self) -> bool:
        """Whether the node's label gives its devices to the controller."""
        return self.labels.get(OWNER) == CONTROLLER

    @property
    def core(self) -> Node:
        """Return the node as the core knows it."""
        return Node(self.name, self.labels, self.declared_features)


def read_node(document: Mapping[str, Any]) -> ClusterNode:
    """Return a node."""
    metadata, spec = document["metadata"], document.get("spec") or {}
    status = document.get("status") or {}
    taints = [
        NodeTaint(
            name(one["key"], "spec.taints[].key"),
            text(one.get("value"), "spec.taints[].value"),
            name(one["effect"], "spec.taints[].effect"),
        )
        for one in spec.get("taints") or ()
        if one.get("effect") in _KEEPING_OUT
    ]
    if spec.get("unschedulable") and _UNSCHEDULABLE not in taints:
        taints.append(_UNSCHEDULABLE)
    return ClusterNode(
        name=metadata["name"],
        labels=metadata.get("labels") or {},
        declared_features=frozenset(status.get("declaredFeatures") or ()),
        taints=tuple(taints),
        room=read_amounts(status.get("allocatable")),
        table=node_table_or_problem(document),
    )
