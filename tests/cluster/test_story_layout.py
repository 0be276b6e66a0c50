"""The main story where counters may have to lie beside devices: allocation only, on a control plane alone.

The agent is a process beside the API server, for a node that is only an object; no kubelet is needed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from cluster_support import Document, eventually, pod
from story import ROOT, allocated, devices, example, refusal

from kube_api import (
    DEVICE_CLASSES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    AlreadyExists,
    KubeApi,
)

pytestmark = pytest.mark.layout


@pytest.fixture
def node(api: KubeApi, namespace: str, kubeconfig: Path, tmp_path: Path) -> Iterator[str]:
    """A node that is an object, with an agent that publishes the two A100 of KEP-4815 for it."""
    name = f"node-of-{namespace}"
    api.create(NODES, node_object(name))
    for device_class in yaml.safe_load_all((ROOT / "deploy/examples/device-classes.yaml").read_text()):
        try:
            api.create(DEVICE_CLASSES, device_class)
        except AlreadyExists:
            continue
    command = (
        *(sys.executable, "-m", "agent", f"--kubeconfig={kubeconfig}", f"--node-name={name}"),
        *("--simulated=a100x2", f"--machine={tmp_path / 'machine'}"),
    )
    with open(tmp_path / "agent.log", "wb") as log, subprocess.Popen(command, stderr=log) as agent:
        try:
            eventually(lambda: len(devices(api, name)) == 52, f"the slices of {name}")
            yield name
        finally:
            agent.terminate()
    for found in api.list(RESOURCE_SLICES, field_selector=f"spec.nodeName={name}").items:
        api.delete(RESOURCE_SLICES, found.metadata.name)
    api.delete(NODES, name)


def node_object(name: str) -> Document:
    """Return a node that the scheduler takes for one that runs."""
    resources = {"cpu": "64", "memory": "512Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "Simulated", "message": ""}
    times = {"lastHeartbeatTime": "2030-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": resources, "capacity": resources, "conditions": [{**ready, **times}]},
    }


def ask(api: KubeApi, kind: str, name: str, namespace: str, node: str) -> None:
    """Create the claim of an example and a pod for it that only this node can have."""
    (template,), _ = example(kind)
    api.create(RESOURCE_CLAIMS, {"metadata": {"name": name}, "spec": template["spec"]["spec"]}, namespace)
    document = pod(
        name,
        claims={"devices": name},
        nodeSelector={"kubernetes.io/hostname": node},
        tolerations=[{"operator": "Exists"}],
        automountServiceAccountToken=False,
    )
    api.create(PODS, document, namespace)


def answer(api: KubeApi, name: str, namespace: str) -> list[str]:
    """Wait until the claim is allocated and return its devices."""

    def look() -> list[str]:
        found = dict(api.get(RESOURCE_CLAIMS, name, namespace).document)
        return list(allocated(found).values()) if found.get("status", {}).get("allocation") else []

    return eventually(look, f"claim {namespace}/{name} is allocated")


def test_the_claim_of_kep_4815_fills_one_gpu_after_the_other_and_then_nothing_more_is_given(
    api: KubeApi, namespace: str, node: str
) -> None:
    published = devices(api, node)
    for name in ("first", "second"):
        ask(api, "four-partitions", name, namespace, node)

    found = {name: answer(api, name, namespace) for name in ("first", "second")}
    ask(api, "whole-gpu", "third", namespace, node)
    why = refusal(api, "third", namespace)

    parents = {name: {published[one]["parentUUID"] for one in one_claim} for name, one_claim in found.items()}
    profiles = {
        name: sorted(published[one]["profile"] for one in one_claim) for name, one_claim in found.items()
    }
    assert [len(parent) for parent in parents.values()] == [1, 1]
    assert parents["first"] != parents["second"]
    assert set(map(tuple, profiles.values())) == {("1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb")}
    assert "cannot allocate all claims" in why


def test_while_a_gpu_is_held_as_a_whole_no_partition_of_it_is_given(
    api: KubeApi, namespace: str, node: str
) -> None:
    for name in ("first", "second"):
        ask(api, "whole-gpu", name, namespace, node)
    held = [answer(api, name, namespace) for name in ("first", "second")]

    ask(api, "shared-partition", "third", namespace, node)
    why = refusal(api, "third", namespace)

    assert sorted(held) == [["gpu-0"], ["gpu-1"]]
    assert "cannot allocate all claims" in why
