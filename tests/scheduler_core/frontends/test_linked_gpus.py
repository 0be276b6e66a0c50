"""Annotated pods on nodes that offer groups of linked GPUs: a group is one device of the pod's claim."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from short_folders import short_folder

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory import describe, discover
from agent.inventory.model import LinkedGpus
from agent.inventory.partitions import shipped_table
from agent.slices import v1_slices
from scheduler_core.codec import v1
from scheduler_core.engine.engine import Engine
from scheduler_core.frontends.joint.choose import JointRefusal
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.frontends.partitions.table import table_of
from scheduler_core.frontends.placement.decide import DecidedPod, NoNode, PodDecider
from scheduler_core.frontends.pods.allocated import allocated_annotation, held_by
from scheduler_core.frontends.pods.place import entered
from scheduler_core.frontends.pods.placed_pod import PlacedPod
from scheduler_core.frontends.pods.placer import PodPlacer
from scheduler_core.frontends.pods.pod_request import ask_of
from scheduler_core.frontends.pods.written_claim import claim_document, requests_of_amounts
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef, ClaimUid
from scheduler_core.model.device import DeviceId, DeviceName
from scheduler_core.model.nodes import Node
from scheduler_core.state.assignments import holder_of
from scheduler_core.state.cluster_state import ClusterState

DRIVER = "tangram.dev"
NODE = Node("node-1")
GPU, RDMA = "nvidia.com/gpu", "koordinator.sh/rdma"
SPEC = {"gpu-partition-spec": "{}"}
JOINT = {"device-joint-allocate": '{"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"}'}
HALVES = '{"4": [{"minors": [0, 1, 2, 3]}, {"minors": [4, 5, 6, 7]}]}'


@cache
def published(board, table, is_honored):
    with short_folder() as folder:
        machine = SimulatedMachine.open(load_node(board), Path(folder))
        inventory = discover(simulated_hardware(machine).readers, NODE.name)
    parsed = table_of("table", table) if table else shipped_table(board)
    found = describe(replace(inventory, linked=LinkedGpus(parsed, is_honored)))
    (pool,) = v1.pools(v1.decode_slice(one) for one in v1_slices(found))
    draws = {str(one.name): {str(draw.source) for draw in one.draws} for one in found.pool.devices}
    return pool, draws


class Linked:
    """A node that offers groups, and pods on it."""

    def __init__(self, board="hgx-h100", table=None, *, is_honored=False):
        self.pool, self.draws = published(board, table, is_honored)
        self.state = ClusterState()
        self.state.set_pool(self.pool)
        self.placer = PodPlacer(self.state)
        self.count = 0

    def asks(self, count, marks=None, **more):
        return ask_of("Pod team/p", {GPU: count} | more, marks or {})

    def place(self, count, marks=None, table=None, **more):
        ask = self.asks(count, marks, **more)
        found = self.placer.place(ask, NODE, table)
        if isinstance(found, PlacedPod):
            self.count += 1
            self.state.hold(entered(ask, found, ClaimRef("team", f"p-{self.count}")))
        return found

    def hold(self, *devices):
        results = tuple(AllocatedDevice("r", DeviceId(DRIVER, NODE.name, DeviceName(one))) for one in devices)
        self.state.hold(AllocatedClaim(ref=ClaimRef("team", "c"), uid=ClaimUid(devices[0]), results=results))

    def minors(self, device):
        """The GPUs that a device stands on, as the agent cuts them: an oracle that knows no attributes."""
        return self.draws[str(device)] or {str(device)}


def devices(found):
    assert isinstance(found, PlacedPod), found
    return [str(one.device) for mine in found.devices.values() for each in mine for one in each]


def numbers(found):
    return [one.number for one in found.node_devices["gpu"]]


@pytest.fixture
def hopper():
    return Linked()


def test_a_partition_of_four_is_one_device_with_four_numbers(hopper):
    found = hopper.place(4, SPEC)

    assert devices(found) == ["gpus-0-1-2-3"]
    assert numbers(found) == [0, 1, 2, 3]


def test_the_claim_that_is_written_asks_for_one_device_and_names_the_group(hopper):
    found = hopper.place(4, SPEC)
    document = claim_document(
        requests_of_amounts(found, str), node=NODE.name, metadata={"namespace": "team", "name": "c"}
    )

    (request,) = document["spec"]["devices"]["requests"]
    (result,) = document["status"]["allocation"]["devices"]["results"]
    assert (request["name"], request["exactly"]["deviceClassName"]) == (
        "gpu-partition",
        "gpu-partition.tangram.dev",
    )
    assert request["exactly"]["count"] == 1
    assert (result["request"], result["device"]) == ("gpu-partition", "gpus-0-1-2-3")


def test_what_is_told_of_a_running_pod_holds_the_group_again(hopper):
    found = hopper.place(4, SPEC)
    told = allocated_annotation(found)
    pod = {
        "metadata": {
            "namespace": "team",
            "name": "p",
            "annotations": {"scheduling.koordinator.sh/device-allocated": json.dumps(told)},
        },
        "spec": {"nodeName": NODE.name},
    }

    assert [one["minor"] for one in told["gpu"]] == [0, 1, 2, 3]
    assert [str(one.device.device) for one in held_by(pod, [hopper.pool]).results] == ["gpus-0-1-2-3"]


def test_groups_are_given_until_none_is_left(hopper):
    given = [devices(hopper.place(4, SPEC)) for _ in range(2)]
    refused = hopper.place(4, SPEC)

    assert given == [["gpus-0-1-2-3"], ["gpus-4-5-6-7"]]
    assert isinstance(refused, JointRefusal)
    assert refused.detail == "no suitable partition of 4 is free"


def test_a_part_of_a_gpu_in_use_keeps_its_groups_from_being_given(hopper):
    hopper.hold("gpu-2-mig-1g-10gb-0")

    assert devices(hopper.place(4, SPEC)) == ["gpus-4-5-6-7"]
    assert devices(hopper.place(2, SPEC)) == ["gpus-0-1"]
    assert isinstance(hopper.place(2, SPEC), JointRefusal)


def test_without_a_spec_a_group_comes_first_and_then_single_gpus(hopper):
    assert devices(hopper.place(2)) == ["gpus-0-1"]
    assert devices(hopper.place(3)) == ["gpu-4", "gpu-5", "gpu-6"]


def test_a_size_that_no_group_has_is_refused_with_the_sizes_that_there_are(hopper):
    refused = hopper.place(3, SPEC)

    assert refused.detail == "the table of partitions has no partition of 3; it has 1, 2, 4, 8"


def test_one_gpu_is_a_single_gpu(hopper):
    assert devices(hopper.place(1, SPEC)) == ["gpu-0"]


def test_a_bandwidth_is_met_only_by_groups_that_say_theirs():
    table = '{"2": [{"minors": [0, 1]}, {"minors": [2, 3], "ringBusBandwidth": "300Gi"}]}'
    node, fast = Linked(table=table), {"gpu-partition-spec": '{"ringBusBandwidth": "200Gi"}'}

    assert devices(node.place(2, fast)) == ["gpus-2-3"]
    assert isinstance(node.place(2, fast), JointRefusal)


def test_restricted_means_the_best_score_that_is_published():
    table = '{"2": [{"minors": [0, 1], "allocationScore": 1}, {"minors": [2, 3], "allocationScore": 2}]}'
    node, best = Linked(table=table), {"gpu-partition-spec": '{"allocatePolicy": "Restricted"}'}

    assert devices(node.place(2, best)) == ["gpus-2-3"]
    assert isinstance(node.place(2, best), JointRefusal)
    assert devices(node.place(2, SPEC)) == ["gpus-0-1"]


def test_a_table_that_somebody_wrote_says_the_scores_and_only_published_groups_are_given(hopper):
    written = (
        '{"2": [{"minors": [0, 2], "allocationScore": 9}, {"minors": [6, 7], "allocationScore": 5},'
        ' {"minors": [0, 1], "allocationScore": 1}]}'
    )
    table = NodeTable(table=table_of("Node node-1", written))

    assert devices(hopper.place(2, SPEC, table)) == ["gpus-6-7"]


def test_gpus_that_are_offered_in_groups_only_are_given_in_groups_only():
    node = Linked(table=HALVES, is_honored=True)
    assert not [one for one in node.pool.devices if one.attributes[f"{DRIVER}/type"] == "gpu"]
    assert node.placer.free_gpus(NODE) == (8, 8)

    found = node.place(4)

    assert (devices(found), numbers(found)) == (["gpus-0-1-2-3"], [0, 1, 2, 3])
    assert node.placer.free_gpus(NODE) == (4, 8)
    assert isinstance(node.place(1), JointRefusal)
    assert isinstance(node.place(2, SPEC), JointRefusal)


def test_a_node_of_groups_is_found_among_nodes():
    node = Linked(table=HALVES, is_honored=True)
    decider = PodDecider(Engine(node.state))

    found = decider.decide(node.asks(4, SPEC), lambda _: True, {})
    none = decider.decide(node.asks(9), lambda _: True, {})

    assert isinstance(found, DecidedPod)
    assert devices(found.placed) == ["gpus-0-1-2-3"]
    assert isinstance(none, NoNode)


def test_cards_are_chosen_below_the_switches_of_the_groups_gpus():
    node = Linked(board="dgx-a100", table=HALVES)
    ask = node.asks(4, JOINT, **{RDMA: 1})
    found = node.placer.place(ask, NODE)

    assert devices(found)[0] in {"gpus-0-1-2-3", "gpus-4-5-6-7"}
    of_gpus = {one.pcie for one in found.node_devices["gpu"]}
    assert of_gpus == {one.pcie for one in found.node_devices["rdma"]}
    assert None not in of_gpus


def test_a_group_with_a_gpu_that_the_selector_leaves_out_is_not_given(hopper):
    hint = {
        "device-allocate-hint": '{"gpu": {"selector": {"matchExpressions": [{"key": "minor", '
        '"operator": "NotIn", "values": ["1"]}]}}}'
    }

    assert devices(hopper.place(2, SPEC | hint)) == ["gpus-2-3"]


def test_a_group_over_several_switches_cannot_be_had_with_its_pcie_scope_alone(hopper):
    alone = {"device-allocate-hint": '{"gpu": {"exclusivePolicy": "PCIeLevel"}}'}

    assert isinstance(hopper.place(4, SPEC | alone), JointRefusal)
    assert len(devices(hopper.place(4, alone))) == 4


def test_a_scope_that_another_pod_has_alone_keeps_its_gpus_groups_from_being_given():
    node = Linked(board="dgx-a100", table='{"2": [{"minors": [1, 2]}, {"minors": [4, 5]}]}')
    alone = {"device-allocate-hint": '{"gpu": {"exclusivePolicy": "PCIeLevel"}}'}
    (first,) = node.place(1, alone).node_devices["gpu"]
    free = {one.number for one in node.placer.offered(node.asks(1), NODE)["gpu"] if one.is_free}

    assert (first.number, 1 in free, 2 in free) == (0, False, True)
    assert devices(node.place(2, SPEC)) == ["gpus-4-5"]


def test_a_group_of_unknown_scopes_is_not_given_beside_a_pod_that_has_a_scope_alone():
    table = '{"1": [{"minors": [0]}], "4": [{"minors": [4, 5, 6, 7]}]}'
    node = Linked(table=table, is_honored=True)
    alone = {"device-allocate-hint": '{"gpu": {"exclusivePolicy": "PCIeLevel"}}'}

    assert devices(node.place(1, alone)) == ["gpu-0"]
    assert isinstance(node.place(4, SPEC), JointRefusal)


steps = st.lists(
    st.tuples(
        st.sampled_from((1, 2, 3, 4, 8)), st.sampled_from(({}, SPEC)), st.integers(0, 3), st.booleans()
    ),
    max_size=12,
)


@settings(max_examples=30, deadline=None)
@given(steps, st.booleans())
def test_no_gpu_is_given_twice_and_a_partition_is_always_one_group(history, is_honored):
    node = Linked(table=HALVES if is_honored else None, is_honored=is_honored)
    held = []
    for count, marks, gone, leaves in history:
        if leaves and gone < len(held):
            node.state.release(holder_of(held.pop(gone)))
        ask = node.asks(count, marks)
        found = node.placer.place(ask, NODE)
        if isinstance(found, PlacedPod):
            names = devices(found)
            assert len(names) == (1 if marks and count > 1 else len(names))
            assert sum(len(node.minors(one)) for one in names) == count == len(numbers(found))
            node.count += 1
            held.append(entered(ask, found, ClaimRef("team", f"p-{node.count}")))
            node.state.hold(held[-1])
        taken = [
            one for claim in held for device in claim.results for one in node.minors(device.device.device)
        ]
        assert len(taken) == len(set(taken))
        assert node.placer.free_gpus(NODE) == (8 - len(taken), 8)


SINGLES = json.dumps(
    {
        "1": [
            {"minors": [one], "ringBusBandwidth": f"{(one + 1) * 100}Gi", "allocationScore": one % 2}
            for one in range(8)
            if one != 7
        ]
    }
)


@pytest.mark.parametrize("is_honored", [True, False])
def test_scores_and_bandwidths_of_single_gpus_are_the_nodes_table(is_honored):
    """The table has no group, and GPU 7 is not in it: a pod with a spec never gets that one."""
    node = Linked(table=SINGLES, is_honored=is_honored)

    best = node.place(1, {"gpu-partition-spec": '{"allocatePolicy": "Restricted"}'})
    fast = node.place(1, {"gpu-partition-spec": '{"ringBusBandwidth": "700Gi"}'})
    none = node.place(1, {"gpu-partition-spec": '{"ringBusBandwidth": "701Gi"}'})
    pair = node.place(2, SPEC)

    assert (numbers(best), numbers(fast)) == ([1], [6])
    assert "none of the 7 partitions of 1 has a ringBusBandwidth above 700Gi; 701Gi is" in none.detail
    assert pair.detail == "the table of partitions has no partition of 2; it has 1"


@pytest.mark.parametrize(("board", "ok"), [("hgx-h100", "450G"), ("hgx-h20", "450G"), ("hgx-h800", "200G")])
@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_every_size_of_a_shipped_table_serves_pods_that_name_the_bandwidth_of_its_links(board, ok, count):
    spec = {"allocatePolicy": "Restricted", "ringBusBandwidth": ok}
    node = Linked(table=json.dumps(shipped(board)))

    assert len(numbers(node.place(count, {"gpu-partition-spec": json.dumps(spec)}))) == count


def shipped(board):
    path = Path(__file__).parents[3] / f"agent/inventory/tables/{board}.json"
    return json.loads(path.read_text())["partitions"]
