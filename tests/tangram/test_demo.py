"""``tangram demo``: the main job on every shipped machine, over real sockets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from agent.hardware.simulated import shipped_nodes
from tangram.demo.station import STATIONS


@pytest.mark.parametrize("name", [name for name in shipped_nodes() if name != "no-gpu"])
def test_the_demo_of_every_machine_with_gpus_goes_through_all_stations_and_leaves_nothing(tangram, name):
    answer = tangram("demo", "--node", name, "--json")

    folder = Path(answer.json["prepare"][0]["response"]["endpoint"]).parents[3]

    assert (answer.status, answer.err) == (0, "")
    assert list(answer.json) == list(STATIONS)
    assert set(answer.json["unprepare"]["left"].values()) == {0}
    assert folder.name.startswith("tangram-")
    assert not folder.exists()


def test_the_demo_of_a_machine_without_gpus_tells_why_nothing_fits(tangram):
    answer = tangram("demo", "--node", "no-gpu")

    assert answer.status == 1
    assert "driver is not installed" in answer.out
    assert "does not fit on no-gpu: the machine has no GPU to ask for" in answer.out
    assert "selectors" not in answer.out
    assert "7 prepare" not in answer.out


def test_the_device_nodes_of_a_cdi_device_stand_in_one_line(tangram):
    lines = tangram("demo", "--node", "a100x2", "--until", "cdi").out.splitlines()

    nodes = [line for line in lines if line.startswith("    nodes  ")]

    assert len(nodes) == 4
    assert all(line.count("/dev/nvidia-caps/") == 2 for line in nodes)


def test_every_station_has_a_heading_that_names_the_function_behind_it(tangram):
    lines = tangram("demo", "--node", "a100x2").out.splitlines()

    headings = [lines[number - 1] for number, line in enumerate(lines) if line.startswith("────")]

    assert [heading.split()[1] for heading in headings] == list(STATIONS)
    assert all("." in heading.split(maxsplit=2)[2] for heading in headings)


def test_the_partitions_that_were_allocated_are_those_that_exist_and_those_in_the_cdi_document(tangram):
    answer = tangram("demo", "--node", "a100x2", "--json").json

    places = {(one["placement"]["start"], one["placement"]["size"]) for one in answer["mig"]}
    uuids = {one["computeInstances"][0]["uuid"] for one in answer["mig"]}
    (document,) = answer["cdi"].values()

    assert places == {(0, 1), (1, 1), (2, 2), (4, 4)}
    assert {device["containerEdits"]["env"][0].partition("=")[2] for device in document["devices"]} == uuids


def test_the_kubelet_registers_the_plugin_before_it_asks(tangram):
    exchanges = tangram("demo", "--node", "l40s", "--json").json["prepare"]

    assert [exchange["method"].rpartition("/")[2] for exchange in exchanges] == [
        "GetInfo",
        "NotifyRegistrationStatus",
        "NodePrepareResources",
    ]


@pytest.mark.parametrize("station", STATIONS)
def test_until_stops_after_the_station(tangram, station):
    answer = tangram("demo", "--node", "l40s", "--until", station, "--json")

    assert answer.status == 0
    assert list(answer.json) == list(STATIONS[: STATIONS.index(station) + 1])


def test_the_claim_of_the_kep_runs_unchanged_under_its_driver_name(tangram, examples):
    claim = examples / "kep-mig-claim.yaml"

    answer = tangram(
        "demo", "--node", "a100x2", "--claim", claim, "--driver-name", "gpu.nvidia.com", "--json"
    )

    (outcome,) = answer.json["prepare"][-1]["response"]["claims"].values()
    assert answer.status == 0
    assert [device["device_name"] for device in outcome["devices"]] == [
        "gpu-0-mig-1g-5gb-0",
        "gpu-0-mig-1g-5gb-1",
        "gpu-0-mig-2g-10gb-2-3",
        "gpu-0-mig-3g-20gb-4-7",
    ]


def test_the_claim_that_suits_a_dgx_a100_is_the_example(tangram, examples):
    (made,) = tangram("demo", "--node", "dgx-a100", "--until", "claim", "--json").json["claim"]

    del made["metadata"]["uid"]

    assert made == yaml.safe_load((examples / "mig-claim.yaml").read_text())


@pytest.mark.parametrize(
    ("node", "profiles"),
    [
        ("hgx-h100", ["1g.10gb", "1g.10gb", "2g.20gb", "3g.40gb"]),
        ("a30x4", ["1g.6gb", "1g.6gb", "2g.12gb"]),
    ],
)
def test_a_suitable_claim_fills_a_gpu_with_the_profiles_that_the_machine_has(
    tangram, shipped, node, profiles
):
    (claim,) = tangram("demo", "--node", node, "--until", "claim", "--json").json["claim"]

    selectors = [request["exactly"]["selectors"][0] for request in claim["spec"]["devices"]["requests"]]

    assert [selector["cel"]["expression"].split('"')[-2] for selector in selectors] == profiles


def test_a_claim_that_the_plugin_cannot_prepare_ends_with_its_error_and_status_1(tangram, written):
    requests = [{"name": "vf", "exactly": {"deviceClassName": "vf.tangram.dev"}}]
    vlan = {"id": 5, "protocol": "802.1ad"}
    parameters = {"apiVersion": "tangram.dev/v1alpha1", "kind": "VfConfig", "vlan": vlan}
    claim = {
        "kind": "ResourceClaim",
        "metadata": {"name": "vf"},
        "spec": {
            "devices": {
                "requests": requests,
                "config": [{"opaque": {"driver": "tangram.dev", "parameters": parameters}}],
            }
        },
    }

    answer = tangram("demo", "--node", "a30x4", "--claim", written("vf.yaml", yaml.safe_dump(claim)))

    assert answer.status == 1
    assert "error:" in answer.out
    assert "8 mig" not in answer.out


def test_the_example_of_a_monitor_reaches_its_container_beside_the_claim_that_computes(tangram, examples):
    answer = tangram("demo", "--node", "a100x2", "--claim", examples / "admin-claim.yaml", "--json")

    devices = [device["containerEdits"] for one in answer.json["cdi"].values() for device in one["devices"]]
    variables = sorted(device["env"][0].partition("=")[0] for device in devices)

    assert answer.status == 0
    assert variables == [
        "TANGRAM_ADMIN_DEVICE_GPU_0",
        "TANGRAM_ADMIN_DEVICE_GPU_1",
        "TANGRAM_DEVICE_GPU_0_MIG_3G_20GB_0_3",
    ]
    assert set(answer.json["unprepare"]["left"].values()) == {0}


def test_the_demo_works_wherever_temporary_files_go(tangram, tmp_path, monkeypatch):
    far = tmp_path / ("deep" * 30)
    far.mkdir()
    monkeypatch.setenv("TMPDIR", str(far))

    answer = tangram("demo", "--node", "l40s", "--json")

    assert answer.status == 0
    assert list(far.iterdir()) == []


def test_a_vf_of_the_class_for_vfio_reaches_the_container_in_that_mode(tangram, examples):
    answer = tangram("demo", "--node", "a30x4", "--claim", examples / "vfio-claim.yaml", "--json")

    (document,) = answer.json["cdi"].values()
    (device,) = document["devices"]

    assert "/dev/vfio/vfio" in {node["path"] for node in device["containerEdits"]["deviceNodes"]}
    assert set(answer.json["unprepare"]["left"].values()) == {0}


@pytest.mark.parametrize(
    ("claim", "gpus", "rdma"),
    [("gpu-vf", 1, 1), ("mig-vf", 1, 1), ("two-nics", 0, 2), ("two-pairs", 2, 2), ("all-nics", 0, 8)],
)
def test_gpus_and_nics_of_one_claim_reach_the_container_together(tangram, examples, claim, gpus, rdma):
    answer = tangram("demo", "--node", "dgx-a100", "--claim", examples / f"{claim}-claim.yaml", "--json")

    (document,) = answer.json["cdi"].values()
    nodes = [
        {node["path"] for node in device["containerEdits"]["deviceNodes"]} for device in document["devices"]
    ]

    assert answer.status == 0
    shared = [node["path"] for node in document["containerEdits"].get("deviceNodes", ())]
    assert shared.count("/dev/nvidiactl") == min(gpus, 1)
    assert sum(any(re.fullmatch(r"/dev/nvidia\d+", node) for node in found) for found in nodes) == gpus
    assert sum("/dev/infiniband/rdma_cm" in found for found in nodes) == rdma
    assert len({node for found in nodes for node in found if "uverbs" in node}) == rdma
    assert set(answer.json["unprepare"]["left"].values()) == {0}


def test_the_example_of_an_interface_reaches_its_container_as_a_hook(tangram, examples):
    answer = tangram("demo", "--node", "a30x4", "--claim", examples / "interface-claim.yaml", "--json")

    (document,) = answer.json["cdi"].values()
    (device,) = document["devices"]

    assert answer.status == 0
    assert [hook["hookName"] for hook in device["containerEdits"]["hooks"]] == ["createRuntime"]
    assert set(answer.json["unprepare"]["left"].values()) == {0}
