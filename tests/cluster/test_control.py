"""What the launcher's control does is what it says: parts end and come back, nodes lose their power."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from cluster_support import eventually, phase, pod, running
from launcher.client import ClusterControl, ControlError

from kube_api import PODS, RESOURCE_SLICES, KubeApi


def test_a_pod_runs_on_a_node_that_kubelet_and_containerd_make(
    api: KubeApi, namespace: str, node: str
) -> None:
    api.create(PODS, pod("p", command=("sh", "-c", "exit 0"), restartPolicy="Never"), namespace)

    eventually(lambda: phase(api, "p", namespace) == "Succeeded", "the pod ends well")


def test_a_pod_with_its_own_network_reaches_the_api_server(api: KubeApi, namespace: str, node: str) -> None:
    reach = "nc -w 5 $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT </dev/null"
    document = pod("p", command=("sh", "-c", reach), restartPolicy="Never", hostNetwork=False)

    api.create(PODS, document, namespace)

    eventually(lambda: phase(api, "p", namespace) == "Succeeded", "the pod reaches it")


def test_a_stopped_api_server_answers_nobody_until_it_is_started(
    api: KubeApi, control: ClusterControl
) -> None:
    control.stop("apiserver")
    assert control.state().parts["apiserver"].pid is None
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("10.96.0.1", 443), timeout=5)

    control.start("apiserver")

    assert api.server_version().startswith(f"v{control.state().version}.")


def test_a_killed_kubelet_comes_back_and_its_pods_have_run_on(
    api: KubeApi, control: ClusterControl, namespace: str, node: str
) -> None:
    api.create(PODS, pod("p"), namespace)
    before = running(api, "p", namespace)["status"]["containerStatuses"][0]["containerID"]

    control.kill(f"kubelet-{node}")
    control.start(f"kubelet-{node}")

    assert running(api, "p", namespace)["status"]["containerStatuses"][0]["containerID"] == before


def test_a_reboot_leaves_no_container_and_an_empty_run_folder(
    api: KubeApi, control: ClusterControl, namespace: str, node: str
) -> None:
    api.create(PODS, pod("p"), namespace)
    before = running(api, "p", namespace)["status"]["containerStatuses"][0]["containerID"]
    (control.node_root(node) / "run" / "left").write_text("until the power goes")
    (control.node_root(node) / "var/lib/kubelet" / "kept").write_text("on disk")

    control.reboot(node)

    root = control.node_root(node)
    assert not (root / "run" / "left").exists()
    assert (root / "var/lib/kubelet" / "kept").exists()

    def another() -> bool:
        status = running(api, "p", namespace)["status"]["containerStatuses"][0]
        return bool(status["containerID"] != before and status["restartCount"] == 1)

    eventually(another, "the pod has a new container", 60)


def test_feature_gates_change_under_a_running_pod(
    api: KubeApi, control: ClusterControl, namespace: str, node: str
) -> None:
    api.create(PODS, pod("p"), namespace)
    before = running(api, "p", namespace)["status"]["containerStatuses"][0]["containerID"]

    control.set_feature_gates({"DRAPartitionableDevices": False})
    slice_ = {
        "metadata": {"name": namespace},
        "spec": {
            "driver": "test.example.com",
            "nodeName": "nowhere",
            "pool": {"name": namespace, "generation": 1, "resourceSliceCount": 1},
            "sharedCounters": [{"name": "c", "counters": {"a": {"value": "1"}}}],
        },
    }
    stored = api.create(RESOURCE_SLICES, slice_)
    api.delete(RESOURCE_SLICES, namespace)

    assert "sharedCounters" not in stored.document["spec"]
    assert running(api, "p", namespace)["status"]["containerStatuses"][0]["containerID"] == before


def test_commands_run_where_the_node_sees_its_own_files(control: ClusterControl, node: str) -> None:
    answer = control.run_on_node(node, ["cat", "/proc/self/mountinfo"])

    assert " /var/lib/kubelet " in answer.stdout
    assert " /var/lib/kubelet " not in Path("/proc/self/mountinfo").read_text()


def test_an_unknown_part_is_refused_with_those_that_are(control: ClusterControl) -> None:
    with pytest.raises(ControlError, match="there are etcd, apiserver, scheduler"):
        control.stop("nonsense")


def test_a_log_can_be_read_while_the_part_writes(control: ClusterControl) -> None:
    assert control.log_tail("etcd", 3)
