"""Reads a cluster once, for the page: the devices of all drivers, who holds them, and the pods that wait."""

from __future__ import annotations

from controller.model.claims import read_claim
from controller.model.nodes import read_node
from controller.model.pods import read_pod
from controller.model.slices import read_slice
from controller.state.cluster_seen import ClusterSeen
from scheduler_core.base.errors import CoreError
from scheduler_core.codec.claims import decode_class
from tangram.clusters import ClusterReader
from tangram.program.streams import complain


def read_seen(cluster: ClusterReader, driver: str) -> ClusterSeen:
    """Return what is known of a cluster. Raises: BadInput."""
    seen = ClusterSeen(driver, sees_all=True)
    for document in cluster.list("DeviceClass"):
        try:
            seen.set_class(decode_class(document))
        except CoreError as error:
            complain(f"left out: {error}")
    for document in cluster.list("Node"):
        seen.set_node(read_node(document))
    seen.set_slices([read_slice(one) for one in cluster.list("ResourceSlice")])
    for problem in seen.problems.values():
        complain(f"left out: {problem}")
    for document in cluster.list("ResourceClaim"):
        seen.set_claim(read_claim(document))
    for document in cluster.list("Pod"):
        seen.set_pod(read_pod(document))
    return seen


def may_be_the_controllers(seen: ClusterSeen) -> bool:
    """Whether a pod may wait for the controller, so that it is worth asking what the controller would say."""
    gated = any(one.is_gated for one in seen.waiting.values())
    return gated or (bool(seen.waiting) and any(one.wants_controller for one in seen.nodes.values()))
