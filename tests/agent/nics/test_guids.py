"""GUIDs of InfiniBand VFs: how they are made, read and set, and when a VF's driver has them."""

from __future__ import annotations

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg

from agent.hardware.errors import InvalidArgument, NotSupported
from agent.hardware.guids import NO_GUID, from_sysfs, normal, of_vf
from agent.hardware.nics.types import DriverBinding, LinkState, VfSettings
from agent.hardware.nics.vf_messages import settings
from agent.hardware.nics.vf_settings import PfSettings
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, parse_fault, parse_node
from agent.hardware.simulated.state import StateFile
from agent.hardware.types import Bdf

GUID, OTHER = "ba:59:9f:03:01:c1:23:aa", "02:00:00:00:00:00:00:07"
PF, VF = Bdf("0000:21:00.0"), Bdf("0000:21:00.1")
NODE = """
name: one-card
summary: one InfiniBand card
topology: illustrative
driver: null
numa: [{node: 0, socket: 0, cpus: 0-15, distances: [10]}]
pci:
- root_complex: pci0000:20
  numa_node: 0
  root_ports:
  - port: "0000:20:01.0"
    below: [{kind: nic, bdf: "0000:21:00.0", vfs: 2, total_vfs: 4, FORM}]
"""
bare = "model: connectx-7, link: infiniband, guids: false"


@pytest.fixture
def card(tmp_path):
    """Make a machine with one card that has two VFs."""
    return lambda form=bare: SimulatedMachine.open(
        parse_node("one-card", NODE.replace("FORM", form)), tmp_path / "machine"
    )


def shown(machine, function=VF):
    (device,) = simulated_hardware(machine).nics.reader.rdma_devices(function)
    return device.node_guid, device.port_guid


def refusal(machine, change):
    with pytest.raises(OSError) as refused:  # noqa: PT011 (the number is compared)
        machine.kernel.set_vf(simulated_hardware(machine).nics.reader.interfaces(PF)[0].name, 0, change)
    return refused.value.errno


universal = st.binary(min_size=8, max_size=8).map(lambda data: bytes([data[0] & 0xFC]) + data[1:])
indices = st.integers(0, 2**16 - 2)


def made(pf: bytes, index: int) -> bytes:
    return bytes.fromhex(of_vf(pf.hex(":"), index).replace(":", ""))


@given(universal, indices)
def test_a_vfs_guid_is_a_local_one_of_an_individual_and_always_the_same(pf: bytes, index: int) -> None:
    guid = made(pf, index)

    assert guid[0] & 0b11 == 0b10
    assert guid == made(pf, index)
    assert normal(guid.hex(":")) != NO_GUID


@given(
    universal,
    st.binary(min_size=2, max_size=2),
    st.lists(universal, max_size=3),
    st.sets(indices, max_size=5),
)
def test_no_two_vfs_of_cards_of_one_kind_have_the_same(
    first: bytes, middle: bytes, others: list[bytes], numbers: set[int]
) -> None:
    # What a vendor puts between the halves of an EUI-48 is the same in all its GUIDs; the next card is close.
    neighbour = first[:-1] + bytes([first[-1] ^ 1])
    cards = {one[:3] + middle + one[5:] for one in (first, neighbour, *others)}

    guids = [made(pf, index) for pf in cards for index in numbers]

    assert len(set(guids)) == len(guids)
    assert not cards & set(guids)


def test_the_number_of_a_vf_can_be_seen_in_its_guid() -> None:
    assert of_vf("b8:59:9f:03:00:c1:23:aa", 0) == "ba:59:9f:03:01:c1:23:aa"
    assert of_vf("b8:59:9f:03:00:c1:23:aa", 254) == "ba:59:9f:03:ff:c1:23:aa"
    assert of_vf("b8:59:9f:03:00:c1:23:aa", 255) == "ba:59:9f:02:00:c1:23:aa"


@pytest.mark.parametrize(
    ("text", "guid"),
    [
        ("b859:9f03:00c1:23aa", "b8:59:9f:03:00:c1:23:aa"),
        ("0000:0000:0000:0000", NO_GUID),
        ("ffff:ffff:ffff:ffff", NO_GUID),
        ("(null)", None),
        ("", None),
        (None, None),
    ],
)
def test_a_guid_is_read_as_sysfs_writes_it(text, guid) -> None:
    assert from_sysfs(text) == guid


def attribute(number: int, data: bytes) -> bytes:
    return struct.pack("HH", 4 + len(data), number) + data


@pytest.mark.parametrize("count", [1, 2, 3])
def test_guids_are_read_as_the_kernel_writes_them(count: int) -> None:
    # Source: Linux, include/uapi/linux/if_link.h: struct ifla_vf_guid has a number, a gap and 64 bits.
    def info(vf: int) -> bytes:
        guids = (struct.pack("=I4xQ", vf, int(guid.replace(":", ""), 16)) for guid in (GUID, OTHER))
        mac = attribute(1, struct.pack("=I", vf) + bytes(32))
        return attribute(
            1, mac + b"".join(attribute(number, guid) for number, guid in zip((10, 11), guids, strict=True))
        )

    body = struct.pack("=BxHiII", 0, 32, 5, 0, 0) + attribute(22, b"".join(info(vf) for vf in range(count)))
    message = ifinfmsg(struct.pack("=IHHII", 16 + len(body), 16, 0, 1, 1) + body)
    message.decode()

    found = settings(message)
    assert [(one.node_guid, one.port_guid) for one in found.values()] == [(GUID, OTHER)] * count


