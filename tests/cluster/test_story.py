"""The main story in a cluster: a claim becomes a running container that sees its own devices and no others.

The objects are the shipped examples, installed with the shipped manifests; scheduler, kubelet and containerd
are Kubernetes' own.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cluster_support import eventually, phase
from launcher.client import ClusterControl
from story import Gpu, allocated, claim, create, free_gpu, prepared, published, refusal, sight, sights

from kube_api import PODS, RESOURCE_CLAIMS, KubeApi, NotFound


@pytest.fixture
def gpu(api: KubeApi, node: str) -> Gpu:
    """A GPU that nobody holds anything of: what earlier tests held is given back meanwhile."""
    return eventually(lambda: free_gpu(api, node), "a GPU is free")


def test_the_claim_of_kep_4815_becomes_a_container_that_sees_its_four_instances_and_no_other(
    api: KubeApi, namespace: str, node: str
) -> None:
    pod = create(api, "four-partitions", namespace)

    seen = sight(api, pod, namespace)

    known = published(api, pod, namespace)
    found = [known[device] for device in allocated(claim(api, pod, namespace)).values()]
    profiles = sorted(device["profile"] for device in found)
    (minor,) = {device["parentMinor"] for device in found}
    assert profiles == ["1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb"]
    assert len(seen.devices) == 4
    assert seen.devices == prepared(api, pod, namespace)
    assert seen.gpus == {minor}
    assert len(seen.capabilities) == 8  # one of the GPU instance and one of its compute instance, four times


def test_two_pods_on_one_gpu_see_nothing_of_each_other(api: KubeApi, namespace: str, gpu: Gpu) -> None:
    first = create(api, "shared-partition", namespace, gpu)
    second = create(api, "gpu-or-partition", namespace, gpu)

    ours, theirs = sights(api, first, namespace)["first"], sight(api, second, namespace)

    assert ours.gpus == theirs.gpus == {gpu.minor}
    assert not ours.devices & theirs.devices
    assert not ours.capabilities & theirs.capabilities
    assert len(ours.capabilities) == len(theirs.capabilities) == 2


def test_a_gpu_whose_partitions_are_all_taken_is_refused_as_a_whole_until_they_are_given_back(
    api: KubeApi, namespace: str, gpu: Gpu
) -> None:
    parts = create(api, "four-partitions", namespace, gpu)
    sight(api, parts, namespace)

    whole = create(api, "whole-gpu", namespace, gpu)
    why = refusal(api, whole, namespace)
    api.delete(PODS, parts, namespace)

    assert "cannot allocate all claims" in why
    assert sight(api, whole, namespace).devices == {gpu.uuid}


def test_a_gpu_that_is_taken_as_a_whole_has_no_partition_to_give_until_it_is_given_back(
    api: KubeApi, namespace: str, gpu: Gpu
) -> None:
    whole = create(api, "whole-gpu", namespace, gpu)
    seen = sight(api, whole, namespace)

    part = create(api, "shared-partition", namespace, gpu)
    why = refusal(api, part, namespace)
    api.delete(PODS, whole, namespace)

    assert seen.gpus == {gpu.minor}
    assert not seen.capabilities
    assert "cannot allocate all claims" in why
    assert sights(api, part, namespace)["first"].devices == prepared(api, part, namespace)


def test_two_containers_of_a_pod_share_one_instance(api: KubeApi, namespace: str, node: str) -> None:
    pod = create(api, "shared-partition", namespace)

    seen = sights(api, pod, namespace)

    assert seen["first"] == seen["second"]
    assert seen["first"].devices == prepared(api, pod, namespace)
    assert len(seen["first"].devices) == 1


def test_the_first_that_is_available_is_the_whole_gpu_where_it_is_free(
    api: KubeApi, namespace: str, gpu: Gpu
) -> None:
    pod = create(api, "gpu-or-partition", namespace, gpu)

    seen = sight(api, pod, namespace)

    assert allocated(claim(api, pod, namespace)) == {"compute/whole": gpu.name}
    assert seen.devices == {gpu.uuid}
    assert not seen.capabilities


def test_the_first_that_is_available_is_the_3g_partition_where_the_gpu_is_not_free(
    api: KubeApi, namespace: str, gpu: Gpu
) -> None:
    sights(api, create(api, "shared-partition", namespace, gpu), namespace)

    pod = create(api, "gpu-or-partition", namespace, gpu)
    seen = sight(api, pod, namespace)

    ((request, device),) = allocated(claim(api, pod, namespace)).items()
    assert request == "compute/part"
    assert published(api, pod, namespace)[device]["profile"] == "3g.20gb"
    assert seen.devices == prepared(api, pod, namespace)
    assert len(seen.capabilities) == 2


@pytest.fixture
def instances(control: ClusterControl, node: str) -> Callable[[Gpu], set[str]]:
    """The capability nodes of every GPU and compute instance that the machine itself knows."""
    machine = control.node_root(node) / "var/lib/tangram/machine/root"

    def nodes(gpu: Gpu) -> set[str]:
        folder = machine / f"proc/driver/nvidia/capabilities/gpu{gpu.minor}/mig"
        files = (*folder.glob("gi*/access"), *folder.glob("gi*/ci*/access"))
        minors = {file.read_text().split()[1] for file in files}  # DeviceFileMinor: 12
        return {f"/dev/nvidia-caps/nvidia-cap{minor}" for minor in minors}

    return nodes


def test_with_the_pod_its_instances_go_and_a_claim_of_another_shape_fits(
    api: KubeApi, namespace: str, gpu: Gpu, instances: Callable[[Gpu], set[str]]
) -> None:
    pod = create(api, "four-partitions", namespace, gpu)
    seen = sight(api, pod, namespace)
    name = claim(api, pod, namespace)["metadata"]["name"]
    assert seen.capabilities == instances(gpu)

    api.delete(PODS, pod, namespace)

    eventually(lambda: not instances(gpu), "no instance is left")
    eventually(lambda: _is_gone(api, name, namespace), "the claim is gone")
    next_pod = create(api, "gpu-or-partition", namespace, gpu)
    assert sight(api, next_pod, namespace).devices == {gpu.uuid}


def test_an_unallocatable_pod_waits_and_holds_nothing(
    api: KubeApi, namespace: str, gpu: Gpu, instances: Callable[[Gpu], set[str]]
) -> None:
    sight(api, create(api, "whole-gpu", namespace, gpu), namespace)

    pod = create(api, "four-partitions", namespace, gpu)
    refusal(api, pod, namespace)

    assert phase(api, pod, namespace) == "Pending"
    assert "allocation" not in claim(api, pod, namespace).get("status", {})
    assert instances(gpu) == set()


def _is_gone(api: KubeApi, name: str, namespace: str) -> bool:
    try:
        api.get(RESOURCE_CLAIMS, name, namespace)
    except NotFound:
        return True
    return False
