"""The manifests for NVIDIA's GPUs start on a real node, beside the simulated Tangram under another name.

The nodes of this cluster have no such GPU, which is the case shown: the pods are well and wait for one.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from cluster_support import Document, eventually
from story import DRIVER, ROOT, devices, slices

from kube_api import NAMESPACES, NODES, PODS, RESOURCE_SLICES, KubeApi, Resource

OTHER = "idle.example.com"
DAEMON_SETS = Resource.of("apps/v1", "DaemonSet", "daemonsets", namespaced=True)
CONFIG_MAPS = Resource.of("v1", "ConfigMap", "configmaps", namespaced=True)
ACCOUNTS = Resource.of("v1", "ServiceAccount", "serviceaccounts", namespaced=True)
BINDINGS = Resource.of("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings")
COMPOSITES = Resource.of("tangram.dev/v1alpha1", "CompositeResourceSlice", "compositeresourceslices")
RUNNING = "app.kubernetes.io/name=tangram"


def under_another_name(folder: Path, namespace: str, image: str) -> dict[str, Document]:
    """Return what the overlay says, by kind, so that it can run beside the installed Tangram."""
    manifests = Path(os.path.relpath(ROOT / "deploy/manifests", folder))
    never_stored = {"annotations": {"config.kubernetes.io/local-config": "true"}}
    chosen = {
        "resources": [str(manifests / "overlays/nvidia")],
        "components": [str(manifests / "driver-name")],
        "configMapGenerator": [{"name": "driver", "literals": [f"name={OTHER}"], "options": never_stored}],
    }
    (folder / "kustomization.yaml").write_text(json.dumps(chosen))
    command = ("kubectl", "kustomize", str(folder))
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    # The label is no part of the driver's name, but the installed Tangram goes by it too.
    for old, new in ((f"{DRIVER}/node", f"{OTHER}/node"), ("tangram-system", namespace), ("9464", "9465")):
        text = text.replace(old, new)
    found = {document["kind"]: document for document in yaml.safe_load_all(text)}
    for container in found["DaemonSet"]["spec"]["template"]["spec"]["containers"]:
        container["image"] = image
    found["ClusterRoleBinding"]["metadata"]["name"] = namespace
    return found


@pytest.fixture
def idle_pod(api: KubeApi, tmp_path: Path, namespace: str, node: str) -> Iterator[Document]:
    """The pod of the overlay on the node, once it is ready."""
    (installed,) = api.list(PODS, "tangram-system", RUNNING, f"spec.nodeName={node}").items
    image = installed.document["spec"]["containers"][0]["image"]
    found = under_another_name(tmp_path, namespace, image)
    api.create(ACCOUNTS, found["ServiceAccount"], namespace)
    api.create(BINDINGS, found["ClusterRoleBinding"])
    api.create(CONFIG_MAPS, found["ConfigMap"], namespace)
    api.create(DAEMON_SETS, found["DaemonSet"], namespace)
    api.patch(NODES, node, {"metadata": {"labels": {f"{OTHER}/node": "true"}}})
    yield eventually(lambda: ready_pod(api, namespace), "the overlay's pod is ready", 60)
    api.patch(NODES, node, {"metadata": {"labels": {f"{OTHER}/node": None}}})
    eventually(lambda: not api.list(PODS, namespace).items, "the overlay's pod is gone", 60)
    api.delete(BINDINGS, namespace)
    api.delete(NAMESPACES, namespace)
    for kind in (RESOURCE_SLICES, COMPOSITES):
        for stored in api.list(kind).items:
            if stored.document["spec"]["driver"] == OTHER:
                api.delete(kind, stored.metadata.name)


def ready_pod(api: KubeApi, namespace: str) -> Document | None:
    for found in api.list(PODS, namespace, RUNNING).items:
        states = found.document["status"].get("containerStatuses", [])
        if states and all(one["ready"] for one in states):
            return dict(found.document)
    return None


def test_a_node_gets_its_pod_by_its_label_and_without_gpus_the_pod_waits_and_offers_none(
    api: KubeApi, idle_pod: Document, node: str
) -> None:
    restarts = [one["restartCount"] for one in idle_pod["status"]["containerStatuses"]]

    eventually(lambda: slices(api, node, OTHER), "the pool is published, be it empty")

    assert idle_pod["spec"]["nodeName"] == node
    assert restarts == [0, 0]
    assert {one["type"] for one in devices(api, node, OTHER).values()} <= {"nic", "vf"}
