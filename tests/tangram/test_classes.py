"""``tangram classes``: what classes have, what is in use, and what pods are given."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

HIGH_MEM = "nvidia.high.mem"


@pytest.fixture
def folder(examples) -> Path:
    """Return the folder of the examples of classes."""
    return examples / "resource-classes"


@pytest.fixture
def dgx(tangram, shipped, written) -> Path:
    """Write the slices of the simulated DGX A100 to a file."""
    return written("dgx.yaml", tangram("show", "--machine", shipped("dgx-a100"), "--as", "v1").out)


@pytest.fixture
def small(tangram, shipped, written) -> Path:
    """Write the slices of a machine with two A100 to a file."""
    return written("small.yaml", tangram("show", "--machine", shipped("a100x2"), "--as", "v1").out)


@pytest.fixture
def pod(written) -> Callable[..., Path]:
    """Write a pod that asks for classes."""

    def write(name: str, annotations: Any = None, node: str | None = None, **limits: int) -> Path:
        names = {key.replace("__", "."): value for key, value in limits.items()}
        spec = {"containers": [{"name": "c", "resources": {"limits": names}}]}
        metadata = {"name": name, "annotations": annotations or {}}
        content = {"kind": "Pod", "metadata": metadata, "spec": spec | ({"nodeName": node} if node else {})}
        return written(f"{name}.json", json.dumps(content))

    return write


def numbers(answer: Any) -> dict[str, tuple[int, int, int]]:
    return {
        one["name"]: (one["allocatable"], one["requested"], one["free"]) for one in answer.json["classes"]
    }


def names(answer: Any, name: str) -> list[str]:
    (found,) = (one for one in answer.json["classes"] if one["name"] == name)
    return [device["device"] for device in found["devices"]]


def test_the_proposal_s_classes_select_the_gpus_and_nics_of_a_dgx_and_listed_huge_pages(tangram, folder, dgx):
    files = ["-f", dgx, "-f", folder / "classes.yaml", "-f", folder / "huge-pages.yaml"]

    answer = tangram("classes", *files, "--json")

    assert answer.status == 0
    assert numbers(answer) == {HIGH_MEM: (8, 0, 8), "fast.nic": (8, 0, 8), "hugepages-1gig": (16, 0, 16)}
    assert names(answer, HIGH_MEM) == [f"gpu-{n}" for n in range(8)]
    assert all(name.startswith("nic-") and "-vf-" not in name for name in names(answer, "fast.nic"))
    assert names(answer, "hugepages-1gig") == ["hugepages-1g"]


def test_a_pod_is_given_devices_and_its_annotations_count_next_time(tangram, folder, dgx, written):
    files = ["-f", dgx, "-f", folder / "classes.yaml", "-f", folder / "huge-pages.yaml"]

    first = tangram("classes", *files, "-f", folder / "pods.yaml", "--json")
    (given,) = first.json["pods"]
    held = yaml.safe_load((folder / "pods.yaml").read_text())
    held["metadata"]["annotations"] = given["annotations"]
    held["spec"]["nodeName"] = given["node"]
    second = tangram("classes", *files, "-f", written("held.json", json.dumps(held)), "--json")

    prefix = "scheduler.alpha.kubernetes.io/resClass"
    assert given["annotations"] == {
        f"{prefix}_nvidia.high.mem_gpu-0": "1",
        f"{prefix}_nvidia.high.mem_gpu-1": "1",
        f"{prefix}_fast.nic_nic-0000-0c-00-0": "1",
        f"{prefix}_hugepages-1gig_hugepages-1g": "4",
    }
    assert numbers(first) == {HIGH_MEM: (8, 2, 6), "fast.nic": (8, 1, 7), "hugepages-1gig": (16, 4, 12)}
    assert numbers(second) == numbers(first)
    assert second.json["pods"] == []


def test_a_gpu_that_gives_a_partition_is_not_requested_but_not_free_either(
    tangram, folder, small, examples, written, pod
):
    claim = yaml.safe_load((examples / "mig-claim.yaml").read_text())
    files = ["-f", small, "-f", examples / "device-classes.yaml"]
    status = tangram("allocate", *files, "-f", examples / "mig-claim.yaml", "--json").json["claims"][0][
        "status"
    ]
    held = written("held.json", json.dumps(claim | {"status": status}))

    answer = tangram(
        "classes",
        *("-f", small),
        *("-f", folder / "classes.yaml"),
        *("-f", held),
        *("-f", pod("p", nvidia__high__mem=1)),
        "--json",
    )

    assert numbers(answer)[HIGH_MEM] == (2, 1, 0)
    assert answer.json["pods"][0]["devices"] == [{"class": HIGH_MEM, "device": "gpu-1", "quantity": 1}]


def test_a_pod_that_does_not_fit_ends_with_status_1_and_the_others_are_placed(tangram, folder, small, pod):
    files = ["-f", small, "-f", folder / "classes.yaml"]
    asking = [
        *("-f", pod("many", nvidia__high__mem=3)),
        *("-f", pod("one", nvidia__high__mem=1)),
        *("-f", pod("unknown", no__such=1)),
    ]

    answer = tangram("classes", *files, *asking)

    assert answer.status == 1
    assert "Pod default/one on a100x2" in answer.out
    assert (
        "Pod default/many does not fit\n  no single node has enough: nvidia.high.mem: 3 asked, at most 2"
        in (answer.out)
    )
    assert "Pod default/unknown does not fit\n  there is no ResourceClass no.such" in answer.out


def test_devices_that_exclude_each_other_are_not_given_to_one_pod(tangram, small, written, pod):
    classes = "".join(
        json.dumps(
            {
                "kind": "ResourceClass",
                "metadata": {"name": name},
                "spec": {
                    "resourceSelector": [
                        {"matchExpressions": [{"key": "Kind", "operator": "Eq", "values": [kind]}]}
                    ]
                },
            }
        )
        + "\n---\n"
        for name, kind in (("whole", "nvidia-gpu"), ("part", "nvidia-mig"))
    )

    answer = tangram(
        "classes",
        "-f",
        small,
        "-f",
        written("classes.yaml", classes),
        "-f",
        pod("p", whole=1, part=1),
        "--json",
    )

    assert answer.status == 1
    assert "ask for it with a ResourceClaim" in answer.json["pods"][0]["reason"]
    assert [one["requested"] for one in answer.json["classes"]] == [0, 0]


def test_classes_are_printed_as_device_classes_that_claims_can_name(tangram, folder, dgx, written):
    classes = written(
        "dc.yaml", tangram("classes", "-f", folder / "classes.yaml", "--as", "device-classes").out
    )
    requests = [
        {"name": name.partition(".")[0], "exactly": {"deviceClassName": name, "allocationMode": "All"}}
        for name in (HIGH_MEM, "fast.nic")
    ]
    claim = {
        "kind": "ResourceClaim",
        "metadata": {"name": "all"},
        "spec": {"devices": {"requests": requests}},
    }

    answer = tangram(
        "allocate", "-f", dgx, "-f", classes, "-f", written("claim.json", json.dumps(claim)), "--json"
    )

    results = answer.json["claims"][0]["status"]["allocation"]["devices"]["results"]
    assert [one["device"] for one in results if one["request"] == "nvidia"] == [f"gpu-{n}" for n in range(8)]
    assert len([one for one in results if one["request"] == "fast"]) == 8


def test_the_table_has_a_line_per_class(tangram, folder):
    answer = tangram("classes", "-f", folder / "classes.yaml", "-f", folder / "huge-pages.yaml")

    lines = [line.split() for line in answer.out.splitlines()]
    assert lines == [
        ["class", "allocatable", "requested", "free", "devices"],
        [HIGH_MEM, "0", "0", "0", "–"],
        ["fast.nic", "0", "0", "0", "–"],
        ["hugepages-1gig", "16", "0", "16", "dgx-a100/hugepages-1g"],
    ]


def test_a_value_that_compares_with_nothing_and_a_kind_that_no_driver_publishes_are_warned_of(
    tangram, folder, dgx, written
):
    expression = {"key": "driverVersion", "operator": "Gt", "values": ["30G"]}
    content = {
        "apiVersion": "tangram.dev/v1alpha1",
        "kind": "ResourceClass",
        "metadata": {"name": "mistaken"},
        "spec": {"resourceSelector": [{"matchExpressions": [expression]}]},
    }
    files = ["-f", dgx, "-f", folder / "classes.yaml", "-f", written("c.json", json.dumps(content))]

    counted, validated = tangram("classes", *files), tangram("validate", *files, "--json")

    place = "spec.resourceSelector[0].matchExpressions[0].values"
    assert counted.status == validated.status == 0
    assert f"ResourceClass mistaken: {place}: '30G' is an amount and cannot be compared with" in counted.err
    assert (
        f"ResourceClass hugepages-1gig: {place}: Kind huge-pages: Tangram publishes no such devices"
        in counted.err
    )
    assert [(one["subject"], one["path"]) for one in validated.json["findings"]] == [
        ("ResourceClass hugepages-1gig", place),
        ("ResourceClass mistaken", place),
    ]


def test_the_help_ends_with_an_example(tangram):
    answer = tangram("classes", "--help")

    assert answer.status == 0
    assert answer.out.rstrip().endswith("-f deploy/examples/resource-classes/classes.yaml")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"operator": "Gte"}, "operator: 'Gte': must be one of In, Eq, NotIn"),
        ({"values": ["fast"]}, "values[0]: 'fast': must be an amount such as 30G, 1Gi or 40GBPS"),
    ],
)
def test_a_bad_class_is_one_message_with_file_object_field_value_and_what_is_allowed(
    tangram, written, change, message
):
    expression = {"key": "speed", "operator": "Gt", "values": ["1G"]} | change
    content = {
        "kind": "ResourceClass",
        "metadata": {"name": "c"},
        "spec": {"resourceSelector": [{"matchExpressions": [expression]}]},
    }

    answer = tangram("classes", "-f", written("bad.json", json.dumps(content)))

    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "bad.json: ResourceClass c: spec.resourceSelector[0].matchExpressions[0]." + message in answer.err


@pytest.mark.parametrize("kind", ["ResourceClass", "NodeDevices", "Pod"])
def test_an_object_given_twice_is_refused(tangram, folder, kind):
    file = folder / {"ResourceClass": "classes", "NodeDevices": "huge-pages", "Pod": "pods"}[kind]
    path = file.with_suffix(".yaml")

    answer = tangram("classes", "-f", folder / "classes.yaml", "-f", path, "-f", path)

    assert answer.status == 2
    assert kind in answer.err


def test_files_without_a_class_are_refused(tangram, folder):
    answer = tangram("classes", "-f", folder / "huge-pages.yaml")

    assert answer.status == 2
    assert answer.err.endswith("no ResourceClass: nothing to show\n")
