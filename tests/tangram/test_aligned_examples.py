"""The claims that align GPUs with NICs, allocated on a shipped machine by both policies."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import yaml

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory import describe, discover
from agent.inventory.model import LinkedGpus
from agent.inventory.partitions import shipped_table
from agent.slices import v1_slices


@pytest.fixture(scope="module")
def inventory_of(tmp_path_factory):
    def read(name):
        machine = SimulatedMachine.open(load_node(name), tmp_path_factory.mktemp(name))
        return discover(simulated_hardware(machine).readers, name)

    return read


@pytest.fixture(scope="module")
def dgx(inventory_of):
    return v1_slices(describe(inventory_of("dgx-a100")))


@pytest.fixture
def allocated(tangram, written, examples, dgx):
    """Allocate an example; return, per request, the attributes of its devices."""

    def run(name, slices=None, policy="first-fit"):
        chosen = slices or dgx
        files = ["-f", written("slices.json", json.dumps({"kind": "List", "items": list(chosen)}))]
        files += ["-f", examples / "device-classes.yaml", "-f", examples / name]
        answer = tangram("allocate", *files, "--policy", policy, "--json")
        assert answer.status == 0, answer.out + answer.err
        known = {one["name"]: one for slice_ in chosen for one in slice_["spec"].get("devices", ())}
        results = answer.json["claims"][0]["status"]["allocation"]["devices"]["results"]
        found = {}
        for one in results:
            device = known[one["device"]]
            attributes = {key: next(iter(value.values())) for key, value in device["attributes"].items()}
            found.setdefault(one["request"], []).append({"name": one["device"], **attributes})
        return found

    return run


BOTH = pytest.mark.parametrize("policy", ["first-fit", "best-fit"])


@BOTH
def test_a_gpu_and_its_vf_stand_below_one_switch(allocated, policy):
    found = allocated("gpu-vf-claim.yaml", policy=policy)

    (gpu,), (vf,) = found["gpu"], found["vf"]
    assert (gpu["type"], vf["type"]) == ("gpu", "vf")
    assert gpu["pcieSwitch"] == vf["pcieSwitch"]


@BOTH
def test_a_mig_partition_and_its_vf_stand_below_one_root(allocated, policy):
    found = allocated("mig-vf-claim.yaml", policy=policy)

    root = "resource.kubernetes.io/pcieRoot"
    assert found["mig"][0]["profile"] == "1g.5gb"
    assert found["mig"][0][root] == found["vf"][0][root]


@BOTH
def test_each_of_two_gpus_has_a_vf_below_its_switch(allocated, policy):
    found = allocated("two-pairs-claim.yaml", policy=policy)

    for number in "01":
        assert found[f"gpu-{number}"][0]["pcieSwitch"] == found[f"vf-{number}"][0]["pcieSwitch"]
    assert len({one["name"] for devices in found.values() for one in devices}) == 4


@BOTH
def test_two_vfs_come_from_two_nics(allocated, policy):
    found = allocated("two-nics-claim.yaml", policy=policy)

    assert len({one["pfPciAddress"] for one in found["vfs"]}) == 2


@BOTH
def test_all_nics_are_given_together(allocated, policy):
    found = allocated("all-nics-claim.yaml", policy=policy)

    assert [one["type"] for one in found["nics"]] == ["nic"] * 8


@BOTH
def test_four_linked_gpus_are_one_device(allocated, inventory_of, policy):
    found = replace(inventory_of("hgx-h100"), linked=LinkedGpus(shipped_table("hgx-h100")))

    given = allocated("gpu-partition-claim.yaml", slices=v1_slices(describe(found)), policy=policy)

    assert [one["gpuMinors"] for one in given["gpus"]] in (["0,1,2,3"], ["4,5,6,7"])


def test_no_gpu_is_aligned_where_every_vf_of_its_switch_is_taken(tangram, written, examples, dgx):
    taken = {
        one["name"] for slice_ in dgx for one in slice_["spec"].get("devices", ()) if "vf" in one["name"]
    }
    results = [
        {"request": "r", "driver": "tangram.dev", "pool": "dgx-a100", "device": name}
        for name in sorted(taken)
    ]
    held = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"namespace": "default", "name": f"held-{number}"},
            "spec": {
                "devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "vf.tangram.dev"}}]}
            },
            "status": {"allocation": {"devices": {"results": [one]}}},
        }
        for number, one in enumerate(results)
    ]
    files = ["-f", written("slices.json", json.dumps({"kind": "List", "items": [*dgx, *held]}))]
    files += ["-f", examples / "device-classes.yaml", "-f", examples / "gpu-vf-claim.yaml"]

    answer = tangram("allocate", *files)

    assert answer.status == 1
    assert "does not fit on dgx-a100" in answer.out


def test_every_pod_of_the_examples_can_be_read(examples):
    kinds = [yaml.safe_load(path.read_text())["kind"] for path in sorted((examples / "pods").glob("*.yaml"))]

    assert sorted(set(kinds)) == ["Device", "Node", "Pod"]
