"""Cards that are less tidy than a ConnectX-7: other PCI classes, other links, RDMA made by software."""

from __future__ import annotations

import pytest
import yaml

from agent.hardware.nics.types import DriverBinding
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, parse_fault
from agent.hardware.simulated.library import parse_node
from agent.hardware.types import Bdf
from agent.inventory import describe
from agent.inventory.judgement import why_not_nic
from agent.inventory.offered import offered
from agent.inventory.withheld import Cause
from scheduler_core.model.names import qualified

DRIVER = "tangram.dev"


@pytest.fixture
def card(tmp_path):
    """Return a machine with one card."""
    return lambda **form: SimulatedMachine.open(parse_node("one-card", node_of(form)), tmp_path / "machine")


@pytest.fixture
def nic_of(card, inventory_of):
    """Return the published NIC of a machine with one card, by attribute; None if none is published."""
    return lambda **form: published(inventory_of(card(**form)))


def published(inventory):
    devices = [one for one in describe(inventory, DRIVER).pool.devices if one.name.startswith("nic-")]
    key = qualified("type", DRIVER)
    nics = [one for one in devices if one.attributes[key] == "nic"]
    return {name.rpartition("/")[2]: value for name, value in nics[0].attributes.items()} if nics else None


def node_of(form):
    nic = {"kind": "nic", "bdf": "0000:21:00.0", "link": "ethernet"} | form
    return yaml.safe_dump(
        {
            "name": "node-a",
            "summary": "one card",
            "topology": "illustrative",
            "driver": None,
            "numa": [{"node": 0, "socket": 0, "cpus": "0-15", "distances": [10]}],
            "pci": [
                {
                    "root_complex": "pci0000:20",
                    "numa_node": 0,
                    "root_ports": [{"port": "0000:20:01.0", "below": [nic]}],
                }
            ],
        }
    )


@pytest.mark.parametrize(
    ("form", "link_type"),
    [
        ({"model": "connectx-3", "link": "infiniband"}, "infiniband"),
        ({"model": "connectx-3", "link": "ethernet"}, "ethernet"),
        ({"model": "connectx-7", "pci_class": "028000"}, "ethernet"),
        ({"model": "connectx-7", "pci_class": "020800", "link": "infiniband"}, "infiniband"),
        ({"model": "connectx-7", "pci_class": "00ff00"}, "ethernet"),
    ],
)
def test_a_card_of_another_class_is_a_nic_if_a_driver_made_it_one(nic_of, form, link_type):
    nic = nic_of(**form)

    assert (nic["linkType"], nic["rdmaCapable"], nic["netdevCapable"]) == (link_type, True, True)


def test_a_card_of_class_0280_without_a_driver_is_withheld_with_its_address(card, inventory_of):
    made = card(model="connectx-3", link="infiniband")
    simulated_hardware(made).nics.functions.restore(Bdf("0000:21:00.0"), DriverBinding(None))

    (withheld,) = offered(inventory_of(made)).withheld
    assert withheld.device == "nic-0000-21-00-0"
    assert "it has no RDMA device" in str(withheld)


def test_a_function_of_another_class_without_devices_is_not_a_nic(card, inventory_of):
    form = {"model": "connectx-7", "pci_class": "020800", "interface": False, "rdma": False}

    assert inventory_of(card(**form)).nics == ()


@pytest.mark.parametrize("interface", [False, True])
def test_a_link_that_is_neither_ethernet_nor_infiniband_has_no_link_type(nic_of, interface):
    nic = nic_of(model="connectx-7", link="unspecified", interface=interface)

    assert "linkType" not in nic
    assert nic["rdmaCapable"]
    assert nic["linkSpeedMbps"] == 400_000


def test_efa_is_offered_for_rdma_and_not_as_an_interface_that_it_does_not_have(nic_of):
    nic = nic_of(model="efa", link="unspecified")

    assert "linkType" not in nic
    assert (nic["rdmaCapable"], nic["netdevCapable"]) == (True, False)


@pytest.mark.parametrize("kind", ["siw", "rxe"])
@pytest.mark.parametrize(("model", "is_capable"), [("i350", False), ("connectx-7", True)])
def test_rdma_that_software_makes_is_not_the_cards(card, inventory_of, model, kind, is_capable):
    inventory = inventory_of(made := card(model=model, software_rdma=kind))
    (pf,) = inventory.nics

    assert (pf.rdma_device is not None) is is_capable
    assert published(inventory)["rdmaCapable"] is is_capable
    names = [device.name for device in simulated_hardware(made).nics.reader.rdma_devices(pf.function.bdf)]
    assert names == (["mlx5_0"] if is_capable else [])
    assert why_not_nic(inventory.nic(pf)) is None  # an i350 stays one whose interface pods can have


