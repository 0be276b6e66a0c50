"""A card is known by what it says of itself, and its data-direct function by the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.hardware.nics.reading.sysfs_nics import SysfsNics
from agent.hardware.types import Bdf, PhysicalFunction
from agent.hardware.vital_product_data import keywords

PF, OTHER = Bdf("0000:3b:00.0"), Bdf("0000:3b:00.1")


def product_data(**fields: str) -> bytes:
    """Vital product data as cards have it: an identifier, read-only fields, an end."""
    name = b"ConnectX"
    body = b"".join(key.encode() + bytes([len(value)]) + value.encode() for key, value in fields.items())
    return (
        bytes([0x82, len(name), 0]) + name + bytes([0x90, *len(body).to_bytes(2, "little")]) + body + b"\x78"
    )


def described(folder: Path, **fields: str) -> None:
    (folder / "vpd").write_bytes(product_data(**fields))


def test_the_read_only_keywords_are_read() -> None:
    assert keywords(product_data(PN="MCX", SN="MT2", VU="MT2MLNXS0D0F0")) == {
        "PN": "MCX",
        "SN": "MT2",
        "VU": "MT2MLNXS0D0F0",
    }


@given(st.binary(max_size=80))
def test_bytes_of_any_kind_are_read_without_a_failure(data: bytes) -> None:
    keywords(data)


@given(st.integers(0, 60))
def test_data_that_ends_early_gives_the_keywords_before(length: int) -> None:
    whole = keywords(product_data(PN="MCX", SN="MT2"))

    assert keywords(product_data(PN="MCX", SN="MT2")[:length]).items() <= whole.items()


def test_a_card_without_an_rdma_device_is_known_by_its_serial_number(tree) -> None:
    for bdf in (PF, OTHER):
        described(tree.function(f"pci0000:3a/{bdf}"), SN="MT2")

    assert {nic.card_id for nic in tree.sysfs.nics() if isinstance(nic, PhysicalFunction)} == {"MT2"}


def test_a_card_that_says_nothing_is_known_by_its_slot(tree) -> None:
    tree.function(f"pci0000:3a/{PF}")

    (nic,) = tree.sysfs.nics()

    assert nic.card_id == "0000:3b:00"


def direct(tree, bdf: str, **fields: str) -> None:
    folder = tree.function(f"pci0001:00/{bdf}", **{"device": "0x2100", "class": "0x020800"})
    described(folder, **fields)


def test_the_data_direct_function_of_a_card_has_its_serial_number(tree) -> None:
    described(tree.function(f"pci0000:3a/{PF}", device="0x1023"), SN="MT2")
    direct(tree, "0001:01:00.0", SN="MT9")
    direct(tree, "0001:02:00.0", SN="MT2")

    found = SysfsNics(tree.root).data_direct([PF])[PF]

    assert (found.bdf, found.path.root_complex) == ("0001:02:00.0", "pci0001:00")


def test_of_two_data_direct_functions_the_id_of_the_port_decides(tree) -> None:
    described(tree.function(f"pci0000:3a/{PF}", device="0x1023"), SN="MT2", VU="MT2S0D0F0")
    direct(tree, "0001:01:00.0", SN="MT2", VU="MT2S0D0F1DD")
    direct(tree, "0001:02:00.0", SN="MT2", VU="MT2S0D0F0DD")

    assert SysfsNics(tree.root).data_direct([PF])[PF].bdf == "0001:02:00.0"


@pytest.mark.parametrize("own", [{}, {"SN": "MT3"}, {"SN": "MT2"}])
def test_what_cannot_be_told_is_unknown(tree, own: dict[str, str]) -> None:
    described(tree.function(f"pci0000:3a/{PF}", device="0x1023"), **own)
    for bdf in ("0001:01:00.0", "0001:02:00.0"):
        direct(tree, bdf, SN="MT2")

    assert SysfsNics(tree.root).data_direct([PF]) == {}


def test_a_node_without_data_direct_has_none(tree) -> None:
    tree.function(f"pci0000:3a/{PF}")

    assert SysfsNics(tree.root).data_direct([PF]) == {}
