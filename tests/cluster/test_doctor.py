"""``tangram doctor --cluster`` in a real cluster finds each planted fault by its id, and nothing else."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cluster_support import Document
from launcher.client import ClusterControl

from kube_api import EVENTS, NODES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES, KubeApi, NotFound, Resource
from tangram.api import open_mendable
from tangram.doctor.cluster.patient import ClusterPatient
from tangram.doctor.cluster.rules import POLICIES
from tangram.doctor.finding import Finding

FINALIZER = "resource.kubernetes.io/delete-protection"
LONG_AGO = "2026-01-01T00:00:00Z"
_LATER_S = 300.0


@dataclass
class Planted:
    """Faults of a driver that nobody runs, and what they are called."""

    api: KubeApi
    namespace: str
    driver: str = field(default_factory=lambda: f"d{uuid.uuid4().hex[:6]}.tangram.dev")
    ids: set[str] = field(default_factory=set)
    made: list[tuple[Resource, str]] = field(default_factory=list)
    left: frozenset[str] = frozenset()
    """Claims of other tests that nobody ends: ``NAMESPACE/NAME``."""

    @property
    def node(self) -> str:
        return f"node-of-{self.driver}"

    def create(self, resource: Resource, document: Document) -> Document:
        namespace = self.namespace if resource.namespaced else None
        stored = self.api.create(resource, document, namespace)
        self.made.append((resource, stored.metadata.name))
        return dict(stored.document)

    def slice(self, suffix: str, node: str, devices: list[Document], **pool: Any) -> None:
        whole = {"name": node, "generation": 1, "resourceSliceCount": 1, **pool}
        spec = {"driver": self.driver, "nodeName": node, "pool": whole, "devices": devices}
        self.create(RESOURCE_SLICES, {"metadata": {"name": f"{self.driver}-{suffix}"}, "spec": spec})

    def claim(self, name: str, users: list[Document]) -> None:
        request = {"name": "r", "exactly": {"deviceClassName": "none"}}
        metadata = {"name": name, "finalizers": [FINALIZER]}
        stored = self.create(
            RESOURCE_CLAIMS, {"metadata": metadata, "spec": {"devices": {"requests": [request]}}}
        )
        result = {"request": "r", "driver": self.driver, "pool": self.node, "device": f"of-{name}"}
        allocation = {"devices": {"results": [result]}, "allocationTimestamp": LONG_AGO}
        status = {"allocation": allocation, "reservedFor": users}
        self.api.replace(RESOURCE_CLAIMS, {**stored, "status": status}, self.namespace, "status")

    def pod(self, name: str, spec: Document, **metadata: Any) -> Document:
        whole = {"nodeName": self.node, "terminationGracePeriodSeconds": 0, **spec}
        return self.create(PODS, {"metadata": {"name": name, **metadata}, "spec": whole})

    def close(self) -> None:
        for resource, name in self.made:
            namespace = self.namespace if resource.namespaced else None
            with suppress(NotFound):
                if resource is RESOURCE_CLAIMS:
                    status = {"allocation": None, "reservedFor": None}
                    self.api.patch(resource, name, {"status": status}, namespace, subresource="status")
                    self.api.patch(resource, name, {"metadata": {"finalizers": None}}, namespace)
                self.api.delete(resource, name, namespace)


def plant_nodes(planted: Planted) -> None:
    """Plant a node without the driver's pod, slices of one that is gone, and pools that are not whole."""
    labels = {"tangram.dev/node": "true"}
    taints = [{"key": "example.com/test", "effect": "NoSchedule"}]
    planted.create(NODES, {"metadata": {"name": planted.node, "labels": labels}, "spec": {"taints": taints}})
    gone = f"gone-{planted.driver}"
    taint = {"key": "example.com/ill", "value": "yes", "effect": "NoSchedule", "timeAdded": LONG_AGO}
    gpu = {"name": "gpu-0", "attributes": {"type": {"string": "gpu"}}}
    planted.slice("gone", gone, [gpu])
    planted.slice("old", planted.node, [{"name": "d"}], name="pool-a")
    planted.slice("new", planted.node, [{"name": "d"}], name="pool-a", generation=2)
    planted.slice("part", planted.node, [{"name": "ill", "taints": [taint]}], resourceSliceCount=2)
    planted.ids |= {
        f"slices-of-gone-node/{gone}",
        "slices-of-old-generation/pool-a",
        f"pool-incomplete/{planted.node}",
        f"taint-old/{planted.node}/example.com/ill=yes:NoSchedule",
        "device-class-missing/gpu",
        *(f"policy-missing/{one}" for one in POLICIES),
    }


