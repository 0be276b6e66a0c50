"""What ``kubectl apply -k`` installed does what its manifests say, and may do no more."""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cluster_support import Document, eventually
from launcher.client import ClusterControl
from story import ROOT, Gpu, allocated, claim, create, free_gpu, published, sight

from kube_api import (
    DEVICE_CLASSES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Forbidden,
    KubeApi,
    Limits,
    Resource,
)

NAMESPACE = "tangram-system"
OVERLAYS = ROOT / "deploy/manifests/overlays"
COMPOSITES = Resource.of("tangram.dev/v1alpha1", "CompositeResourceSlice", "compositeresourceslices")
SECRETS = Resource.of("v1", "Secret", "secrets", namespaced=True)

Kubectl = Callable[..., str]


@pytest.fixture
def kubectl(kubeconfig: Path) -> Kubectl:
    """kubectl, as the administrator; it returns what the program printed."""

    def run(*arguments: str) -> str:
        command = ("kubectl", f"--kubeconfig={kubeconfig}", *arguments)
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=90).stdout

    return run


@pytest.fixture
def tangram(api: KubeApi, node: str) -> Document:
    """Tangram's pod on the node."""
    pods = api.list(PODS, NAMESPACE, "app.kubernetes.io/name=tangram", f"spec.nodeName={node}").items
    assert pods, f"Tangram does not run on {node}"
    return dict(pods[0].document)


@pytest.fixture
def as_tangram(kubeconfig: Path, kubectl: Kubectl, tmp_path: Path) -> Callable[..., KubeApi]:
    """The API server as Tangram's service account, with the token of a pod or with one that names none."""

    def connect(pod: Document | None = None) -> KubeApi:
        metadata = pod["metadata"] if pod else {}
        bound = (
            "--bound-object-kind=Pod",
            f"--bound-object-name={metadata.get('name')}",
            f"--bound-object-uid={metadata.get('uid')}",
        )
        token = kubectl("create", "token", "tangram", f"--namespace={NAMESPACE}", *(bound if pod else ()))
        config = json.loads(kubectl("config", "view", "--raw", "--flatten", "--minify", "--output=json"))
        config["users"][0]["user"] = {"token": token.strip()}
        file = tmp_path / "kubeconfig"
        file.write_text(json.dumps(config))
        return KubeApi.connect(
            file,
            user_agent="tangram-tests",
            clock=time.monotonic,
            sleep=time.sleep,
            random=random.random,
            limits=Limits(),
        )

    return connect


def v1_slice(node: str, name: str) -> Document:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "policy.example.com", "nodeName": node, "pool": pool, "devices": [{"name": "d"}]}
    return {"metadata": {"name": name}, "spec": spec}


def composite_slice(node: str, name: str) -> Document:
    document = v1_slice(node, name)
    return {**document, "spec": {**document["spec"], "devices": [{"name": "d", "basic": {}}]}}


KINDS = [
    pytest.param(RESOURCE_SLICES, v1_slice, id="v1"),
    pytest.param(COMPOSITES, composite_slice, id="composite"),
]


@pytest.mark.parametrize(("kind", "make"), KINDS)
def test_a_node_writes_and_deletes_its_own_slices(
    api: KubeApi,
    as_tangram: Callable[..., KubeApi],
    tangram: Document,
    node: str,
    namespace: str,
    kind: Resource,
    make: Callable[[str, str], Document],
) -> None:
    ours = as_tangram(tangram)

    stored = ours.create(kind, make(node, namespace))
    ours.delete(kind, namespace)

    assert stored.document["spec"]["nodeName"] == node


@pytest.mark.parametrize(("kind", "make"), KINDS)
def test_a_node_cannot_write_a_slice_of_another_node(
    as_tangram: Callable[..., KubeApi],
    tangram: Document,
    node: str,
    namespace: str,
    kind: Resource,
    make: Callable[[str, str], Document],
) -> None:
    ours = as_tangram(tangram)

    with pytest.raises(Forbidden, match=f"this token is of node {node}, whose slices it may write"):
        ours.create(kind, make("another-node", namespace))


@pytest.mark.parametrize(("kind", "make"), KINDS)
def test_a_node_cannot_delete_a_slice_of_another_node(
    api: KubeApi,
    as_tangram: Callable[..., KubeApi],
    tangram: Document,
    namespace: str,
    kind: Resource,
    make: Callable[[str, str], Document],
) -> None:
    api.create(kind, make("another-node", namespace))
    ours = as_tangram(tangram)

    try:
        with pytest.raises(Forbidden, match="write a slice of node another-node"):
            ours.delete(kind, namespace)
    finally:
        api.delete(kind, namespace)


def test_a_node_cannot_take_over_a_composite_slice_of_another_node(
    api: KubeApi, as_tangram: Callable[..., KubeApi], tangram: Document, node: str, namespace: str
) -> None:
    stored = api.create(COMPOSITES, composite_slice("another-node", namespace)).document
    ours = as_tangram(tangram)

    try:
        with pytest.raises(Forbidden, match="write a slice of node another-node"):
            ours.replace(COMPOSITES, {**stored, "spec": {**stored["spec"], "nodeName": node}})
    finally:
        api.delete(COMPOSITES, namespace)


def test_a_token_that_names_no_node_writes_no_slice(
    as_tangram: Callable[..., KubeApi], node: str, namespace: str
) -> None:
    with pytest.raises(Forbidden, match="the token names no node"):
        as_tangram().create(RESOURCE_SLICES, v1_slice(node, namespace))


@pytest.mark.parametrize("kind", [RESOURCE_CLAIMS, PODS, SECRETS], ids=str)
def test_the_service_account_reads_nothing_that_it_does_not_need(
    as_tangram: Callable[..., KubeApi], tangram: Document, kind: Resource
) -> None:
    with pytest.raises(Forbidden):
        as_tangram(tangram).list(kind)


@pytest.fixture
def device_plugin_pods(api: KubeApi, kubectl: Kubectl) -> Iterator[None]:
    """The overlay for pods of a device plugin, undone as its comment says."""
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


def is_replaced(api: KubeApi, old: Document, node: str) -> bool:
    found = api.list(PODS, NAMESPACE, "app.kubernetes.io/name=tangram", f"spec.nodeName={node}").items
    ready = [
        one["status"]
        for pod in found
        for one in pod.document["status"].get("conditions", [])
        if one["type"] == "Ready" and pod.metadata.uid != old["metadata"]["uid"]
    ]
    return len(found) == 1 and ready == ["True"]


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


def test_the_agents_metrics_and_health_are_for_its_node_only(
    control: ClusterControl, node: str, tangram: Document
) -> None:
    health = control.run_on_node(node, ["busybox", "wget", "-qO-", "http://127.0.0.1:9464/readyz"])
    address = tangram["status"]["hostIP"]
    outside = control.run_on_node(node, ["busybox", "wget", "-qO-", f"http://{address}:9464/readyz"])

    assert health.returncode == 0, health.stderr
    assert outside.returncode != 0
