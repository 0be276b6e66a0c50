"""``--pod``: annotated pods on what files describe, placed one after another."""

from __future__ import annotations

import json

import pytest
import yaml


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


def test_why_not_is_refused_beside_pods_of_a_file(place):
    answer = place("joint", command="explain", more=("--why-not", "gpu-0"))

    assert answer.status == 2
    assert "--why-not: 'gpu-0'" in answer.err
    assert "is for claims, not for the pods of --pod" in answer.err


def test_people_see_where_the_devices_of_a_pod_stand(tangram, slices, examples):
    answer = tangram("allocate", "-f", slices, "--pod", examples / "pods" / "joint.yaml")

    assert answer.status == 0
    assert answer.out.splitlines()[0] == "Pod default/joint on dgx-a100"
    assert "0000:01:00.0" in answer.out


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("kind: Service\nmetadata: {name: s}\n", "must be Pod"),
        ("kind: Pod\nmetadata: {name: p}\nspec: {containers: []}\n", "asks for no device"),
        (
            "kind: Pod\nmetadata:\n  name: p\n"
            "  annotations: {scheduling.koordinator.sh/device-joint-allocate: '{'}\n"
            "spec: {containers: [{name: c, resources: {requests: {nvidia.com/gpu: 1}}}]}\n",
            "annotation scheduling.koordinator.sh/device-joint-allocate",
        ),
    ],
)
def test_a_bad_pod_is_refused_with_its_file_and_place(tangram, slices, written, text, part):
    answer = tangram("allocate", "-f", slices, "--pod", written("pod.yaml", text))

    assert answer.status == 2
    assert "pod.yaml" in answer.err
    assert part in answer.err


def test_a_bad_table_of_a_node_is_refused_loudly(tangram, slices, written, examples):
    text = (examples / "pods" / "node-with-partitions.yaml").read_text().replace("[0, 1]", "[0, 9]")

    answer = tangram(
        *("allocate", "-f", slices, "-f", written("node.yaml", text)),
        *("--pod", examples / "pods" / "partition.yaml"),
    )

    assert answer.status == 2
    assert "2[0].minors[1]: 9: the node has no such GPU" in answer.err


def test_an_annotated_claim_gets_a_vf_for_every_switch_of_its_gpus(tangram, slices, examples):
    files = ["-f", slices, "-f", examples / "device-classes.yaml", "-f", examples / "joint-claim.yaml"]

    answer = tangram("allocate", *files, "--json")

    results = answer.json["claims"][0]["status"]["allocation"]["devices"]["results"]
    assert [one["request"] for one in results] == ["gpus"] * 4 + ["vfs"] * 2


def test_explain_tells_that_annotations_chose(tangram, slices, examples):
    files = ["-f", slices, "-f", examples / "device-classes.yaml", "-f", examples / "joint-claim.yaml"]

    answer = tangram("explain", *files)

    assert answer.status == 0
    assert "chosen by annotations" in answer.out


def test_an_annotation_that_names_no_request_is_refused(tangram, slices, written, examples):
    text = (examples / "joint-claim.yaml").read_text().replace('"vfs"]', '"nics"]')
    files = ["-f", slices, "-f", examples / "device-classes.yaml", "-f", written("claim.yaml", text)]

    answer = tangram("allocate", *files)

    assert answer.status == 2
    assert "deviceTypes[1]: 'nics': must be one of gpus, vfs" in answer.err


def test_a_claim_for_what_an_honored_table_lacks_is_refused(tangram, slices, examples):
    files = ["-f", slices, "-f", examples / "device-classes.yaml", "-f", examples / "gpu-claim.yaml"]

    answer = tangram("allocate", *files, "-f", examples / "pods" / "node-with-partitions.yaml")

    assert answer.status == 1
    assert "the table of partitions has no partition of 1; it has 2, 4" in answer.out


