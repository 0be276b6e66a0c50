"""Joint allocation: cards follow GPUs, close ones first, and whatever fits is found."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.frontends.joint.choose import JointRefusal

JOINT = {"deviceTypes": ["gpu", "rdma"]}
SAME = {"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"}
PAIRS = "0:0 1:0 2:0 3:0 4:1 5:1 6:1 7:1"


def asked(gpus, rdma=1):
    return {"nvidia.com/gpu": gpus, "koordinator.sh/rdma": rdma}


def test_one_nic_comes_for_each_pcie_scope_of_the_gpus(machine):
    assert machine(PAIRS, PAIRS).place(asked(4), joint=JOINT) == {"gpu": [0, 1, 2, 3], "rdma": [0, 1, 2, 3]}


def test_fewer_nics_come_where_there_are_fewer_and_never_from_afar(machine):
    node = machine(PAIRS, "0:0 4:1")

    assert node.place(asked(4), joint=JOINT) == {"gpu": [0, 1, 2, 3], "rdma": [0]}


def test_gpus_go_where_the_nic_is(machine):
    assert machine(PAIRS, "6:1").place(asked(4), joint=JOINT)["gpu"] == [4, 5, 6, 7]
    assert machine(PAIRS, "6:1").place(asked(1), joint=JOINT)["gpu"] == [6]


@pytest.mark.parametrize("types", [["gpu", "rdma"], ["rdma", "gpu"]])
def test_the_order_of_types_does_not_matter(machine, types):
    found = machine(PAIRS, PAIRS).place(asked(2), joint={"deviceTypes": types, "requiredScope": "SamePCIe"})

    assert found == {"gpu": [0, 1], "rdma": [0, 1]}


def test_the_nic_of_the_same_numa_node_comes_before_others(machine):
    assert machine("0:0", "5:1 1:0").place(asked(1), joint=JOINT)["rdma"] == [1]


def test_same_pcie_is_searched_for_not_checked_after_a_greedy_choice(machine):
    node = machine("0:0 0:0 1:0 1:0 2:1 2:1", "0:0 1:0 2:1").use("rdma", 0)

    assert node.place(asked(3), joint=SAME) == {"gpu": [2, 3, 4], "rdma": [1, 2]}


def test_same_pcie_refuses_what_cannot_stand_together(machine):
    found = machine("0:0 1:0", "0:0").place(asked(2), joint=SAME)

    assert isinstance(found, JointRefusal)
    assert "same PCIe" in found.detail


def test_a_gpu_without_topology_never_meets_same_pcie(machine):
    node = machine("0:0", "0:0")
    node.devices = [type(one)(kind=one.kind, minor=one.minor, total=one.total) for one in node.devices]

    assert isinstance(node.place(asked(1), joint=SAME), JointRefusal)
    assert node.place(asked(1), joint=JOINT) == {"gpu": [0], "rdma": [0]}


def test_a_count_of_nics_is_exact_although_there_are_more_scopes(machine):
    hint = {"rdma": {"allocateStrategy": "RequestsAsCount"}}

    found = machine("0:0 0:0 1:0 1:0", "0:0 1:0").place(asked(4, 1), joint=JOINT, hint=hint)

    assert found["rdma"] == [0]


def test_a_type_that_takes_all_leaves_the_joint_allocation(machine):
    hint = {"rdma": {"allocateStrategy": "ApplyForAll"}}

    found = machine("0:0 0:0 1:0 1:0", "0:0 1:0").place(asked(2), joint=SAME, hint=hint)

    assert found == {"gpu": [0, 1], "rdma": [0, 1]}


def test_nics_are_taken_in_turn_from_every_scope(machine):
    node = machine("0:0 1:0", "0:0 0:0 0:0 1:0")

    assert node.place(asked(2, 300), joint=JOINT)["rdma"] == [0, 1, 3]


def test_a_shared_gpu_brings_the_nic_beside_it(machine):
    requests = {"koordinator.sh/gpu": 50, "koordinator.sh/rdma": 1}

    assert machine("0:0 1:1", "1:1").place(requests, joint=SAME) == {"gpu": [1], "rdma": [0]}


scopes = st.lists(st.sampled_from(["0:0", "1:0", "2:1", "3:1"]), max_size=6)


@settings(max_examples=200, deadline=None)
@given(scopes, scopes, st.integers(1, 4), st.integers(1, 3), st.data())
def test_whatever_can_stand_together_is_found(machine, gpus, nics, count, least, data):
    used_gpus = data.draw(st.sets(st.integers(0, 5)))
    used_nics = data.draw(st.sets(st.integers(0, 5)))
    node = machine(" ".join(gpus), " ".join(nics))
    node.use("gpu", *(n for n in used_gpus if n < len(gpus)))
    node.use("rdma", *(n for n in used_nics if n < len(nics)))
    free_gpus = [text for n, text in enumerate(gpus) if n not in used_gpus]
    free_nics = [text for n, text in enumerate(nics) if n not in used_nics]

    strict = node.place(asked(count, 100 * least), joint=SAME)
    loose = node.place(asked(count, 100 * least), joint=JOINT)

    possible = any(
        set(some) == set(others)
        for some in combinations(free_gpus, count)
        for size in range(least, len(free_nics) + 1)
        for others in combinations(free_nics, size)
    )
    assert isinstance(strict, dict) == possible
    assert isinstance(loose, dict) == (len(free_gpus) >= count and len(free_nics) >= least)
    if isinstance(strict, dict):
        assert {gpus[n] for n in strict["gpu"]} == {nics[n] for n in strict["rdma"]}
        assert not used_gpus & set(strict["gpu"])
        assert not used_nics & set(strict["rdma"])
