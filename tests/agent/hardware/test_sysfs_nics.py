"""NICs, their VFs and their interfaces, on odd machines."""

from __future__ import annotations

import pytest

from agent.hardware.types import PhysicalFunction, Unreadable

PORT = "pci0000:3a/0000:3a:00.0"
PF = f"{PORT}/0000:3b:00.0"


def only_nic(tree) -> PhysicalFunction:
    (nic,) = tree.sysfs.nics()
    assert isinstance(nic, PhysicalFunction)
    return nic


@pytest.mark.parametrize(
    ("code", "is_nic"), [("0x020000", True), ("0x020700", True), ("0x028000", True), ("0x030200", False)]
)
def test_network_controllers_are_nics(tree, code: str, is_nic: bool) -> None:
    tree.function(PF, **{"class": code})

    assert bool(tree.sysfs.nics()) is is_nic


def test_nics_come_by_address_with_long_domains_last(tree) -> None:
    for path in ("pci10000:00/10000:00:01.0", "pci0000:c0/0000:c1:00.0", "pci0000:00/0000:02:00.0"):
        tree.function(path)

    found = [nic.function.bdf for nic in tree.sysfs.nics()]

    assert found == ["0000:02:00.0", "0000:c1:00.0", "10000:00:01.0"]


def test_vfs_belong_to_their_pf_in_numeric_order(tree) -> None:
    tree.function(PF, sriov_totalvfs="16")
    for index in (10, 2, 0):
        tree.virtual_function("0000:3b:00.0", index, f"{PORT}/0000:3b:0{1 + index // 8}.{index % 8}")

    nic = only_nic(tree)

    assert nic.total_vfs == 16
    assert [(vf.index, vf.function.bdf) for vf in nic.vfs] == [
        (0, "0000:3b:01.0"),
        (2, "0000:3b:01.2"),
        (10, "0000:3b:02.2"),
    ]


def test_a_vf_without_a_pf_stands_for_itself(tree) -> None:
    tree.function("pci0000:00/0000:00:05.0", device="0x101c")

    assert only_nic(tree).vfs == ()


def test_a_vf_that_vanished_is_left_out(tree) -> None:
    folder = tree.function(PF)
    tree.virtual_function("0000:3b:00.0", 1, f"{PORT}/0000:3b:00.3")
    (folder / "virtfn0").symlink_to("../0000:3b:00.2")

    assert [vf.index for vf in only_nic(tree).vfs] == [1]


def test_a_broken_vf_stands_beside_its_healthy_neighbours(tree) -> None:
    tree.function(PF)
    tree.virtual_function("0000:3b:00.0", 0, f"{PORT}/0000:3b:00.2", device="")
    tree.virtual_function("0000:3b:00.0", 1, f"{PORT}/0000:3b:00.3")

    nic, broken = tree.sysfs.nics()

    assert [vf.index for vf in nic.vfs] == [1]
    assert broken.what == "VF 0 of 0000:3b:00.0"


def test_a_nic_that_vanishes_between_listing_and_reading_leaves_its_neighbours(tree) -> None:
    tree.function(PF)
    (tree.listing / "0000:3b:00.1").symlink_to(f"../../../devices/{PORT}/0000:3b:00.1")

    assert only_nic(tree).function.bdf == "0000:3b:00.0"


def test_a_function_with_a_broken_file_is_unreadable_and_its_neighbours_are_not(tree) -> None:
    tree.function(PF)
    broken = tree.function(f"{PORT}/0000:3b:00.1")
    (broken / "device").unlink()
    (broken / "device").mkdir()

    healthy, unreadable = tree.sysfs.nics()

    assert healthy.function.bdf == "0000:3b:00.0"
    assert isinstance(unreadable, Unreadable)
    assert unreadable.what == "PCI function 0000:3b:00.1"
    assert "read device" in unreadable.reason


def test_the_bridge_that_manages_nvlink_switches_is_no_nic(tree) -> None:
    bridge = tree.function(PF, device="0x1021", **{"class": "0x020700"})
    card = tree.function(f"{PORT}/0000:3c:00.0", device="0x1021", **{"class": "0x020700"})
    (bridge / "vpd").write_bytes(b"\x82\x10\x00NVIDIA bridge\x90SW_MNG\x78")
    (card / "vpd").write_bytes(b"\x82\x10\x00NVIDIA ConnectX-7\x78")

    assert only_nic(tree).function.bdf == "0000:3c:00.0"


