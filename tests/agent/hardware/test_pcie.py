"""Paths and configuration spaces, without files."""

from __future__ import annotations

import pytest

from agent.hardware.pcie import Chain, is_upstream_port, pcie_path
from agent.hardware.types import Bdf, PciePath


def config(*capabilities: tuple[int, int, int], first: int = 0x40) -> bytes:
    """A space with capabilities given as (offset, id, next); flags of each name an upstream port."""
    space = bytearray(256)
    space[0x06], space[0x34] = 0x10, first
    for at, capability, following in capabilities:
        space[at : at + 4] = bytes([capability, following, 0x52, 0x00])
    return bytes(space)


def bridges(*names: str) -> Chain:
    return Chain("pci0000:00", tuple(Bdf(name) for name in names))


def test_a_chain_starts_below_the_root_complex_and_ends_above_the_function() -> None:
    parts = (
        "/",
        "sys",
        "devices",
        "pci0000:3a",
        "0000:3a:00.0",
        "0000:3b:00.0",
        "0000:3c:01.0",
        "0000:3d:00.1",
    )

    chain = Chain.of(parts)

    assert chain == Chain("pci0000:3a", (Bdf("0000:3a:00.0"), Bdf("0000:3b:00.0"), Bdf("0000:3c:01.0")))


def test_behind_a_vmd_controller_the_inner_root_complex_counts() -> None:
    parts = ("pci0000:00", "0000:00:0e.0", "pci10000:e0", "10000:e0:01.0", "10000:e1:00.0")

    chain = Chain.of(parts)

    assert chain == Chain("pci10000:e0", (Bdf("10000:e0:01.0"),))


def test_platform_devices_in_front_of_the_root_complex_do_not_matter() -> None:
    parts = ("devices", "platform", "bus@0", "pci0003:00", "0003:00:00.0", "0003:01:00.0")

    chain = Chain.of(parts)

    assert chain == Chain("pci0003:00", (Bdf("0003:00:00.0"),), "platform/bus@0")


def test_a_path_without_a_root_complex_still_has_a_root_port() -> None:
    chain = Chain.of(("devices", "platform", "0003:00:00.0", "0003:01:00.0"))

    assert pcie_path(chain, lambda _: False) == PciePath(None, Bdf("0003:00:00.0"))


def test_a_function_on_the_root_complex_has_neither_port_nor_switch() -> None:
    assert pcie_path(bridges(), lambda _: None) == PciePath("pci0000:00")


def test_cascaded_switches_are_named_from_the_root_port_down() -> None:
    chain = bridges("root", "up-1", "down-1", "up-2", "down-2")

    path = pcie_path(chain, lambda bridge: bridge.startswith("up"))

    assert path == PciePath("pci0000:00", Bdf("root"), (Bdf("up-1"), Bdf("up-2")))


@pytest.mark.parametrize(
    ("names", "switches"),
    [
        (("root",), ()),
        (("root", "bridge"), ()),
        (("root", "up", "down"), ("up",)),
        (("root", "up", "down", "bridge"), ("up",)),
        (("root", "up", "down", "up-2", "down-2"), ("up", "up-2")),
    ],
)
def test_without_port_types_switches_are_found_by_counting(
    names: tuple[str, ...], switches: tuple[str, ...]
) -> None:
    path = pcie_path(bridges(*names), lambda _: None)

    assert path.switches == switches


def test_a_known_upstream_port_is_believed_before_an_unknown_bridge_above_it() -> None:
    kinds = {"down": False, "up": True}

    path = pcie_path(bridges("root", "odd", "up", "down"), kinds.get)

    assert path.switches == ("up",)


def test_the_port_type_is_found_behind_other_capabilities() -> None:
    assert is_upstream_port(config((0x40, 0x01, 0x50), (0x50, 0x05, 0x60), (0x60, 0x10, 0))) is True


def test_a_conventional_function_is_no_upstream_port() -> None:
    assert is_upstream_port(config((0x40, 0x01, 0))) is False
    assert is_upstream_port(bytes(256)) is False


def test_a_configuration_cut_at_64_bytes_tells_nothing() -> None:
    assert is_upstream_port(config((0x40, 0x10, 0))[:64]) is None
    assert is_upstream_port(b"") is None


def test_a_capability_list_that_loops_ends() -> None:
    assert is_upstream_port(config((0x40, 0x01, 0x50), (0x50, 0x05, 0x40))) is False
