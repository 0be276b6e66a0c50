"""The interfaces that the node itself needs are found, whatever lies between them and its default route."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.hardware.nics.reading.host_network import needed_interfaces
from agent.hardware.nics.reading.sysfs_nics import SysfsNics
from agent.hardware.types import Bdf

HEAD = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
NOWHERE = "00000000000000000000000000000000"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    (tmp_path / "proc/net").mkdir(parents=True)
    (tmp_path / "sys/class/net").mkdir(parents=True)
    return tmp_path


def route(host: Path, interface: str, to: str = "00000000", mask: str = "00000000") -> None:
    row = f"{interface}\t{to}\t010200C0\t0003\t0\t0\t0\t{mask}\t0\t0\t0\n"
    (host / "proc/net/route").write_text(HEAD + row)


def interface(host: Path, name: str, **files: str) -> None:
    folder = host / "sys/class/net" / name
    folder.mkdir(exist_ok=True)
    for file, content in files.items():
        path = folder / file.replace("__", "/")
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)


def test_the_interface_with_the_default_route_is_needed(host) -> None:
    route(host, "eth0")
    interface(host, "eth0")
    interface(host, "eth1")

    assert needed_interfaces(host) == {"eth0": ("eth0",)}


def test_a_route_to_a_network_needs_nothing(host) -> None:
    route(host, "eth1", to="000200C0", mask="00FFFFFF")

    assert needed_interfaces(host) == {}


def test_a_route_to_half_the_world_is_no_default_route(host) -> None:
    route(host, "tun0", to="00000000", mask="00000080")

    assert needed_interfaces(host) == {}


def test_all_ports_below_a_vlan_on_a_bond_are_needed(host) -> None:
    route(host, "bond0.5")
    interface(host, "bond0.5", lower_bond0="")
    interface(host, "bond0", lower_eth0="", lower_eth1="")

    assert needed_interfaces(host) == {
        "bond0.5": ("bond0.5",),
        "bond0": ("bond0", "bond0.5"),
        "eth0": ("eth0", "bond0", "bond0.5"),
        "eth1": ("eth1", "bond0", "bond0.5"),
    }


def test_the_members_of_a_bridge_are_needed(host) -> None:
    route(host, "br0")
    interface(host, "br0", brif__eth0="")

    assert needed_interfaces(host)["eth0"] == ("eth0", "br0")


def test_the_parent_of_an_ip_over_infiniband_child_is_needed(host) -> None:
    route(host, "ib0.8001")
    interface(host, "ib0.8001", parent="ib0\n")

    assert needed_interfaces(host)["ib0"] == ("ib0", "ib0.8001")


def test_interfaces_that_lie_below_each_other_end_the_search(host) -> None:
    route(host, "a")
    interface(host, "a", lower_b="")
    interface(host, "b", lower_a="")

    assert set(needed_interfaces(host)) == {"a", "b"}


@pytest.mark.parametrize(
    ("flags", "is_needed"), [("00000003", True), ("00200201", False), ("00000002", False)]
)
def test_a_default_route_of_ipv6_counts_if_it_is_used(host, flags: str, is_needed: bool) -> None:
    row = f"{NOWHERE} 00 {NOWHERE} 00 {NOWHERE} 00000400 00000001 00000000 {flags}     eth6\n"
    (host / "proc/net/ipv6_route").write_text(row)

    assert ("eth6" in needed_interfaces(host)) is is_needed


def test_a_node_without_routes_needs_nothing(host) -> None:
    assert needed_interfaces(host) == {}


def test_a_function_tells_the_way_up_to_the_default_route(host, tree) -> None:
    bdf = Bdf("0000:3b:00.0")
    tree.function(f"pci0000:3a/{bdf}")
    tree.netdev("eth0", f"pci0000:3a/{bdf}", address="02:00:00:00:00:01", ifindex="2")
    route(host, "br0")
    interface(host, "br0", lower_eth0="")

    assert SysfsNics(host).needed_for_default_route(bdf) == ("eth0", "br0")
