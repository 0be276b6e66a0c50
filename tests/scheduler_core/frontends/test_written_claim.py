"""The claim that is written for a pod's amounts holds exactly what the pod was given."""

import copy
import json
import uuid
from dataclasses import replace
from functools import cache, partial
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from short_folders import short_folder

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory import describe, discover
from agent.inventory.options.mode_option import read_gpu_modes
from scheduler_core.base.errors import InvalidClaim
from scheduler_core.base.quantity import Quantity
from scheduler_core.codec.claims import decode_claim
from scheduler_core.frontends.classes.claims import class_claim
from scheduler_core.frontends.joint.node_device import NodeDevice, Take
from scheduler_core.frontends.pods.allocated import allocated_annotation, held_by
from scheduler_core.frontends.pods.place import entered
from scheduler_core.frontends.pods.placed_pod import PlacedPod
from scheduler_core.frontends.pods.placer import PodPlacer
from scheduler_core.frontends.pods.pod_request import ask_of
from scheduler_core.frontends.pods.written_claim import (
    claim_document,
    held_claim,
    requests_of_amounts,
    requests_of_classes,
)
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef, DeviceClass, OpaqueConfig
from scheduler_core.model.device import DeviceId
from scheduler_core.model.names import qualified
from scheduler_core.model.nodes import Node
from scheduler_core.model.ownership import EXCLUSIVE
from scheduler_core.state.cluster_state import ClusterState

GPU, CORE, RATIO, MEMORY, SHARED, RDMA = (
    "nvidia.com/gpu",
    "koordinator.sh/gpu-core",
    "koordinator.sh/gpu-memory-ratio",
    "koordinator.sh/gpu-memory",
    "koordinator.sh/gpu.shared",
    "koordinator.sh/rdma",
)
METADATA = {"namespace": "team", "name": "web-0-1f", "uid": "u-1"}
NODE = Node("node-1")
MODES = "whole,mig,shared"
TEN_GIB = {"memory": Quantity.of(10 * 2**30)}


@cache
def published(modes):
    with short_folder() as folder:
        machine = SimulatedMachine.open(load_node("dgx-a100"), Path(folder))
        inventory = discover(simulated_hardware(machine).readers, NODE.name)
    return describe(replace(inventory, modes=read_gpu_modes([f"all={modes}"]))).pool


def state_of(modes=MODES):
    state = ClusterState()
    state.set_pool(published(modes))
    return state


def share_ids():
    return partial(lambda numbers: str(uuid.UUID(int=next(numbers))), count(1))


def written(ask, found, **more):
    requests = requests_of_amounts(found, share_ids())
    return claim_document(requests, node=found.node, ask=ask, metadata={**METADATA, **more})


def placed(amounts, marks=None, state=None):
    ask = ask_of("Pod team/web-0", amounts, marks or {})
    found = PodPlacer(state or state_of()).place(ask, NODE)
    assert isinstance(found, PlacedPod), found
    return ask, found


def requests_in(document):
    return [
        (one["name"], one["exactly"]["deviceClassName"], one["exactly"]["count"])
        for one in document["spec"]["devices"]["requests"]
    ]


def shares(claim):
    """What a claim holds, whatever its requests and shares are called."""
    return sorted(
        (
            str(one.device),
            one.share_id is not None,
            sorted(
                (qualified(name, one.device.driver), amount.nano) for name, amount in one.consumed.items()
            ),
        )
        for one in claim.results
    )


amounts = st.sampled_from(
    (
        {GPU: 1},
        {GPU: 2},
        {GPU: 4, RDMA: 1},
        {RDMA: 1},
        {RDMA: 200},
        {RDMA: 100, GPU: 1},
        {CORE: 30, RATIO: 30},
        {RATIO: 50},
        {MEMORY: 10 * 2**30 + 1},
        {SHARED: 2, CORE: 100, MEMORY: 16 * 2**30},
        {CORE: 10, MEMORY: 2**20, RDMA: 3},
    )
)
hints = st.sampled_from(
    (
        None,
        {"rdma": {"vfSelector": {}}},
        {"rdma": {"vfSelector": {}, "exclusivePolicy": "PCIeLevel"}},
        {"rdma": {"exclusivePolicy": "DeviceLevel"}, "gpu": {"exclusivePolicy": "PCIeLevel"}},
        {"rdma": {"allocateStrategy": "ApplyForAll"}},
    )
)
joints = st.sampled_from((None, {"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"}))