def test_a_virtio_netdev_is_found_above_its_own_bus(tree) -> None:
    tree.function("pci0000:00/0000:00:03.0", vendor="0x1af4", device="0x1041")
    tree.netdev("eth0", "pci0000:00/0000:00:03.0/virtio2")

    assert only_nic(tree).netdev == "eth0"


def test_an_uplink_is_preferred_to_representors_and_sub_functions(tree) -> None:
    tree.function(PF)
    tree.netdev("a_representor", PF, phys_port_name="pf0vf3")
    tree.netdev("b_sub_function", f"{PF}/mlx5_core.sf.4")
    tree.netdev("uplink", PF, phys_port_name="p0")

    assert only_nic(tree).netdev == "uplink"


def test_among_equal_netdevs_the_first_port_counts(tree) -> None:
    tree.function(PF)
    tree.netdev("eth10", PF, dev_port="0")
    tree.netdev("eth2", PF, dev_port="1")
    tree.netdev("eth9", PF, dev_port="0")

    assert only_nic(tree).netdev == "eth9"


def test_virtual_netdevs_belong_to_nobody(tree) -> None:
    tree.function(PF)
    tree.netdev("lo", "virtual", type="772")

    assert only_nic(tree).netdev is None


def test_each_vf_has_its_own_interfaces(tree) -> None:
    tree.function(PF)
    tree.netdev("ens1f0", PF)
    tree.virtual_function("0000:3b:00.0", 0, f"{PORT}/0000:3b:00.2")
    tree.netdev("ens1f0v0", f"{PORT}/0000:3b:00.2")
    tree.rdma_device("mlx5_2", f"{PORT}/0000:3b:00.2")

    nic = only_nic(tree)

    assert nic.netdev == "ens1f0"
    assert (nic.vfs[0].netdev, nic.vfs[0].rdma_device) == ("ens1f0v0", "mlx5_2")


@pytest.mark.parametrize(("number", "kind"), [("1", "ethernet"), ("32", "infiniband"), ("772", None)])
def test_the_netdev_tells_the_link_type(tree, number: str, kind: str | None) -> None:
    tree.function(PF)
    tree.netdev("ib0", PF, type=number)

    assert only_nic(tree).link_type == kind


def test_without_a_netdev_the_rdma_port_tells_the_link_type(tree) -> None:
    tree.function(PF)
    tree.rdma_device("mlx5_0", PF, **{"ports/1/link_layer": "InfiniBand"})

    nic = only_nic(tree)

    assert (nic.netdev, nic.rdma_device, nic.link_type) == (None, "mlx5_0", "infiniband")


@pytest.mark.parametrize(("told", "speed"), [("200000", 200_000), ("-1", None), ("0", None), ("", None)])
def test_the_netdev_tells_the_link_speed_while_it_is_up(tree, told: str, speed: int | None) -> None:
    tree.function(PF)
    tree.netdev("ens1f0", PF, speed=told)

    assert only_nic(tree).link_speed_mbps == speed


@pytest.mark.parametrize(
    ("rate", "state", "speed"),
    [
        ("200 Gb/sec (4X HDR)", "4: ACTIVE", 200_000),
        ("2.5 Gb/sec (1X SDR)", "4: ACTIVE", 2_500),
        ("10 Gb/sec (4X SDR)", "1: DOWN", None),
        ("<unknown>", "4: ACTIVE", None),
    ],
)
def test_without_a_netdev_an_active_rdma_port_tells_the_link_speed(
    tree, rate: str, state: str, speed: int | None
) -> None:
    tree.function(PF)
    tree.rdma_device("mlx5_0", PF, **{"ports/1/rate": rate, "ports/1/state": state})

    assert only_nic(tree).link_speed_mbps == speed


def test_a_bare_function_has_no_link_type(tree) -> None:
    tree.function(PF)

    assert only_nic(tree).link_type is None


def test_ports_of_one_card_share_its_guid_and_else_its_slot(tree) -> None:
    for port, bdf in enumerate(("0000:3b:00.0", "0000:3b:00.1", "0000:5e:00.0", "0000:5e:00.1")):
        path = f"{PORT}/{bdf}"
        tree.function(path)
        guid = "b859:9f03:00c1:23aa" if bdf.startswith("0000:3b") else "0000:0000:0000:0000"
        tree.rdma_device(f"mlx5_{port}", path, sys_image_guid=guid)

    cards = [nic.card_id for nic in tree.sysfs.nics()]

    assert cards == ["b859:9f03:00c1:23aa"] * 2 + ["0000:5e:00"] * 2
