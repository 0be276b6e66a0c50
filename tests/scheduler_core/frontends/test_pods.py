"""Pods: what their containers ask for together, as the proposals print them."""

import pytest

from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.frontends.pods.hints import Exclusive, Strategy
from scheduler_core.frontends.pods.pod_request import decode_pod

GPU = "nvidia.com/gpu"
RDMA = "koordinator.sh/rdma"
PREFIX = "scheduling.koordinator.sh/"


def container(requests=None, limits=None, **more):
    parts = {"requests": requests, "limits": limits}
    return {"name": "c", "resources": {key: value for key, value in parts.items() if value}} | more


def pod(*containers, init=(), **annotations):
    marks = {PREFIX + name.replace("_", "-"): text for name, text in annotations.items()}
    spec = {"containers": list(containers), "initContainers": list(init)}
    return {"kind": "Pod", "metadata": {"name": "p", "namespace": "d", "annotations": marks}, "spec": spec}


def test_the_pod_that_wants_gpus_and_nics_on_the_same_pcie():
    found = decode_pod(
        pod(
            container({GPU: 4, RDMA: 1}),
            device_joint_allocate='{"deviceTypes": ["gpu","rdma"], "requiredScope": "SamePCIe"}',
            device_allocate_hint='{"rdma": {"vfSelector": {}, "exclusivePolicy": "PCIeLevel"}}',
        )
    )

    assert found.asks["gpu"].count == 4
    assert found.asks["rdma"].per_device == {RDMA: 1}
    assert found.joint.is_same_pcie
    assert found.hints["rdma"].exclusive is Exclusive.PCIE
    assert found.hints["rdma"].vf_selector.admits({})


def test_the_pod_that_wants_all_nics():
    found = decode_pod(
        pod(container({RDMA: 100}), device_allocate_hint='{"rdma": {"allocateStrategy": "ApplyForAll"}}')
    )

    assert found.asks["rdma"].count is None
    assert found.asks["rdma"].per_device == {RDMA: 100}


def test_the_pod_that_wants_one_vf_of_each_of_two_nics():
    hint = '{"rdma": {"vfSelector": {}, "allocateStrategy": "RequestsAsCount"}}'

    found = decode_pod(pod(container({RDMA: 2}), device_allocate_hint=hint))

    assert found.hints["rdma"].strategy is Strategy.REQUESTS_AS_COUNT
    assert found.asks["rdma"].count == 2


def test_the_pod_that_asks_by_limit_and_wants_a_partition():
    spec = '{"allocatePolicy": "Restricted", "ringBusBandwidth": "200Gi"}'

    found = decode_pod(pod(container(limits={GPU: 1}), gpu_partition_spec=spec))

    assert found.asks["gpu"].count == 1
    assert found.spec.is_restricted
    assert found.spec.bandwidth.whole == 200 * 2**30


def test_containers_add_up_and_the_largest_start_counts():
    found = decode_pod(
        pod(
            container({GPU: 1}),
            container({GPU: 1}),
            init=[
                container({GPU: 1}, restartPolicy="Always"),
                container({GPU: 4}),
                container({GPU: 1}, restartPolicy="Always"),
            ],
        )
    )

    assert found.amounts[GPU] == 5


def test_a_request_stands_over_the_limit_beside_it():
    assert decode_pod(pod(container({GPU: 1}, {GPU: 2}))).amounts[GPU] == 1


@pytest.mark.parametrize(
    ("requests", "part"),
    [
        ({GPU: -1}, "spec.containers[0].resources.requests.nvidia.com/gpu: -1: must be a whole number"),
        ({GPU: "1.5"}, "'1.5'"),
        ({"koordinator.sh/gpu-cores": 50}, "gpu-cores"),
        ({"koordinator.sh/gpu-core": 50}, "koordinator.sh/gpu-core"),
        ({RDMA: 150}, "multiple of 100"),
        ({GPU: 1, "koordinator.sh/gpu": 100}, "must be one of"),
        ({"koordinator.sh/gpu.shared": 2, "koordinator.sh/gpu-memory-ratio": 101}, "multiple of the 2"),
        ({"cpu": 1}, "asks for no device"),
    ],
)
def test_a_bad_amount_is_named_with_its_rule(requests, part):
    with pytest.raises(InvalidPod) as refusal:
        decode_pod(pod(container(requests)))

    assert str(refusal.value).startswith("Pod d/p: ")
    assert part in str(refusal.value)


def test_what_has_no_effect_is_told():
    hint = '{"gpu": {"allocateStrategy": "ApplyForAll"}, "rdma": {}}'

    found = decode_pod(pod(container({GPU: 1}), device_allocate_hint=hint))

    assert decode_pod(pod(container({RDMA: 1}), gpu_partition_spec="{}")).warnings == (
        "Pod d/p: gpu-partition-spec has no effect: the pod asks for no whole GPU",
    )
    assert ["rdma" in one or "ApplyForAll" in one for one in found.warnings] == [True, True]
