"""GPUs and NICs of machines with other PCIe trees: what is close there, by claims and by annotated pods.

On every shipped machine: which attribute of places a GPU and a NIC share, what the commands advise for claims
that ask for a closer one, and what the annotations of Koordinator give.
"""

import json
from pathlib import Path

import pytest
import yaml

from agent.hardware.simulated import load_node, shipped_nodes

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "deploy/examples"
PLACES = (
    "tangram.dev/pcieSwitchPath",
    "tangram.dev/pcieSwitch",
    "tangram.dev/pcieRootPort",
    "resource.kubernetes.io/pcieRoot",
    "resource.kubernetes.io/numaNode",
)
SHARED = {
    "a30x4": PLACES[3:],
    "aws-p4d": PLACES[3:],
    "aws-p5": PLACES,
    "azure-nd-a100": PLACES[4:],
    "dgx-a100": PLACES[1:],
    "dgx-spark": (),
    "gb200-tray": PLACES[4:],
    "h200-vm": PLACES[3:4],  # the kernel names no NUMA node there
    "h200-vm-switches": PLACES[:4],
    "hgx-a100": PLACES[1:],
    "hgx-h100": PLACES,
    "hgx-h200": PLACES,
    "l40s": PLACES,
    "vmd": PLACES[4:],
}
"""What some GPU and NIC of each machine share. The a30x4 has its NICs at root ports of their own."""

machines = pytest.mark.parametrize(
    "name", [name for name in shipped_nodes() if load_node(name).cards and load_node(name).nics]
)


@pytest.fixture
def slices(tangram, tmp_path):
    def of(name):
        file = tmp_path / f"{name}.yaml"
        file.write_text(tangram("show", "--node", name, "--as", "v1").out)
        return file

    return of


def claim(tmp_path, *attributes):
    file = tmp_path / "claim.yaml"
    requests = [
        {"name": kind, "exactly": {"deviceClassName": f"{kind}.tangram.dev"}} for kind in ("gpu", "nic")
    ]
    constraints = [{"requests": ["gpu", "nic"], "matchAttribute": each} for each in attributes]
    spec = {"devices": {"requests": requests, "constraints": constraints}}
    metadata = {"namespace": "default", "name": "pair"}
    document = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": spec,
    }
    file.write_text(yaml.safe_dump(document))
    return file


def pod(tmp_path, name, gpus, **annotations):
    file = tmp_path / f"{name}.yaml"
    marks = {f"scheduling.koordinator.sh/{key}": json.dumps(value) for key, value in annotations.items()}
    requests = {"nvidia.com/gpu": gpus}
    if "device-joint-allocate" in annotations:
        requests["koordinator.sh/rdma"] = 1
    spec = {"containers": [{"name": "main", "image": "example.com/app", "resources": {"requests": requests}}]}
    metadata = {"namespace": "default", "name": name, "annotations": marks}
    file.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}))
    return file


@machines
def test_a_gpu_and_a_nic_share_the_places_that_the_machine_knows(tangram, slices, tmp_path, name):
    file, classes = slices(name), EXAMPLES / "device-classes.yaml"

    fits = [
        attribute
        for attribute in PLACES
        if tangram("allocate", "-f", file, "-f", classes, "-f", claim(tmp_path, attribute)).status == 0
    ]

    assert tuple(fits) == SHARED[name]


@machines
def test_the_advice_names_the_closest_place_that_fits(tangram, slices, tmp_path, name):
    answer = tangram(
        *("explain", "-f", slices(name), "-f", EXAMPLES / "device-classes.yaml"),
        *("-f", claim(tmp_path, PLACES[0]), "--json"),
    )

    found = {one["kind"]: one for one in answer.json["remedies"]} if answer.status else {}
    if SHARED[name] and PLACES[0] not in SHARED[name]:
        assert (found["MatchWiderPlace"]["old"], found["MatchWiderPlace"]["new"]) == (
            PLACES[0],
            SHARED[name][0],
        )
    else:
        assert "MatchWiderPlace" not in found
    assert ("DropConstraint" in found) == (PLACES[0] not in SHARED[name])


@machines
def test_the_shipped_claim_for_a_gpu_and_a_vf_fits_below_one_tree_of_switches(tangram, slices, name):
    has_vfs = any(nic.form.vfs for nic in load_node(name).nics)

    answer = tangram(
        *("allocate", "-f", slices(name), "-f", EXAMPLES / "device-classes.yaml"),
        *("-f", EXAMPLES / "gpu-vf-claim.yaml"),
    )

    assert (answer.status == 0) == (has_vfs and PLACES[1] in SHARED[name])
    if answer.status and has_vfs:
        assert (
            "the devices fit, but not with matchAttribute tangram.dev/pcieSwitch" in answer.out + answer.err
        )


@machines
def test_a_pod_for_one_pcie_scope_fits_or_hears_which_scope_was_compared(tangram, slices, tmp_path, name):
    joint = {"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"}

    answer = tangram(
        "explain", "-f", slices(name), "--pod", pod(tmp_path, "train", 1, **{"device-joint-allocate": joint})
    )

    fits = PLACES[1] in SHARED[name] or PLACES[3] in SHARED[name]
    assert (answer.status == 0) == fits
    if not fits:
        unknown = "PCIe switches: the switch and the root complex of gpu 0 are unknown"
        scopes = unknown if name == "vmd" else "PCIe root complexes"
        assert f"no choice has gpu and rdma below the same {scopes}" in answer.out
        assert "leave out requiredScope SamePCIe" in answer.out


@machines
def test_pods_that_are_exclusive_at_pcie_level_are_never_below_one_switch(tangram, slices, tmp_path, name):
    hint = {"gpu": {"exclusivePolicy": "PCIeLevel"}}
    cards = load_node(name).cards
    folders = [card.site.folder.partition("/pci")[2].split("/") for card in cards]
    # The topmost switch where there are switches, else the root complex; VMD hides that one, too.
    depth = 3 if PLACES[1] in SHARED[name] else 0 if name == "vmd" else 1
    trees = {tuple(folder[:depth]) for folder in folders if depth}
    pods = [pod(tmp_path, f"pod-{n}", 1, **{"device-allocate-hint": hint}) for n in range(len(cards))]

    found = tangram(
        "allocate", "-f", slices(name), *(word for one in pods for word in ("--pod", one)), "--json"
    )

    scopes = [
        device["pcie"] for one in found.json["pods"] if one.get("devices") for device in one["devices"]["gpu"]
    ]
    assert len(scopes) == len(set(scopes)) == len(trees)


def test_of_several_pairs_an_annotated_pod_gets_the_one_with_the_nearest_common_switch(
    tangram, slices, tmp_path
):
    joint = {"deviceTypes": ["gpu", "rdma"]}
    pods = [pod(tmp_path, f"pod-{n}", 1, **{"device-joint-allocate": joint}) for n in range(2)]

    found = tangram(
        "allocate", "-f", slices("dgx-a100"), *(word for one in pods for word in ("--pod", one)), "--json"
    )

    units = [(*one["devices"]["gpu"], *one["devices"]["rdma"]) for one in found.json["pods"]]
    pairs = [tuple(unit["devices"][0].rpartition("/")[2] for unit in one) for one in units]
    # In the tree of 0000:01:00.0 the GPU 0f and the NIC 0c are both below the switch 0a: see the node file.
    assert pairs == [("gpu-1", "nic-0000-0c-00-0-vf-0"), ("gpu-3", "nic-0000-4b-00-0-vf-0")]