def test_rxe_under_a_name_of_its_own_is_told_by_its_file(card, inventory_of):
    made = card(model="i350", software_rdma="rxe")
    folder = made.root / "sys/class/infiniband"
    (link,) = folder.iterdir()
    link.rename(folder / "roce7")

    (pf,) = inventory_of(made).nics
    assert pf.rdma_device is None


@pytest.mark.parametrize("model", ["connectx-6", "connectx-7"])
@pytest.mark.parametrize("mode", [None, "vfio-pci"])
def test_an_infiniband_vf_without_guids_is_offered_since_its_claim_gets_it_some(
    card, inventory_of, model, mode
):
    made = card(model=model, link="infiniband", vfs=3, total_vfs=4, guids=False)
    if mode is not None:  # of a VF that VFIO has nothing can be read
        simulated_hardware(made).nics.functions.give_to(Bdf("0000:21:00.1"), mode)

    found = offered(inventory_of(made))

    assert found.withheld == ()
    assert sum(name.startswith("nic-") for name in describe(found, DRIVER).by_name) == 1 + 3


def test_a_vf_without_guids_is_withheld_if_its_nic_has_no_interface_to_set_them(card, inventory_of):
    made = card(model="connectx-7", link="infiniband", vfs=3, total_vfs=4, guids=False, interface=False)

    found = offered(inventory_of(made))

    assert [one.device for one in found.withheld] == [f"nic-0000-21-00-0-vf-{n}" for n in range(3)]
    assert {one.reason.cause for one in found.withheld} == {Cause.NO_GUID}
    assert "ib_ipoib" in str(found.withheld[0])
    assert sum(name.startswith("nic-") for name in describe(found, DRIVER).by_name) == 1


@pytest.mark.parametrize("none", ["0000:0000:0000:0000", "ffff:ffff:ffff:ffff"])
def test_a_vf_without_guids_is_withheld_if_its_nics_driver_sets_none(card, inventory_of, none):
    made = card(model="connectx-3", link="infiniband", vfs=2, total_vfs=4)
    (device,) = simulated_hardware(made).nics.reader.rdma_devices(Bdf("0000:21:00.1"))
    (made.root / f"sys/class/infiniband/{device.name}/node_guid").write_text(f"{none}\n")

    (found,) = offered(inventory_of(made)).withheld

    assert (found.device, found.reason.cause) == ("nic-0000-21-00-0-vf-0", Cause.NO_GUID)
    assert "driver mlx4_core of its NIC sets none" in str(found)


@pytest.mark.parametrize(
    "form",
    [
        {"model": "connectx-7", "link": "infiniband"},
        {"model": "connectx-7", "link": "ethernet"},
        {"model": "connectx-3", "link": "infiniband", "guids": False},
    ],
)
def test_a_vf_that_has_guids_or_needs_none_is_offered(card, inventory_of, form):
    found = offered(inventory_of(card(vfs=3, total_vfs=4, **form)))

    assert found.withheld == ()
    assert len(describe(found, DRIVER).by_name) == 4


def test_the_port_of_a_vf_without_guids_is_no_fault_of_its_health(card):
    made = card(model="connectx-7", link="infiniband", vfs=1, total_vfs=1, guids=False)
    reader = simulated_hardware(made).nics.reader
    (device,) = reader.rdma_devices(Bdf("0000:21:00.1"))

    state = made.root / "sys/class/infiniband" / device.name / "ports/1/state"
    assert (state.read_text(), device.has_guid) == ("1: DOWN\n", False)
    assert reader.nic_vitals(Bdf("0000:21:00.1")).ports_down == ()


@pytest.mark.parametrize(("link", "is_netdev"), [("infiniband", False), ("ethernet", True)])
def test_an_interface_on_infiniband_is_one_of_the_rdma_device(card, inventory_of, link, is_netdev):
    made = card(model="connectx-7", link=link, total_vfs=4)
    made.inject(parse_fault("nic-0:no-rdma"))
    made.set_vfs(Bdf("0000:21:00.0"), 1)

    devices = describe(offered(inventory_of(made)), DRIVER).pool.devices

    (vf,) = (one for one in devices if one.name == "nic-0000-21-00-0-vf-0")
    said = {name: vf.attributes[qualified(f"{name}Capable", DRIVER)] for name in ("rdma", "netdev", "vfio")}
    assert said == {"rdma": False, "netdev": is_netdev, "vfio": True}