def plant_claims(planted: Planted) -> None:
    """Plant claims of nobody, of a pod that is gone, and a deleted one that its finalizer keeps."""
    planted.claim("nobodys", [])
    planted.claim("of-gone", [{"resource": "pods", "name": "gone", "uid": "gone"}])
    request = {"name": "r", "exactly": {"deviceClassName": "none"}}
    metadata = {"name": "kept", "finalizers": [FINALIZER]}
    planted.create(RESOURCE_CLAIMS, {"metadata": metadata, "spec": {"devices": {"requests": [request]}}})
    planted.api.delete(RESOURCE_CLAIMS, "kept", planted.namespace)
    planted.ids |= {
        f"claim-for-nobody/{planted.namespace}/nobodys",
        f"claim-of-gone-pod/{planted.namespace}/of-gone",
        f"finalizer-without-owner/claim/{planted.namespace}/kept",
    }


def plant_pods(planted: Planted) -> None:
    """Plant a pod that waits for its device, and two DaemonSets whose pods do not become ready."""
    uses: Document = {
        "containers": [{"name": "c", "image": "localhost/pause:1", "resources": {"claims": [{"name": "r"}]}}],
        "resourceClaims": [{"name": "r", "resourceClaimName": "waited-for"}],
    }
    stored = planted.pod("waits", uses)
    user = {"resource": "pods", "name": "waits", "uid": stored["metadata"]["uid"]}
    planted.claim("waited-for", [user])
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": LONG_AGO}
    status = {"status": {"conditions": [scheduled]}}
    planted.api.patch(PODS, "waits", status, planted.namespace, subresource="status")
    about = {"apiVersion": "v1", "kind": "Pod", "namespace": planted.namespace, **user}
    del about["resource"]
    planted.create(
        EVENTS,
        {
            "metadata": {"name": "waits.1"},
            "type": "Warning",
            "reason": "FailedPrepareDynamicResources",
            "action": "Prepare",
            "note": "planted: the GPU is in use",
            "regarding": about,
            "reportingController": "example.com/test",
            "reportingInstance": "test",
            "eventTime": "2026-01-01T00:00:00.000000Z",
        },
    )
    for number in ("one", "two"):
        container = {"name": "plugin", "image": "localhost/pause:1", "command": ["python3", "-m", "plugin"]}
        spec = {"containers": [{**container, "args": [f"--driver-name={planted.driver}"]}]}
        owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": number, "uid": f"uid-{number}"}
        planted.pod(number, spec, ownerReferences=[owner])
        planted.ids.add(f"pod-not-ready/{planted.namespace}/{number}")
    planted.ids |= {f"pod-waits-for-prepare/{planted.namespace}/waits", f"two-daemon-sets/{planted.node}"}


@pytest.fixture
def planted(api: KubeApi, control: ClusterControl, namespace: str) -> Iterator[Planted]:
    """All faults, while the controller manager does not run: it would mend some of them."""
    control.stop("controllers")
    found = Planted(api, namespace)
    found.left = frozenset(_leaving(api))
    try:
        for plant in (plant_nodes, plant_claims, plant_pods):
            plant(found)
        yield found
    finally:
        found.close()
        control.start("controllers")


def _leaving(api: KubeApi) -> list[str]:
    claims = (one.document["metadata"] for one in api.list(RESOURCE_CLAIMS).items)
    return [f"{one['namespace']}/{one['name']}" for one in claims if one.get("deletionTimestamp")]


def _labelled(api: KubeApi, but: str) -> set[str]:
    """Return the other nodes that are labelled for Tangram: this driver has no pod there either."""
    nodes = (one.document["metadata"] for one in api.list(NODES).items)
    return {
        one["name"]
        for one in nodes
        if one["name"] != but and one.get("labels", {}).get("tangram.dev/node") == "true"
    }


def looked(patient: ClusterPatient, left: frozenset[str]) -> Mapping[str, Finding]:
    return {one.id: one for one in patient.look() if not one.id.endswith(tuple(f"/{name}" for name in left))}


def test_each_planted_fault_is_found_by_its_id_and_two_of_them_are_mended(
    api: KubeApi, kubeconfig: Path, planted: Planted, capsys: pytest.CaptureFixture[str]
) -> None:
    patient = ClusterPatient(
        cluster=open_mendable(kubeconfig, None),
        driver=planted.driver,
        older_than_s=3600,
        clock=lambda: time.time() + _LATER_S,
        left_out=print,
    )
    elsewhere = {f"node-without-pod/{one}" for one in _labelled(api, planted.node)}

    found = looked(patient, planted.left)

    assert found.keys() == planted.ids | elsewhere
    assert len(found) >= 10
    waits = found[f"pod-waits-for-prepare/{planted.namespace}/waits"]
    assert waits.problem.endswith("planted: the GPU is in use")
    assert capsys.readouterr().out == ""  # nothing was left out

    fixed = {key for key, one in found.items() if one.fix is not None}
    for key in fixed:
        patient.mend(found[key])
    assert {key.partition("/")[0] for key in fixed} == {"slices-of-gone-node", "finalizer-without-owner"}
    # The slices that are gone were the only ones with a GPU.
    assert looked(patient, planted.left).keys() == found.keys() - fixed - {"device-class-missing/gpu"}
