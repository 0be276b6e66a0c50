"""One error takes no device away: it stays for a few looks as it was, with a taint."""

from __future__ import annotations

from dataclasses import replace

import pytest
from dead_gpus import rebooted
from shared_nvswitch import shared_node

from agent.hardware.errors import HardwareFault
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import Lost, SimulatedMachine, load_node, node_text, parse_fault, parse_node
from agent.hardware.types import Unreadable
from agent.inventory import describe, discover, offered
from agent.inventory.model import Part
from agent.inventory.numbers.unlisted import TAINT
from agent.publishing.forms import Form, Found, Verdict, documents
from agent.publishing.metrics import Metrics
from agent.publishing.patience import LOOKS, Patience
from agent.publishing.taints.unreadable import UNREADABLE
from agent.publishing.telling.unreadable import UnreadableDevices
from agent.slices import composite_slices, encoded
from scheduler_core.model.ownership import CONTROLLER

NIC, VF = "nic-0000-19-00-0", "nic-0000-19-00-0-vf-0"


class Site:
    """A node, and an agent's patience with it."""

    def __init__(self, machine):
        self.machine = machine
        self.hardware = simulated_hardware(machine)
        self.patience = Patience()

    def look(self, readers=None):
        return self.patience.completed(discover(readers or self.hardware.readers, "node-1"))

    def devices(self):
        return describe(offered(self.look()))


@pytest.fixture
def site(tmp_path):
    return lambda name: Site(SimulatedMachine.open(load_node(name), tmp_path))


@pytest.fixture
def with_nics(tmp_path):
    """Four A30s and a NIC with two VFs."""
    return Site(SimulatedMachine.open(parse_node("a30x4", node_text("a30x4")), tmp_path))


def names(devices):
    return [*devices.by_name]


def slices(devices, **found):
    """Return v1 and composite slices."""
    v1 = documents(Found(devices, **found), Verdict(Form.SEPARATE))
    return v1, encoded(composite_slices(devices))


def tainted(v1):
    return {
        device["name"]
        for one in v1
        for device in one["spec"].get("devices", ())
        if any(taint["key"] == UNREADABLE.key for taint in device.get("taints", ()))
    }


@pytest.mark.parametrize("fault", ["gpu-1:profiles:timed-out:1", "gpu-1:profiles:reset-required:1"])
def test_one_transient_error_withdraws_no_device(site, fault):
    site = site("a100x2")
    before = site.devices()

    site.machine.inject(parse_fault(fault))
    during, after = site.devices(), site.devices()

    assert names(during) == names(before) == names(after)
    assert during.remembered == {name for name in before.by_name if name.split("-mig")[0] == "gpu-1"}
    assert not after.remembered
    assert slices(after) == slices(before)


def test_the_last_good_description_is_tainted_and_its_neighbours_are_not(site):
    site = site("a100x2")
    before = site.devices()
    site.machine.inject(Lost(1))

    during = site.devices()

    v1, composite = slices(during)
    assert tainted(v1) == {name for name in before.by_name if name.startswith("gpu-1")}
    assert composite == slices(before)[1]  # it has no taints, so nothing is written there


def test_a_taint_for_the_controller_stays_beside_it(site):
    site = site("a100x2")
    site.devices()
    site.machine.inject(Lost(1))

    v1, _ = slices(site.devices(), allocator=CONTROLLER)

    counts = {len(device["taints"]) for one in v1 for device in one["spec"].get("devices", ())}
    assert counts == {1, 2}


def test_a_server_that_drops_taints_keeps_the_device_without_one(site):
    site = site("a100x2")
    before = documents(Found(site.devices()), Verdict(Form.SEPARATE, frozenset({"taints"})))
    site.machine.inject(Lost(1))

    during = documents(Found(site.devices()), Verdict(Form.SEPARATE, frozenset({"taints"})))

    assert during == before


def test_a_gpu_that_stays_lost_goes_after_a_few_looks_and_comes_back_under_its_name(site):
    site = site("a100x2")
    before = names(site.devices())
    site.machine.inject(Lost(1))

    looks = [names(site.devices()) for _ in range(LOOKS + 2)]
    site.machine.clear_faults()

    assert looks[:LOOKS] == [before] * LOOKS
    assert looks[LOOKS:] == [[name for name in before if not name.startswith("gpu-1")]] * 2
    assert names(site.devices()) == before


def outside_the_driver(v1):
    return {
        device["name"]
        for one in v1
        for device in one["spec"].get("devices", ())
        if any(taint["key"] == TAINT for taint in device.get("taints", ()))
    }


def test_a_gpu_that_pci_shows_is_not_called_lost_before_patience_ends(site):
    site = site("a100x2")
    site.devices()
    site.machine.inject(Lost(1))

    looks = [site.devices() for _ in range(LOOKS + 1)]

    assert [one.unlisted for one in looks[:LOOKS]] == [()] * LOOKS
    assert not outside_the_driver(slices(looks[0])[0])
    assert [one.number for one in looks[LOOKS].unlisted] == [1]
    assert outside_the_driver(slices(looks[LOOKS])[0]) == {"gpu-1"}
    assert not tainted(slices(looks[LOOKS])[0])


