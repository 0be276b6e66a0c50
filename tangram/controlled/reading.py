"""Reads a cluster once, as the controller watches it. Takes a cluster; returns a coordinator.

The coordinator is the controller's own, and writes nothing. What only a running controller knows is missing:
on which nodes a pod was refused before. How long a pod has waited is counted from its creation.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from controller.decide.allocator import Allocator
from controller.gangs.seen import read_pod_group
from controller.model.claims import read_claim
from controller.model.nodes import read_node
from controller.model.pods import read_pod
from controller.model.slices import SliceSeen, read_composite_slice, read_slice, read_slice_text
from controller.run.classes import ResourceClasses
from controller.run.coordinator import Coordinator
from controller.state.cluster_seen import ClusterSeen
from scheduler_core.base.errors import CoreError
from scheduler_core.codec import composite
from scheduler_core.codec.claims import decode_class
from scheduler_core.model.claim import ClaimRef
from tangram.clusters import ClusterReader, Reading
from tangram.errors import BadInput
from tangram.program.streams import complain

_SLICES: Final = Reading(read_slice, read_slice_text)
"""Slices as the controller watches them: from their text, what was met in another one is kept once."""
_COMPOSITE_SLICES: Final = Reading(read_composite_slice)


def read_slices(cluster: ClusterReader, seen: ClusterSeen, fields: str = "") -> list[SliceSeen]:
    """Return the slices that the controller watches, of nodes that are known. Raises: BadInput."""
    found = list(cluster.read("ResourceSlice", _SLICES, fields))
    published = {one.node for one in found}
    if any(node.wants_controller and node.name not in published for node in seen.nodes.values()):
        try:
            found += cluster.read(composite.KIND, _COMPOSITE_SLICES, fields)
        except BadInput as error:  # it takes a right of its own
            complain(f"nodes that publish only {composite.KIND}s are left out: {error}")
    return found


def read_controlled(cluster: ClusterReader, driver: str, now_s: float) -> Coordinator:
    """Read what the controller watches.

    Units: ``now_s`` in seconds since 1970.
    Raises: BadInput.
    """
    ids = (f"share-{number}" for number in itertools.count())
    seen = ClusterSeen(driver)
    coordinator = Coordinator(seen, Allocator(seen, lambda: next(ids)))
    _read_classes(cluster, coordinator)
    for node in cluster.read("Node", Reading(read_node)):
        coordinator.node_changed(node.name, node)
    slices = read_slices(cluster, seen, f"spec.driver={driver}")
    for one in slices:
        if one.problem:
            complain(f"left out: {one.problem}")
    coordinator.slices_changed([], slices)
    for document in cluster.list("ResourceClaimTemplate"):
        coordinator.template_changed(_ref(document), document)
    for claim in cluster.read("ResourceClaim", Reading(read_claim)):
        coordinator.claim_changed(None, claim)
    for group in cluster.read("PodGroup", Reading(read_pod_group)):
        coordinator.group_changed(None, group)
    for pod in cluster.read("Pod", Reading(read_pod)):
        coordinator.pod_changed(None, pod)
    for moment in (0.0, coordinator.patience.settle_s):
        coordinator.standing.now = moment
        coordinator.tick()
    _count_time_before(coordinator, now_s)
    return coordinator


def _read_classes(cluster: ClusterReader, coordinator: Coordinator) -> None:
    seen = coordinator.seen
    for document in cluster.list("DeviceClass"):
        try:
            coordinator.take(seen.set_class(decode_class(document)))
        except CoreError as error:
            complain(f"left out: {error}")
    classes = ResourceClasses(seen, lambda: 0.0, str)
    for document in cluster.list("ResourceClass"):
        coordinator.take(classes.changed(document["metadata"]["name"], document))


def _count_time_before(coordinator: Coordinator, now_s: float) -> None:
    """Let pods have waited since they were created, so that nodes are held back for those that wait long."""
    for uid in coordinator.standing.since:
        created = _seconds(coordinator.seen.waiting[uid].created)
        if created is not None:
            coordinator.standing.since[uid] = coordinator.standing.now - max(0.0, now_s - created)


def _seconds(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def _ref(document: Mapping[str, Any]) -> ClaimRef:
    return ClaimRef(document["metadata"]["namespace"], document["metadata"]["name"])