@settings(max_examples=40)
@given(st.lists(st.tuples(amounts, hints, joints), min_size=1, max_size=6))
def test_a_cluster_that_reads_the_claims_back_decides_as_the_one_that_gave_the_devices(asked):
    given_to, read_back = state_of(), state_of()
    for number, (wanted, hint, joint) in enumerate(asked):
        marks = {"device-allocate-hint": hint, "device-joint-allocate": joint}
        ask = ask_of(
            f"Pod team/p{number}", wanted, {name: value for name, value in marks.items() if value is not None}
        )
        found = PodPlacer(given_to).decide(ask, NODE)
        again = PodPlacer(read_back).decide(ask, NODE)
        assert (found and found.devices) == (again and again.devices)
        if not isinstance(found, PlacedPod):
            continue
        document = written(ask, found, name=f"c{number}", uid=f"u{number}")
        claim, expected = held_claim(document), entered(ask, found, ClaimRef("team", f"p{number}"))
        assert shares(claim) == shares(expected)
        assert set(claim.exclusive) == set(expected.exclusive)
        check_rules(document)
        given_to.hold(expected)
        read_back.hold(claim)


def check_rules(document):
    """What an API server checks of an allocation against its spec, read from its rules."""
    asked = {one["name"]: one["exactly"] for one in document["spec"]["devices"]["requests"]}
    results = document["status"]["allocation"]["devices"]["results"]
    assert decode_claim(document).requests
    assert {one["request"] for one in results} == set(asked)
    for name, exactly in asked.items():
        mine = [one for one in results if one["request"] == name]
        assert len(mine) == exactly["count"]
        capacity = exactly.get("capacity", {}).get("requests", {})
        assert all(one.get("consumedCapacity", {}) == capacity for one in mine)
        assert all(("shareID" in one) == bool(capacity) for one in mine)
    ids = [one["shareID"] for one in results if "shareID" in one]
    assert len(set(ids)) == len(ids)


def test_gpus_and_vfs_below_their_switches_are_requests_of_two_classes():
    joint = {"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"}
    ask, found = placed({GPU: 4, RDMA: 1}, {"device-joint-allocate": joint})

    document = written(ask, found)

    assert requests_in(document) == [("gpu", "gpu.tangram.dev", 4), ("vf", "vf.tangram.dev", 2)]
    selector = document["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"]
    assert selector == [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}]


def test_a_whole_nic_is_a_request_of_the_class_of_nics():
    ask, found = placed({RDMA: 100})

    assert requests_in(written(ask, found)) == [("nic", "nic.tangram.dev", 1)]


def test_less_than_a_gpu_is_a_share_of_memory_and_processors_rounded_up():
    ask, found = placed({CORE: 30, RATIO: 50})

    document = written(ask, found)

    (request,) = document["spec"]["devices"]["requests"]
    assert request["exactly"]["deviceClassName"] == "gpu-shared.tangram.dev"
    assert request["exactly"]["capacity"]["requests"] == {"memory": "20Gi", "multiprocessors": "33"}
    (result,) = document["status"]["allocation"]["devices"]["results"]
    assert result["consumedCapacity"] == {"memory": "20Gi", "multiprocessors": "33"}
    assert uuid.UUID(result["shareID"])


def test_shares_of_a_gpu_in_use_come_first_and_are_refused_when_it_is_full():
    state = state_of()
    ask, whole = placed({GPU: 1}, state=state)
    state.hold(entered(ask, whole, ClaimRef("team", "whole")))
    names = []
    for number in range(3):
        ask, found = placed({RATIO: 50}, state=state)
        state.hold(entered(ask, found, ClaimRef("team", f"p{number}")))
        names.append(found.devices["gpu"][0][0].device)

    assert names == ["gpu-1-shared", "gpu-1-shared", "gpu-2-shared"]


def test_a_running_pod_holds_the_share_that_its_annotation_says():
    ask, found = placed({CORE: 30, RATIO: 50, RDMA: 1})
    annotation = {"scheduling.koordinator.sh/device-allocated": json.dumps(allocated_annotation(found))}
    metadata = {"namespace": "team", "name": "web-0", "annotations": annotation}

    held = held_by({"kind": "Pod", "metadata": metadata, "spec": {"nodeName": "node-1"}}, [published(MODES)])

    assert shares(held) == shares(entered(ask, found, ClaimRef("team", "web-0")))


def test_a_share_goes_to_the_gpu_that_is_shared_already():
    state = state_of()
    result = AllocatedDevice("r", DeviceId("tangram.dev", "node-1", "gpu-3-shared"), share_id="s")
    state.hold(AllocatedClaim(ref=ClaimRef("team", "other"), results=(replace(result, consumed=TEN_GIB),)))

    _, found = placed({RATIO: 50}, state=state)

    assert found.devices["gpu"][0][0].device == "gpu-3-shared"