def test_a_gpu_outside_the_driver_stays_while_the_bus_cannot_be_listed(site):
    site = site("a100x2")
    readers = rebooted(site.hardware, dead=[site.look().gpus[1].gpu.bdf]).readers
    site.patience = Patience()
    unreadable = replace(readers, pci=BusWithoutAnswer(readers.pci))

    before = site.look(readers)
    looks = [site.look(unreadable) for _ in range(LOOKS + 1)]

    assert [one.number for one in before.unlisted] == [1]
    assert [one.unlisted for one in looks] == [before.unlisted] * LOOKS + [()]
    assert site.look(readers).unlisted == before.unlisted


class BusWithoutAnswer:
    """A PCI reader that cannot list the GPUs."""

    def __init__(self, pci):
        self.nics, self.function = pci.nics, pci.function

    def gpus(self, besides=()):
        raise HardwareFault("list", "/sys/bus/pci/devices", "Input/output error")


def test_looks_are_counted_in_a_row(site):
    site = site("a100x2")
    before = names(site.devices())

    for _ in range(3):
        site.machine.inject(Lost(1))
        looks = [names(site.devices()) for _ in range(LOOKS)]
        site.machine.clear_faults()
        looks.append(names(site.devices()))

        assert looks == [before] * (LOOKS + 1)


@pytest.mark.parametrize(
    "fault", ["machine:gpus:hardware-fault", "machine:versions:timed-out", "machine:gpus:driver-missing"]
)
def test_a_fault_of_all_of_nvml_does_not_stop_the_nics(with_nics, fault):
    with_nics.devices()
    with_nics.machine.inject(parse_fault(fault))

    looks = [with_nics.devices() for _ in range(LOOKS + 1)]

    assert all({NIC, VF} <= devices.by_name.keys() - devices.remembered for devices in looks)
    assert any(name.startswith("gpu-") for name in looks[0].by_name)
    assert not any(name.startswith("gpu-") for name in looks[-1].by_name)


def test_what_is_gone_without_an_error_is_gone_at_once(with_nics):
    with_nics.devices()
    with_nics.hardware.nics.functions.set_vf_count(with_nics.look().nics[0].function.bdf, 0)

    devices = with_nics.devices()

    assert NIC in devices.by_name
    assert VF not in devices.by_name


class Pci:
    """The PCI reader of a machine that answers for one function what it is told."""

    def __init__(self, pci, answer):
        self.function, self.gpus, self._pci, self._answer = pci.function, pci.gpus, pci, answer

    def nics(self):
        return self._answer(self._pci.nics())


@pytest.mark.parametrize("what", ["nic", "vf", "all"])
def test_a_nic_or_vf_that_cannot_be_read_stays_tainted_with_its_facts(with_nics, what):
    before = with_nics.devices()
    readers = with_nics.hardware.readers

    def answer(nics):
        first, *others = nics
        vf, *rest = first.vfs
        if what == "all":
            raise HardwareFault("list", "/sys/bus/pci/devices", "Input/output error")
        if what == "nic":
            return (Unreadable("PCI function", "EIO", bdf=first.function.bdf), *others)
        return (replace(first, vfs=tuple(rest)), Unreadable("VF", "EIO", bdf=vf.function.bdf), *others)

    found = with_nics.look(replace(readers, pci=Pci(readers.pci, answer)))

    devices = describe(offered(found))
    assert found.unread == {Part.NICS}
    assert names(devices) == names(before)
    assert VF in devices.remembered
    assert (NIC in devices.remembered) is (what != "vf")
    assert devices.withheld == before.withheld


def test_a_fabric_manager_that_does_not_answer_once_takes_no_gpu_away(tmp_path):
    site = Site(SimulatedMachine.open(shared_node(), tmp_path))
    before = names(site.devices())
    site.machine.inject(parse_fault("machine:no-fabric-manager"))

    assert names(site.devices()) == before


class Noticeboard:
    def __init__(self):
        self.told = []

    def warn(self, reason, text):
        self.told.append((reason, text))

    note = warn


def test_what_becomes_of_a_device_that_cannot_be_read_is_told_once_each(site):
    site, board, metrics = site("a100x2"), Noticeboard(), Metrics()
    teller = UnreadableDevices(metrics, board)
    teller.discovered(site.devices())
    site.machine.inject(Lost(1))

    counts = []
    for _ in range(LOOKS + 1):
        teller.discovered(site.devices())
        counts.append("\ntangram_agent_unreadable_devices 0.0\n" in metrics.text())
    site.machine.clear_faults()
    teller.discovered(site.devices())

    assert [reason for reason, _ in board.told] == ["DevicesUnreadable", "DevicesGone"]
    assert board.told[0][1].startswith("gpu-1 and ")
    assert counts == [False] * LOOKS + [True]


def test_a_device_that_can_be_read_again_is_told(site):
    site, board = site("a100x2"), Noticeboard()
    teller = UnreadableDevices(Metrics(), board)
    site.devices()
    site.machine.inject(Lost(1))
    teller.discovered(site.devices())
    site.machine.clear_faults()

    teller.discovered(site.devices())

    assert [reason for reason, _ in board.told] == ["DevicesUnreadable", "DevicesReadable"]
