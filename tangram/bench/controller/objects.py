"""The objects of the benchmark: pods that ask for four partitions, in the ways in which claims are made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from scheduler_core.model.ownership import CONTROLLER, OWNER, TEMPLATES
from tangram.bench.cluster_objects import four_partitions, pod
from tangram.bench.cluster_port import Document
from tangram.live_cluster import LiveCluster

LABEL: Final = "tangram.dev/node-object"
TEMPLATE: Final = "four-partitions"
TAINT: Final = {"key": OWNER, "value": CONTROLLER, "effect": "NoSchedule"}
ON_OBJECTS: Final = {"nodeSelector": {LABEL: "true"}, "terminationGracePeriodSeconds": 0}


class Ways(StrEnum):
    """Who makes the claim of a pod."""

    USER = "user"
    CONTROLLER = "controller"
    CLAIM_CONTROLLER = "claim controller"


def ask(cluster: LiveCluster, namespace: str, name: str, way: Ways, gate: str | None) -> None:
    """Make a pod with its claim. Shape: ``gate`` None for none. Raises: BadInput."""
    if way is Ways.USER:
        cluster.create("ResourceClaim", four_partitions(name), namespace)
    cluster.create("Pod", _pod(name, way, gate), namespace)


def _pod(name: str, way: Ways, gate: str | None) -> Document:
    claim = "resourceClaimTemplateName" if way is Ways.CLAIM_CONTROLLER else "resourceClaimName"
    named = TEMPLATE if way is Ways.CLAIM_CONTROLLER else name
    found = dict(pod(name, ON_OBJECTS, [{"name": "partitions", claim: named}]))
    if gate is not None:
        found["spec"] = {**found["spec"], "schedulingGates": [{"name": gate}]}
    if way is Ways.CONTROLLER:
        made = {TEMPLATES: json.dumps({name: TEMPLATE})}
        found["metadata"] = {**found["metadata"], "annotations": made}
    return found


def template() -> Document:
    """Return the template of the claim."""
    return {"metadata": {"name": TEMPLATE}, "spec": {"spec": four_partitions(TEMPLATE)["spec"]}}


def tainted(document: Mapping[str, Any]) -> Document:
    """Return a slice as the agent of a node writes it whose devices are the controller's."""
    spec = document["spec"]
    devices = [{**one, "taints": [TAINT]} for one in spec.get("devices", ())]
    metadata = {"name": document["metadata"]["name"]}
    return {**document, "metadata": metadata, "spec": {**spec, **({"devices": devices} if devices else {})}}


def labelled() -> Document:
    """Return the patch that gives a node's devices to the controller."""
    return {"metadata": {"labels": {OWNER: CONTROLLER}}}