def test_pods_are_placed_on_what_koordinator_reports(tangram, examples):
    pods = examples / "pods"

    answer = tangram(
        *("allocate", "-f", pods / "device.yaml", "--json"),
        *("--pod", pods / "two-vfs.yaml", "--pod", pods / "partition.yaml"),
    )

    assert answer.status == 0
    assert given(answer) == {"rdma": ["rdma-0", "rdma-1"]}
    assert given(answer, 1) == {"gpu": ["gpu-0", "gpu-1"]}


def running(answer, examples, name, node):
    """The pod as it runs: bound, with the annotation that the answer gave it."""
    pod = yaml.safe_load((examples / "pods" / f"{name}.yaml").read_text())
    pod["metadata"]["annotations"] |= answer.json["pods"][0]["annotation"]
    pod["spec"]["nodeName"] = node
    return json.dumps(pod)


def test_what_running_pods_hold_is_held_on_the_next_call_too(place, written, examples):
    first = place("same-pcie-exclusive")
    file = written("running.json", running(first, examples, "same-pcie-exclusive", "dgx-a100"))

    second = place("two-vfs", more=("-f", file))

    taken = {one["pcie"] for one in first.json["pods"][0]["devices"]["rdma"]}
    assert not taken & {one["pcie"] for one in second.json["pods"][0]["devices"]["rdma"]}


def test_what_koordinator_gave_is_held_by_minor_and_bus_id(tangram, written, examples):
    given_there = {
        "gpu": [{"minor": 0, "resources": {"koordinator.sh/gpu-core": "100"}}],
        "rdma": [
            {
                "minor": 0,
                "resources": {"koordinator.sh/rdma": "1"},
                "extension": {"vfs": [{"minor": 0, "busID": "0000:3d:00.2"}]},
            }
        ],
    }
    pod = {
        "kind": "Pod",
        "metadata": {
            "name": "earlier",
            "annotations": {"scheduling.koordinator.sh/device-allocated": json.dumps(given_there)},
        },
        "spec": {"nodeName": "node-1", "containers": []},
    }
    pods = examples / "pods"
    files = ["-f", pods / "device.yaml", "-f", written("pod.json", json.dumps(pod))]

    answer = tangram(
        "explain", *files, "--pod", pods / "joint.yaml", "--pod", pods / "two-vfs.yaml", "--json"
    )

    joint, vfs = answer.json["pods"]
    assert not joint["allocated"]
    assert "is used in part by default/earlier" in joint["reasons"]["node-1"]["detail"]
    assert vfs["devices"]["rdma"][0]["devices"][1].endswith("0000:3d:00.3")


def test_two_gpus_of_one_minor_are_refused(tangram, written, examples):
    text = (examples / "pods" / "device.yaml").read_text().replace("minor: 1, health", "minor: 0, health")

    answer = tangram(
        "allocate", "-f", written("device.yaml", text), "--pod", examples / "pods" / "two-vfs.yaml"
    )

    assert answer.status == 2
    assert "Device node-1: spec.devices[1].minor: 0: is listed twice" in answer.err


def test_a_mig_partition_in_use_keeps_an_exclusive_pod_off_its_switch(tangram, slices, written, examples):
    pod = yaml.safe_load((examples / "pods" / "joint.yaml").read_text())
    name = "scheduling.koordinator.sh/device-allocate-hint"
    pod["metadata"]["annotations"][name] = '{"gpu": {"exclusivePolicy": "PCIeLevel"}}'
    claim = yaml.safe_load((examples / "mig-claim.yaml").read_text())
    result = {
        "request": "mig-1g-5gb-0",
        "driver": "tangram.dev",
        "pool": "dgx-a100",
        "device": "gpu-1-mig-1g-5gb-0",
    }
    claim["status"] = {"allocation": {"devices": {"results": [result]}}}
    files = ["-f", slices, "-f", written("claim.json", json.dumps(claim))]

    answer = tangram("explain", *files, "--pod", written("pod.json", json.dumps(pod)), "--json")

    (found,) = answer.json["pods"]
    assert [one["number"] for one in found["devices"]["gpu"]] == [2, 3, 4, 5]
    assert "PCIeLevel does not allow" in found["offers"]["gpu"][0]["why"]
