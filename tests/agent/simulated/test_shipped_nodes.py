"""The shipped machines are what their names promise."""

from __future__ import annotations

import re

import pytest

from agent.hardware.errors import DriverMissing
from agent.hardware.simulated import UnknownNode, load_node, node_text, shipped_nodes
from agent.hardware.types import MIB, DriverVersions, Gpu


def test_the_shipped_machines() -> None:
    assert shipped_nodes() == (
        "a100x2",
        "a100x2-passthrough",
        "a30x4",
        "aws-p4d",
        "aws-p5",
        "azure-nd-a100",
        "dgx-a100",
        "dgx-spark",
        "gb200-tray",
        "h200-vm",
        "h200-vm-switches",
        "hgx-a100",
        "hgx-h100",
        "hgx-h200",
        "l40s",
        "no-gpu",
        "vmd",
    )


@pytest.mark.parametrize("name", shipped_nodes())
def test_a_machine_is_called_like_its_file_and_its_tree_is_marked(name: str) -> None:
    node = load_node(name)

    assert node.name == name
    assert re.match(r"illustrative$|from memory$|[\w-]+/[\w-]+#\d+", node.document.topology)


def test_no_gpu_is_shipped_twice() -> None:
    uuids = [card.uuid for name in shipped_nodes() for card in load_node(name).cards]

    assert len(set(uuids)) == len(uuids)


@pytest.mark.parametrize(
    ("name", "gpus", "product", "nics", "vfs"),
    [
        ("a100x2", 2, "NVIDIA A100-SXM4-40GB", 0, 0),
        ("a30x4", 4, "NVIDIA A30", 2, 2),
        ("aws-p4d", 8, "NVIDIA A100-SXM4-40GB", 4, 0),
        ("aws-p5", 8, "NVIDIA H100 80GB HBM3", 32, 0),
        ("azure-nd-a100", 8, "NVIDIA A100-SXM4-40GB", 8, 0),
        ("dgx-a100", 8, "NVIDIA A100-SXM4-40GB", 8, 64),
        ("dgx-spark", 1, "NVIDIA GB10", 4, 0),
        ("gb200-tray", 4, "NVIDIA GB200", 4, 16),
        ("h200-vm", 4, "NVIDIA H200", 4, 8),
        ("h200-vm-switches", 4, "NVIDIA H200", 4, 8),
        ("hgx-a100", 8, "NVIDIA A100-SXM4-80GB", 8, 16),
        ("hgx-h100", 8, "NVIDIA H100 80GB HBM3", 8, 64),
        ("hgx-h200", 8, "NVIDIA H200", 8, 32),
        ("l40s", 4, "NVIDIA L40S", 2, 8),
        ("no-gpu", 0, None, 2, 4),
        ("vmd", 2, "NVIDIA L40S", 2, 4),
    ],
)
def test_a_machine_has_its_gpus_and_nics(name: str, gpus: int, product: str, nics: int, vfs: int) -> None:
    node = load_node(name)

    assert [card.model.product_name for card in node.cards] == [product] * gpus
    assert len(node.nics) == nics
    assert sum(nic.form.vfs for nic in node.nics) == vfs


def test_the_two_gpus_of_the_kep_are_those_of_its_listing(machine) -> None:
    gpus = machine("a100x2").gpus
    first, second = gpus.gpus()

    assert gpus.versions() == DriverVersions("560.35.03", "12.6")
    assert isinstance(first, Gpu)
    assert isinstance(second, Gpu)
    assert (first.uuid, first.index, first.minor) == ("GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c", 0, 0)
    assert (second.uuid, second.index, second.minor) == ("GPU-4404041a-04cf-1ccf-9e70-f139a9b1e23c", 1, 1)
    assert (first.brand, first.architecture) == ("Nvidia", "Ampere")
    assert first.memory_bytes == 40960 * MIB


def test_the_two_gpus_of_the_kep_report_the_memory_of_its_listing(machine) -> None:
    gpus = machine("a100x2").gpus
    uuid = gpus.gpus()[0].uuid

    assert {profile.name: profile.memory_bytes // MIB for profile in gpus.profiles(uuid)} == {
        "1g.5gb": 4864,
        "1g.5gb+me": 4864,
        "1g.10gb": 9984,
        "2g.10gb": 9984,
        "3g.20gb": 20096,
        "4g.20gb": 20096,
        "7g.40gb": 40320,
    }


def test_a_pair_of_gpus_and_its_nics_share_a_tree_of_switches_in_a_dgx_a100() -> None:
    node = load_node("dgx-a100")

    switches = {}
    for device in (*node.cards, *node.nics):
        switches.setdefault(device.site.folder.split("/")[4], []).append(type(device).__name__)

    assert list(switches.values()) == [["Card", "Card", "Nic", "Nic"]] * 4
    gpus, nics = ({one.site.folder.split("/")[-3] for one in found} for found in (node.cards, node.nics))
    assert not gpus & nics
    assert len(node.document.numa) == 8
    assert {numa.socket for numa in node.document.numa} == {0, 1}


def test_the_shipped_figures_leave_nothing_out_but_what_has_no_source() -> None:
    incomplete = {name for name in shipped_nodes() if load_node(name).unknown}

    assert incomplete <= {"gb200-tray"}


def test_a_machine_without_gpus_has_no_driver_either(machine) -> None:
    gpus = machine("no-gpu").gpus

    for question in (gpus.gpus, gpus.versions):
        with pytest.raises(DriverMissing) as refusal:
            question()
        assert "operator" in str(refusal.value)


def test_the_text_of_a_shipped_machine_makes_the_same_machine(tmp_path) -> None:
    copy = tmp_path / "mine.yaml"
    copy.write_text(node_text("hgx-h100"))

    assert load_node(str(copy)) == load_node("hgx-h100")


def test_an_unknown_name_is_told_the_known_ones() -> None:
    with pytest.raises(UnknownNode) as refusal:
        load_node("dgx-a1000")

    assert "dgx-a100" in str(refusal.value)
    assert refusal.value.name == "dgx-a1000"