def test_shares_of_different_size_are_requests_of_their_own():
    takes = [
        Take(
            DeviceId("tangram.dev", "node-1", f"gpu-{n}-shared"),
            None,
            {"tangram.dev/memory": amount},
            "gpu-shared",
        )
        for n, amount in enumerate((Quantity.of(1), Quantity.of(2), Quantity.of(1)))
    ]
    found = PlacedPod(
        node="node-1",
        node_devices={
            "gpu": tuple(NodeDevice(kind="gpu", number=n, takes=(one,)) for n, one in enumerate(takes))
        },
        devices={"gpu": tuple((one.device,) for one in takes)},
    )

    document = claim_document(requests_of_amounts(found, share_ids()), node="node-1", metadata=METADATA)

    assert [(name, number) for name, _, number in requests_in(document)] == [
        ("gpu-shared", 2),
        ("gpu-shared-2", 1),
    ]
    check_rules(document)


def test_a_gpu_that_is_offered_as_a_whole_only_gives_no_share():
    ask = ask_of("Pod team/web-0", {RATIO: 50}, {})

    refusal = PodPlacer(state_of("whole,mig")).place(ask, NODE)

    assert "it can only be allocated whole" in refusal.detail


def test_a_gpu_that_is_offered_in_shares_only_is_not_given_whole():
    ask = ask_of("Pod team/web-0", {GPU: 1}, {})

    refusal = PodPlacer(state_of("shared")).place(ask, NODE)

    assert "it is offered in shares only" in refusal.detail


def test_more_memory_than_a_gpu_offers_in_shares_is_refused():
    ask = ask_of("Pod team/web-0", {MEMORY: 41 * 2**30}, {})

    refusal = PodPlacer(state_of()).place(ask, NODE)

    assert "the shares of its GPU have less memory than the pod requests of each GPU" in refusal.detail


def test_what_the_class_says_of_its_devices_is_written_beside_them():
    setting = {"apiVersion": "tangram.dev/v1alpha1", "kind": "GpuConfig"}
    classes = {
        "gpu.tangram.dev": DeviceClass(
            name="gpu.tangram.dev", configs=(OpaqueConfig(driver="tangram.dev", parameters=setting),)
        )
    }
    ask, found = placed({GPU: 1})
    requests = requests_of_amounts(found, share_ids())

    document = claim_document(requests, node="node-1", metadata=METADATA, ask=ask, classes=classes)

    assert document["status"]["allocation"]["devices"]["config"] == [
        {
            "source": "FromClass",
            "requests": ["gpu"],
            "opaque": {"driver": "tangram.dev", "parameters": setting},
        }
    ]


def test_classes_and_amounts_of_one_pod_are_requests_of_one_claim():
    _, found = placed({GPU: 1})
    claim = class_claim(ClaimRef("team", "c"), {"fast.nic": 1, "fast-nic": 1})
    names = [one.name for one in claim.requests]
    results = [AllocatedDevice(name, DeviceId("tangram.dev", "node-1", f"nic-{name}")) for name in names]

    document = claim_document(
        [*requests_of_amounts(found, share_ids()), *requests_of_classes(claim, results)],
        node="node-1",
        metadata=METADATA,
    )

    assert requests_in(document) == [
        ("gpu", "gpu.tangram.dev", 1),
        ("class-fast-nic", "fast.nic", 1),
        ("class-fast-nic-1", "fast-nic", 1),
    ]
    check_rules(document)


@pytest.mark.parametrize("text", ["{", "[]", '{"rdma": ["PCIeLevel"]}', '{"rdma": "Never"}', "3", None])
def test_devices_are_held_whatever_the_policies_in_the_annotation_look_like(text):
    ask, found = placed({GPU: 1})
    document = written(ask, found, annotations={EXCLUSIVE: text})

    claim = held_claim(document)

    assert [one.device.device for one in claim.results] == ["gpu-0"]
    assert claim.exclusive == ()


def test_a_claim_without_an_allocation_holds_nothing_and_a_broken_one_is_refused():
    ask, found = placed({GPU: 1})
    document = written(ask, found)
    broken = copy.deepcopy(document)
    del broken["status"]["allocation"]["devices"]["results"][0]["device"]

    assert held_claim({**document, "status": {}}) is None
    with pytest.raises(InvalidClaim):
        held_claim(broken)
