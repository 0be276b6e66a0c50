"""``tangram migrate`` on files as users of NVIDIA's drivers and of the SR-IOV operator have them.

``TANGRAM_WRITE_GOLDEN=1`` writes the results and what was told anew.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from tangram.face import DOES_NOT_FIT, DONE, WRONG_INPUT

GOLDEN = Path(__file__).parents[1] / "data" / "migrate"
ROOT = Path(__file__).parents[2]
IS_WRITING = os.environ.get("TANGRAM_WRITE_GOLDEN") == "1"
LINK = 'device.attributes["tangram.dev"].linkType == "ethernet"'
OPTIONS = {
    "vfs-of-the-sriov-operator": [
        "--sriov=openshift.io/rdma_vf=vf.tangram.dev",
        f"--sriov=intel.com/dpdk=vfio.tangram.dev,{LINK}",
    ]
}
CASES = sorted(path.name.removesuffix(".in.yaml") for path in GOLDEN.glob("*.in.yaml"))
WHOLE = ("claims-of-the-dra-driver", "workloads-of-the-device-plugin")
GPU_POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "one"},
    "spec": {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": 1}}}]},
}


@pytest.fixture
def migrated(tangram, monkeypatch):
    """Return what the command says of a case."""
    monkeypatch.chdir(GOLDEN)
    return lambda case: tangram("migrate", "-f", f"{case}.in.yaml", *OPTIONS.get(case, ()))


@pytest.mark.parametrize("case", CASES)
def test_each_file_becomes_what_the_golden_file_says(case, migrated):
    answer = migrated(case)

    for name, text in ((f"{case}.out.yaml", answer.out), (f"{case}.told.txt", answer.err)):
        if IS_WRITING:
            (GOLDEN / name).write_text(text)
        assert text == (GOLDEN / name).read_text()
    assert answer.status == (DOES_NOT_FIT if answer.err else DONE)


@pytest.mark.parametrize("case", CASES)
def test_migrating_the_result_changes_nothing(case, migrated, tangram):
    answer = migrated(case)

    again = tangram("migrate", "-f", f"{case}.out.yaml", *OPTIONS.get(case, ()))

    assert again.out == answer.out


@pytest.mark.parametrize("case", WHOLE)
def test_what_carries_over_whole_is_valid_here(case, tangram, examples):
    result = GOLDEN / f"{case}.out.yaml"
    has_classes = "kind: DeviceClass" in result.read_text()

    answer = tangram(
        "validate", "-f", result, *([] if has_classes else ["-f", examples / "device-classes.yaml"])
    )

    assert answer.status == DONE
    assert "0 errors" in answer.out


def test_the_migrated_claims_of_the_examples_get_devices(tangram, examples, shipped, written):
    old = examples / "migrate" / "nvidia-claims.yaml"
    claims = written("claims.yaml", tangram("migrate", "-f", old).out)
    slices = written("slices.yaml", tangram("show", "--machine", shipped("a100x2"), "--as", "v1").out)

    answer = tangram("allocate", "-f", slices, "-f", claims, "-f", examples / "device-classes.yaml", "--json")

    assert answer.status == DONE
    results = [one["status"]["allocation"]["devices"]["results"] for one in answer.json["claims"]]
    (part,), (gpu,) = results
    assert "-mig-1g-5gb-" in part["device"]
    assert gpu["device"] in ("gpu-0", "gpu-1")


def test_a_profile_of_a_device_plugin_is_found_among_the_devices_here(tangram, examples, shipped, written):
    old = examples / "migrate" / "device-plugin-pods.yaml"
    found = yaml.safe_load_all(
        tangram("migrate", "-f", old, "--sriov", "openshift.io/rdma=vf.tangram.dev").out
    )
    template = next(one for one in found if one["kind"] == "ResourceClaimTemplate")
    claim = {**template, "kind": "ResourceClaim", "spec": template["spec"]["spec"]}
    path = written("claim.yaml", yaml.safe_dump(claim))
    slices = written("slices.yaml", tangram("show", "--machine", shipped("a100x2"), "--as", "v1").out)

    answer = tangram("allocate", "-f", slices, "-f", path, "-f", examples / "device-classes.yaml", "--json")

    assert len(answer.devices) == 1
    assert "-mig-1g-5gb-" in answer.devices[0]


def test_json_has_the_documents_and_what_is_not_carried_over(tangram, written):
    pod = {**GPU_POD, "spec": {**GPU_POD["spec"], "runtimeClassName": "nvidia"}}
    path = written("pod.yaml", yaml.safe_dump(pod))

    answer = tangram("migrate", "-f", path, "--json")

    assert answer.status == DOES_NOT_FIT
    assert [one["kind"] for one in answer.json["documents"]] == ["ResourceClaimTemplate", "Pod"]
    (left,) = answer.json["notCarriedOver"]
    assert left["subject"] == "Pod one"
    assert left["path"] == "spec.runtimeClassName"
    assert left["place"] == f"{path}:1"
    assert answer.err == ""


def test_o_yaml_is_the_json_value(tangram, written):
    path = written("pod.yaml", yaml.safe_dump(GPU_POD))

    as_yaml = yaml.safe_load(tangram("migrate", "-f", path, "-o", "yaml").out)

    assert as_yaml == tangram("migrate", "-f", path, "--json").json


def test_a_template_gets_a_name_that_no_other_has(tangram, written):
    taken = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "one-devices"},
        "spec": {"spec": {"devices": {}}},
    }
    path = written("pods.yaml", yaml.safe_dump_all([GPU_POD, taken]))

    documents = tangram("migrate", "-f", path, "--json").json["documents"]

    assert [one["metadata"]["name"] for one in documents] == ["one-devices-2", "one", "one-devices"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("rdma=vf.tangram.dev", "must be RESOURCE=CLASS or RESOURCE=CLASS,SELECTOR"),
        ("openshift.io/rdma", "must be RESOURCE=CLASS or RESOURCE=CLASS,SELECTOR"),
        ("openshift.io/rdma=Not A Class", "must be RESOURCE=CLASS or RESOURCE=CLASS,SELECTOR"),
        ("openshift.io/rdma=vf.tangram.dev,device.", "does not compile"),
    ],
)
def test_a_wrong_resource_of_the_sriov_plugin_is_refused(given, sentence, tangram, written):
    answer = tangram("migrate", "-f", written("pod.yaml", yaml.safe_dump(GPU_POD)), "--sriov", given)

    assert answer.status == WRONG_INPUT
    assert sentence in answer.err
    assert answer.out == ""


def test_a_resource_that_is_given_twice_is_refused(tangram, written):
    twice = ["--sriov=openshift.io/rdma=vf.tangram.dev", "--sriov=openshift.io/rdma=vfio.tangram.dev"]

    answer = tangram("migrate", "-f", written("pod.yaml", yaml.safe_dump(GPU_POD)), *twice)

    assert answer.status == WRONG_INPUT
    assert "--sriov: openshift.io/rdma is given twice" in answer.err


def test_a_file_without_api_objects_is_refused(tangram, written):
    answer = tangram("migrate", "-f", written("values.yaml", "replicas: 2\n"))

    assert answer.status == WRONG_INPUT
    assert "values.yaml:1: kind: is required" in answer.err
