"""Reads a cluster once, for the page: the devices of all drivers, who holds them, and the pods that wait."""

from __future__ import annotations

from controller.model.claims import read_claim
from controller.model.nodes import read_node
from controller.model.pods import read_pod
from controller.state.cluster_seen import ClusterSeen
from scheduler_core.base.errors import CoreError
from scheduler_core.codec.claims import decode_class
from tangram.clusters import ClusterReader, Reading
from tangram.controlled.reading import read_slices
from tangram.program.streams import complain


def read_seen(cluster: ClusterReader, driver: str) -> ClusterSeen:
    """Return what is known of a cluster. Raises: BadInput."""
    seen = ClusterSeen(driver, sees_all=True)
    for document in cluster.list("DeviceClass"):
        try:
            seen.set_class(decode_class(document))
        except CoreError as error:
            complain(f"left out: {error}")
    for node in cluster.read("Node", Reading(read_node)):
        seen.set_node(node)
    seen.set_slices(read_slices(cluster, seen))
    for problem in seen.problems.values():
        complain(f"left out: {problem}")
    for claim in cluster.read("ResourceClaim", Reading(read_claim)):
        seen.set_claim(claim)
    for pod in cluster.read("Pod", Reading(read_pod)):
        seen.set_pod(pod)
    return seen


def may_be_the_controllers(seen: ClusterSeen) -> bool:
    """Whether a pod may wait for the controller, so that it is worth asking what the controller would say."""
    gated = any(one.is_gated for one in seen.waiting.values())
    return gated or (bool(seen.waiting) and any(one.wants_controller for one in seen.nodes.values()))
