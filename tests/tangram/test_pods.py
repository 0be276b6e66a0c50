"""``--pod``: annotated pods on what files describe, placed one after another."""

from __future__ import annotations

import pytest


@pytest.fixture
def slices(tangram, shipped, written):
    return written("dgx.yaml", tangram("show", "--machine", shipped("dgx-a100"), "--as", "v1").out)


@pytest.fixture
def place(tangram, slices, examples):
    """Place pods of the examples; ``more`` are further arguments."""

    def run(*names, command="allocate", more=()):
        pods = [part for name in names for part in ("--pod", examples / "pods" / f"{name}.yaml")]
        return tangram(command, "-f", slices, *more, *pods, "--json")

    return run


def given(answer, number=0):
    return {
        kind: [one["devices"][0].rpartition("/")[2] for one in units]
        for kind, units in answer.json["pods"][number]["devices"].items()
    }


def test_a_joint_pod_gets_a_nic_for_every_switch_of_its_gpus(place):
    answer = place("joint")

    assert answer.status == 0
    (pod,) = answer.json["pods"]
    switches = {kind: {one["pcie"] for one in units} for kind, units in pod["devices"].items()}
    assert len(pod["devices"]["gpu"]) == 4
    assert switches["gpu"] == switches["rdma"]


def test_an_exclusive_pod_keeps_later_pods_off_its_switches(place):
    answer = place("same-pcie-exclusive", "two-vfs")

    first, second = answer.json["pods"]
    taken = {one["pcie"] for one in first["devices"]["rdma"]}
    assert second["allocated"]
    assert not taken & {one["pcie"] for one in second["devices"]["rdma"]}


def test_a_pod_that_does_not_fit_ends_with_status_one_and_says_why(place):
    answer = place("all-nics", "joint")

    assert answer.status == 1
    assert [one["allocated"] for one in answer.json["pods"]] == [True, False]
    assert answer.json["pods"][1]["reasons"]["dgx-a100"]["type"] == "rdma"


def test_a_node_that_honors_its_table_gives_partitions_the_best_first(place, examples):
    table = ("-f", examples / "pods" / "node-with-partitions.yaml")

    assert given(place("partition", more=table)) == {"gpu": ["gpu-2", "gpu-3"]}
    assert place("partition", "partition", more=table).status == 1


def test_explain_lists_what_a_pod_could_choose_from(place):
    answer = place("all-nics", "joint", command="explain")

    offers = answer.json["pods"][1]["offers"]
    assert all(one["free"] for one in offers["gpu"])
    assert not any(one["free"] for one in offers["rdma"])
    assert "held by default/all-nics" in offers["rdma"][0]["why"]


def test_why_not_a_device_is_asked_for_each_pod_in_its_turn(place):
    answer = place("joint", "joint", command="explain", more=("--why-not", "gpu-0"))

    first, second = answer.json["pods"]
    assert first["given"]
    assert not second["isPossible"]
    assert second["why"] == "it is held by default/joint"
    assert [one["name"] for one in second["remedies"][0]["claims"]] == ["joint"]
    assert second["instead"]
    assert answer.status == 1
