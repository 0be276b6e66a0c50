"""Hints: strategies, exclusivity, VFs, scopes; what annotations may not say."""

import json

import pytest

from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.frontends.joint.choose import JointRefusal
from scheduler_core.frontends.pods.hints import Exclusive, hints_of, joint_of

RDMA = "koordinator.sh/rdma"
FOUR = "0:0 1:0 2:1 3:1"


def rdma(**hint):
    return {"rdma": hint}


def test_apply_for_all_takes_every_nic_or_none(machine):
    hint = rdma(allocateStrategy="ApplyForAll")

    assert machine(nics=FOUR).place({RDMA: 100}, hint=hint) == {"rdma": [0, 1, 2, 3]}
    assert isinstance(machine(nics=FOUR).use("rdma", 2).place({RDMA: 100}, hint=hint), JointRefusal)


def test_the_strategy_is_read_before_hundreds_mean_whole_nics(machine):
    assert machine(nics=FOUR).place({RDMA: 200}) == {"rdma": [0, 1]}
    counted = machine(nics=FOUR).place({RDMA: 200}, hint=rdma(allocateStrategy="RequestsAsCount"))
    assert isinstance(counted, JointRefusal)


def test_two_vfs_never_come_from_one_nic(machine):
    hint = rdma(vfSelector={}, allocateStrategy="RequestsAsCount")

    assert machine(nics="0:0 1:0", vfs=4).place({RDMA: 2}, hint=hint) == {"rdma": [0, 1]}
    assert isinstance(machine(nics="0:0 1:0", vfs=4).place({RDMA: 3}, hint=hint), JointRefusal)


def test_pcie_level_stays_off_switches_that_others_use(machine):
    node = machine(nics="0:0 0:0 1:0").use("rdma", 0, rdma=1)

    assert node.place({RDMA: 1}, hint=rdma(exclusivePolicy="PCIeLevel")) == {"rdma": [2]}


def test_pcie_level_keeps_later_pods_off_too(machine):
    node = machine(nics="0:0 0:0 1:0").use("rdma", 0, rdma=1, exclusive=Exclusive.PCIE)

    assert node.place({RDMA: 1}) == {"rdma": [2]}


def test_device_level_stays_off_nics_that_others_use_and_keeps_them_off(machine):
    node = machine(nics="0:0 0:0").use("rdma", 0, rdma=1)
    held = machine(nics="0:0 0:0").use("rdma", 0, rdma=1, exclusive=Exclusive.DEVICE)

    assert node.place({RDMA: 1}, hint=rdma(exclusivePolicy="DeviceLevel")) == {"rdma": [1]}
    assert held.place({RDMA: 1}) == {"rdma": [1]}


def test_a_whole_gpu_is_one_that_nobody_uses_in_part(machine):
    node = machine("0:0 1:0").use("gpu", 0, gpu_core=50)

    assert node.place({"koordinator.sh/gpu-memory-ratio": 100}) == {"gpu": [1]}


@pytest.mark.parametrize(
    ("scope", "fits"), [("Device", False), ("PCIe", False), ("NUMANode", True), ("Node", True)]
)
def test_a_required_scope_must_hold_all_gpus(machine, scope, fits):
    hint = {"gpu": {"requiredTopologyScope": scope}}

    found = machine("0:0 1:0 2:1").place({"nvidia.com/gpu": 2}, hint=hint)

    assert isinstance(found, dict) == fits


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("{", ["is not JSON at line 1"]),
        ("[]", ["must be a JSON object"]),
        ('{"rdma": {}, "rdma": {}}', ["rdma", "twice"]),
        ('{"nic": {}}', ["nic", "known here: gpu, rdma, fpga"]),
        (
            '{"rdma": {"allocateStrategy": "All"}}',
            ["rdma.allocateStrategy", "'All'", "ApplyForAll, RequestsAsCount"],
        ),
        ('{"rdma": {"exclusivePolicy": 1}}', ["rdma.exclusivePolicy", "DeviceLevel, PCIeLevel"]),
        ('{"rdma": {"count": NaN}}', ["NaN"]),
        (
            '{"rdma": {"selector": {"matchExpressions": [{"key": "a", "operator": "Gt"}]}}}',
            ["rdma.selector.matchExpressions[0].operator", "'Gt'", "In, NotIn, Exists, DoesNotExist"],
        ),
        ('{"rdma": {"selector": {"matchLabels": {"a": 1}}}}', ["rdma.selector.matchLabels.a", "string"]),
        ('{"gpu": {"vfSelector": {}}}', ["gpu.vfSelector"]),
    ],
)
def test_a_bad_hint_names_annotation_path_value_and_what_is_allowed(text, parts):
    with pytest.raises(InvalidPod) as refusal:
        hints_of("Pod default/p", text)

    message = str(refusal.value)
    assert message.startswith("Pod default/p: annotation scheduling.koordinator.sh/device-allocate-hint: ")
    assert all(part in message for part in parts)


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ({"deviceTypes": ["gpu", "gpu"]}, ["deviceTypes[1]", "twice"]),
        ({"deviceTypes": ["nic"]}, ["deviceTypes[0]", "'nic'", "gpu, rdma, fpga"]),
        ({"deviceTypes": "gpu"}, ["deviceTypes", "must be a list"]),
        ({"deviceTypes": [], "requiredScope": "SameNUMA"}, ["requiredScope", "'SameNUMA'", "SamePCIe"]),
        ({"devicetypes": []}, ["devicetypes", "unknown field"]),
    ],
)
def test_a_bad_joint_annotation_says_what_is_wrong(value, parts):
    with pytest.raises(InvalidPod) as refusal:
        joint_of("Pod default/p", json.dumps(value))

    assert all(part in str(refusal.value) for part in parts)
