"""GPUs of two nodes as one device: the shipped example on two kubelets."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
import yaml
from cluster_support import Document, eventually, pod, running
from crd_support import POOLS, ROOT
from launcher.client import ClusterControl

from kube_api import (
    DEVICE_CLASSES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    AlreadyExists,
    KubeApi,
    NotFound,
    Resource,
)

DEPLOYMENTS = Resource.of("apps/v1", "Deployment", "deployments", namespaced=True)
EXAMPLES = ROOT / "deploy/examples/multi-node"
NODE_NAMES = ("node-1", "node-2")
DRIVER = "tangram.dev"


class Site:
    """Two nodes, a pool of their GPUs, and a namespace."""

    def __init__(self, api: KubeApi, control: ClusterControl, namespace: str) -> None:
        self.api, self.control, self.namespace = api, control, namespace

    def create_pool(self) -> str:
        """Create the pool of the example under a name of its own."""
        document: Document = yaml.safe_load((EXAMPLES / "gpus.yaml").read_text())
        document["metadata"]["name"] = f"gpus-{uuid.uuid4().hex[:6]}"
        return self.api.create(POOLS, document).metadata.name

    def told(self, name: str) -> tuple[str, str]:
        """Return the condition of a pool."""
        conditions = self.api.get(POOLS, name).document.get("status", {}).get("conditions", ())
        return next(((one["status"], one["message"]) for one in conditions), ("", ""))

    def has_pool(self, name: str) -> bool:
        """Whether a pool is there."""
        try:
            return bool(self.api.get(POOLS, name))
        except NotFound:
            return False

    def gpus(self, node: str) -> set[str]:
        """Return the devices of a node's pool that are, or are cut from, a GPU."""
        found = self.api.list(
            RESOURCE_SLICES, field_selector=f"spec.driver={DRIVER},spec.nodeName={node}"
        ).items
        devices = (device for one in found for device in one.document["spec"].get("devices", ()))
        return {device["name"] for device in devices if device["name"].startswith("gpu")}

    def deploy(self) -> list[Document]:
        """Create the Deployment of the example and return its pods, which run."""
        for document in yaml.safe_load_all((EXAMPLES / "gpus-deployment.yaml").read_text()):
            kinds = {one.kind: one for one in (DEVICE_CLASSES, RESOURCE_CLAIMS, DEPLOYMENTS)}
            kind = kinds[document["kind"]]
            with suppress(AlreadyExists):
                self.api.create(kind, document, self.namespace if kind.namespaced else None)
        found = eventually(
            lambda: names if len(names := self._pods()) == 2 else None, "two pods of the Deployment"
        )
        return [running(self.api, name, self.namespace) for name in found or ()]

    def log(self, name: str) -> str:
        """Return what a pod has printed, once it has printed all."""
        path = f"{PODS.path(self.namespace, name)}/log"
        return eventually(
            lambda: text if "/dev/nvidiactl" in (text := self.api.raw_get(path)) else "", "the pod's log"
        )

    def records(self, node: str) -> list[str]:
        """Return the records of claims that are prepared on a node."""
        folder = self.control.node_root(node) / f"var/lib/kubelet/plugins/{DRIVER}/claims"
        return [one.read_text() for one in folder.glob("*.json*")]

    def _pods(self) -> list[str]:
        return [one.metadata.name for one in self.api.list(PODS, self.namespace, "app=gpu-consumer").items]


@pytest.fixture
def site(api: KubeApi, control: ClusterControl, namespace: str) -> Iterator[Site]:
    if {one.metadata.name for one in api.list(NODES).items} != set(NODE_NAMES):
        pytest.skip("needs two nodes and the controller: hack/cluster run --controller --nodes 2")
    yield Site(api, control, namespace)
    for one in api.list(POOLS).items:
        api.delete(POOLS, one.metadata.name)


def test_two_pods_share_the_gpus_of_two_nodes_and_each_sees_those_of_its_node(
    site: Site, kubectl: Callable[..., str]
) -> None:
    eventually(lambda: all(site.gpus(node) for node in NODE_NAMES), "both nodes publish their GPUs")
    name = site.create_pool()
    eventually(lambda: site.told(name) == ("True", ""), f"published: {site.told(name)}", 60)

    assert [site.gpus(node) for node in NODE_NAMES] == [set(), set()]

    pods = site.deploy()

    assert {one["spec"]["nodeName"] for one in pods} == set(NODE_NAMES)
    for one in pods:
        text = site.log(one["metadata"]["name"])
        (told,) = (line for line in text.splitlines() if line.startswith("TANGRAM_DEVICE_FOUR_GPUS="))
        assert len(told.partition("=")[2].split(",")) == 2
        assert "/dev/nvidia0" in text
        assert "/dev/nvidia1" in text
        assert [f"multi-node/{name}" in record for record in site.records(one["spec"]["nodeName"])] == [True]

    site.api.delete(POOLS, name)
    eventually(lambda: "has device four-gpus" in site.told(name)[1], "the pool waits for the claim")
    assert [site.gpus(node) for node in NODE_NAMES] == [set(), set()]

    site.api.delete(DEPLOYMENTS, "gpu-consumer", site.namespace)
    site.api.delete(RESOURCE_CLAIMS, "four-gpus", site.namespace)
    eventually(
        lambda: not site.has_pool(name), f"the pool goes: {site.has_pool(name) and site.told(name)}", 60
    )
    eventually(lambda: all(site.gpus(node) for node in NODE_NAMES), "both nodes have their GPUs back")
    assert [site.records(node) for node in NODE_NAMES] == [[], []]
    assert "not offered: gpu-0" in kubectl("logs", "--namespace=tangram-system", "daemonset/tangram", "agent")


def test_a_pool_waits_for_the_claim_that_has_one_of_its_gpus(site: Site) -> None:
    expression = f'device.attributes["{DRIVER}"].minor == 1'
    exactly = {"deviceClassName": "gpu.tangram.dev", "selectors": [{"cel": {"expression": expression}}]}
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}
    site.api.create(RESOURCE_CLAIMS, {"metadata": {"name": "one"}, "spec": spec}, site.namespace)
    user = pod("user", claims={"gpu": "one"}, nodeSelector={"kubernetes.io/hostname": "node-1"})
    site.api.create(PODS, user, site.namespace)
    running(site.api, "user", site.namespace)

    name = site.create_pool()
    eventually(
        lambda: f"claim {site.namespace}/one has device gpu-1, which node" in site.told(name)[1],
        "the pool names the claim",
        60,
    )
    slices = site.api.list(RESOURCE_SLICES, label_selector=f"tangram.dev/multi-node-pool={name}").items
    devices = [device for one in slices for device in one.document["spec"].get("devices", ())]
    assert all(device["taints"][0]["value"] == "nobody" for device in devices)

    site.api.delete(PODS, "user", site.namespace)
    site.api.delete(RESOURCE_CLAIMS, "one", site.namespace)

    eventually(lambda: site.told(name) == ("True", ""), "it is published", 60)
