"""Whether a pod's own rules and a node's taints let the pod run there. Pure."""

from __future__ import annotations

from controller.model.nodes import ClusterNode
from controller.model.placement import Placement
from scheduler_core.model.nodes import Matching, admits


def forbidden(placement: Placement, node: ClusterNode) -> str | None:
    """Return why a pod with these rules may not run on a node, None where it may.

    Shape: a few words that are the same for all nodes with the same reason, so that they can be counted.
    """
    labels = node.labels
    if any(labels.get(key) != value for key, value in placement.selector):
        return "did not match the pod's node selector"
    if placement.terms is not None and not _one_holds(placement, node):
        return "did not match the pod's node affinity"
    for taint in node.taints:
        if not any(toleration.covers(taint) for toleration in placement.tolerations):
            value = f"={taint.value}" if taint.value else ""
            return f"had the untolerated taint {taint.key}{value}:{taint.effect}"
    return None


def _one_holds(placement: Placement, node: ClusterNode) -> bool:
    core = node.core
    return any(admits(Matching(term), core) for term in placement.terms or ())
