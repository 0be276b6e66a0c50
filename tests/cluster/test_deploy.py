"""What ``kubectl apply -k`` installed does what its manifests say."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from cluster_support import Document, eventually
from launcher.client import ClusterControl
from story import ROOT, Gpu, allocated, claim, create, free_gpu, published, sight

from kube_api import DEVICE_CLASSES, EVENTS, PODS, KubeApi

NAMESPACE = "tangram-system"
OVERLAYS = ROOT / "deploy/manifests/overlays"

Kubectl = Callable[..., str]


@pytest.fixture
def device_plugin_pods(control: ClusterControl, api: KubeApi, kubectl: Kubectl) -> Iterator[None]:
    """The overlay for pods of a device plugin, undone as its comment says.

    ``control`` skips first in a cluster of somebody's, where nothing that is installed may change.
    """
    kubectl("apply", "-k", str(OVERLAYS / "device-plugin-pods"))
    stored = api.get(DEVICE_CLASSES, "gpu.tangram.dev").document
    if "extendedResourceName" not in stored["spec"]:
        pytest.skip("needs the feature gate DRAExtendedResource, on from Kubernetes 1.36")
    yield
    kubectl("apply", "-k", str(ROOT / "deploy/manifests/base/device-classes"))
    assert "extendedResourceName" not in api.get(DEVICE_CLASSES, "gpu.tangram.dev").document["spec"]


@pytest.mark.usefixtures("device_plugin_pods")
def test_a_pod_of_a_device_plugin_gets_a_whole_gpu_without_a_word_changed(
    api: KubeApi, namespace: str, node: str
) -> None:
    eventually(lambda: free_gpu(api, node), "a GPU is free")

    pod = create(api, "device-plugin-pod", namespace)
    seen = sight(api, pod, namespace)

    (device,) = allocated(claim(api, pod, namespace)).values()
    known = published(api, pod, namespace)[device]
    assert known["type"] == "gpu"
    assert seen.devices == {known["uuid"]}
    assert len(seen.gpus) == 1
    assert not seen.capabilities


def readiness(api: KubeApi, node: str) -> dict[str, str]:
    """Return of each of Tangram's pods on the node, by UID, whether it counts as ready."""
    found = api.list(PODS, NAMESPACE, "app.kubernetes.io/name=tangram", f"spec.nodeName={node}").items
    return {
        pod.metadata.uid: one["status"]
        for pod in found
        for one in pod.document["status"].get("conditions", [])
        if one["type"] == "Ready"
    }


def is_replaced(api: KubeApi, old: Document, node: str) -> bool:
    found = readiness(api, node)
    return list(found.values()) == ["True"] and old["metadata"]["uid"] not in found


def test_a_new_version_takes_over_while_pods_come_and_the_old_one_leaves_no_socket(
    api: KubeApi,
    control: ClusterControl,
    kubectl: Kubectl,
    tangram: Document,
    namespace: str,
    node: str,
) -> None:
    gpu: Gpu = eventually(lambda: free_gpu(api, node), "a GPU is free")

    kubectl("rollout", "restart", "daemonset/tangram", f"--namespace={NAMESPACE}")
    pod = create(api, "four-partitions", namespace, gpu)
    seen = sight(api, pod, namespace)
    eventually(lambda: is_replaced(api, tangram, node), "the next version runs alone", 90)

    registry = control.node_root(node) / "var/lib/kubelet/plugins_registry"
    assert len(seen.devices) == 4
    eventually(lambda: len(list(registry.glob("*.sock"))) == 1, "one registration socket")
    api.delete(PODS, pod, namespace)
    next_pod = create(api, "gpu-or-partition", namespace, gpu)
    assert sight(api, next_pod, namespace).devices == {gpu.uuid}


@pytest.fixture
def mute_version(
    api: KubeApi, control: ClusterControl, kubectl: Kubectl, tangram: Document, node: str
) -> Iterator[str]:
    """The UID of the pod of a next version that publishes nothing: its agent is sent to another node.

    ``control`` skips first in a cluster of somebody's, where nothing that is installed may change.
    """
    old = tangram["metadata"]["uid"]
    path = "/spec/template/spec/containers/0/args/-"
    patch = json.dumps([{"op": "add", "path": path, "value": "--node-name=nobody"}])
    kubectl("patch", "daemonset/tangram", f"--namespace={NAMESPACE}", "--type=json", f"--patch={patch}")
    yield eventually(lambda: next((uid for uid in readiness(api, node) if uid != old), ""), "its pod")
    kubectl("rollout", "undo", "daemonset/tangram", f"--namespace={NAMESPACE}")
    eventually(lambda: readiness(api, node) == {old: "True"}, "the old version runs alone", 90)


def failed_probes(api: KubeApi, pod_uid: str) -> list[str]:
    events = (event.document for event in api.list(EVENTS, NAMESPACE).items)
    found = [one for one in events if one["regarding"].get("uid") == pod_uid]
    return [str(one.get("note")) for one in found if one.get("reason") == "Unhealthy"]


def test_a_version_that_publishes_nothing_is_asked_itself_and_takes_nobodys_place(
    api: KubeApi, mute_version: str, tangram: Document, node: str
) -> None:
    def told() -> bool:
        return any("nothing is published yet" in note for note in failed_probes(api, mute_version))

    eventually(told, "the agent itself says that it is not ready", 60)

    assert readiness(api, node) == {tangram["metadata"]["uid"]: "True", mute_version: "False"}


def test_the_agents_metrics_and_health_are_for_its_node_only(
    control: ClusterControl, node: str, tangram: Document
) -> None:
    health = control.run_on_node(node, ["busybox", "wget", "-qO-", "http://127.0.0.1:9464/readyz"])
    address = tangram["status"]["hostIP"]
    outside = control.run_on_node(node, ["busybox", "wget", "-qO-", f"http://{address}:9464/readyz"])

    assert health.returncode == 0, health.stderr
    assert outside.returncode != 0
