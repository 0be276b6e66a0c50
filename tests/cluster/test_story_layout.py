"""The main story where counters may have to lie beside devices: allocation only, on a control plane alone.

The agent is a process beside the API server, for a node that is only an object; no kubelet is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bare_node import install_classes, publishing
from cluster_support import eventually, pod
from story import allocated, devices, example, refusal

from kube_api import PODS, RESOURCE_CLAIMS, KubeApi

pytestmark = pytest.mark.layout


@pytest.fixture
def node(api: KubeApi, namespace: str, kubeconfig: Path, tmp_path: Path) -> Iterator[str]:
    """A node that is an object, with an agent that publishes the two A100 of KEP-4815 for it."""
    name = f"node-of-{namespace}"
    install_classes(api, "deploy/examples/device-classes.yaml")
    with publishing(api, kubeconfig, name, tmp_path, "--simulated=a100x2"):
        assert len(devices(api, name)) == 52
        yield name


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