def test_a_driver_reads_the_guids_when_it_starts(card) -> None:
    machine = card()
    nics = simulated_hardware(machine).nics
    nics.settings.write(PF, 0, VfSettings(node_guid=GUID, port_guid=OTHER, link_state=LinkState.AUTO))
    bound = shown(machine)

    nics.functions.restart(VF, nics.reader.binding(VF))

    assert bound == (NO_GUID, NO_GUID)
    assert shown(machine) == (GUID, OTHER)
    assert nics.reader.interfaces(VF)[0].mac.endswith(OTHER)
    assert nics.reader.binding(VF) == DriverBinding("mlx5_core")
    assert nics.settings.read(PF, 1).node_guid == NO_GUID


def test_a_restart_that_died_halfway_is_ended_by_the_next(card) -> None:
    machine = card()
    nics = simulated_hardware(machine).nics
    before = nics.reader.binding(VF)
    machine.inject(parse_fault("nic-0:probe:hardware-fault:1"))
    with pytest.raises(Exception, match="give to driver mlx5_core"):
        nics.functions.restart(VF, before)
    assert nics.reader.binding(VF).driver is None

    nics.functions.restart(VF, before)

    assert nics.reader.binding(VF) == before


@pytest.mark.parametrize("form", ["model: connectx-7, link: ethernet", "model: connectx-3, link: infiniband"])
def test_only_mlx5_sets_guids_and_only_of_infiniband(card, form) -> None:
    machine = card(form)

    assert refusal(machine, VfSettings(node_guid=GUID)) == errno.EOPNOTSUPP
    with pytest.raises(NotSupported, match="cannot set GUIDs"):
        simulated_hardware(machine).nics.settings.write(PF, 0, VfSettings(port_guid=GUID))
    assert simulated_hardware(machine).nics.settings.read(PF, 0).node_guid is None


def test_an_infiniband_pf_sets_no_addresses_with_guids(card) -> None:
    assert refusal(card(), VfSettings(node_guid=GUID, vlan=5)) == errno.EOPNOTSUPP


def test_a_zero_is_restored_and_is_what_a_new_vf_has(card) -> None:
    nics = simulated_hardware(machine := card()).nics
    before = nics.settings.write(PF, 0, VfSettings(node_guid=GUID, port_guid=GUID))

    nics.settings.restore(PF, 0, before)

    assert nics.settings.read(PF, 0) == before
    assert StateFile(machine.directory).read().functions[VF].setting.node_guid is None


def test_a_firmware_that_takes_no_zero_gets_all_ones(card) -> None:
    machine = card()
    nics = simulated_hardware(machine).nics
    before = nics.settings.write(PF, 0, VfSettings(node_guid=GUID, port_guid=GUID))
    machine.inject(parse_fault("nic-0:no-zero-guid"))
    assert refusal(machine, VfSettings(node_guid=NO_GUID)) == errno.EINVAL

    nics.settings.restore(PF, 0, before)

    assert nics.settings.read(PF, 0) == before
    nics.functions.restart(VF, nics.reader.binding(VF))
    (device,) = nics.reader.rdma_devices(VF)
    folder = machine.root / f"sys/class/infiniband/{device.name}"
    assert (folder / "node_guid").read_text() == "ffff:ffff:ffff:ffff\n"
    assert (folder / "ports/1/state").read_text() == "1: DOWN\n"
    assert not device.has_guid


class Refusing:
    """A kernel that refuses every GUID with a number."""

    def __init__(self, kernel, number):
        self.kernel, self.number = kernel, number

    def set_vf(self, pf, index, wanted):
        if (wanted.node_guid or wanted.port_guid) is not None:
            raise OSError(self.number, "refused")
        self.kernel.set_vf(pf, index, wanted)

    def __getattr__(self, name):
        return getattr(self.kernel, name)


@pytest.mark.parametrize(
    ("number", "error", "text"),
    [
        (errno.EINVAL, InvalidArgument, "firmware rejects the GUID"),
        (errno.EOPNOTSUPP, NotSupported, "cannot set GUIDs"),
    ],
)
def test_a_refusal_names_the_guid_and_who_acts(card, number, error, text) -> None:
    machine = card()
    nics = simulated_hardware(machine).nics
    before = nics.settings.read(PF, 0)
    port = PfSettings(nics.reader, Refusing(machine.kernel, number))

    with pytest.raises(error, match=rf"set node guid {GUID}.*{text}.*the operator"):
        port.write(PF, 0, VfSettings(node_guid=GUID))
    machine.kernel.set_vf(nics.reader.interfaces(PF)[0].name, 0, VfSettings(node_guid=GUID))
    with pytest.raises(error, match="restore node guid"):
        port.restore(PF, 0, before)


def test_each_guid_is_a_request_of_its_own(card) -> None:
    # do_setvfinfo of Linux returns after the GUID of the node.
    machine = card()
    requests = []

    class Recording(Refusing):
        def set_vf(self, pf, index, wanted):
            requests.append(wanted)
            self.kernel.set_vf(pf, index, wanted)

    wanted = VfSettings(node_guid=GUID, port_guid=GUID, link_state=LinkState.AUTO)
    PfSettings(simulated_hardware(machine).nics.reader, Recording(machine.kernel, 0)).write(PF, 0, wanted)

    assert requests == [
        VfSettings(link_state=LinkState.AUTO),
        VfSettings(node_guid=GUID),
        VfSettings(port_guid=GUID),
    ]
