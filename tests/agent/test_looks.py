"""A look reads few files, and all of them anew: what changes between two looks is in the second one."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from agent.hardware.nics.types import VFIO_PCI
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node, node_text, parse_fault, parse_node
from agent.hardware.sysfs import Sysfs
from agent.hardware.types import Bdf
from agent.inventory import discover
from agent.looks import Looks
from agent.options import Options

PF, VF = Bdf("0000:19:00.0"), Bdf("0000:19:00.2")
NAME = "nic-0000-19-00-0-vf-0"
VFS = 'vfs: 2, total_vfs: 4, first_vf: "0000:19:00.2"'


class Site:
    """A node, and an agent that looks at it."""

    def __init__(self, machine):
        self.machine, self.hardware = machine, simulated_hardware(machine)
        self.looks = Looks(Options(driver_name="tangram.dev", node_name="node-1"), None, dict)

    def look(self):
        return self.looks.found(discover(self.hardware.readers, "node-1"))


@pytest.fixture
def site(tmp_path):
    """Return nodes with two NICs, one of which has VFs."""

    def made(vfs=VFS):
        text = node_text("a30x4").replace(VFS, vfs)
        return Site(
            SimulatedMachine.open(parse_node("a30x4", text), tmp_path / str(len(os.listdir(tmp_path))))
        )

    return made


def test_a_look_without_change_finds_the_same_and_describes_nothing_anew(site):
    site = site()
    before = site.look()

    assert site.look() == before
    assert site.look().devices is before.devices


def with_other_id(site):
    functions = site.machine.root / "sys/bus/pci/devices"
    (functions / PF / "sriov_vf_device").write_text("1020\n")
    (functions / VF / "device").write_text("0x1020\n")


CHANGES = {
    "its device id": with_other_id,
    "its driver": lambda site: site.hardware.nics.functions.give_to(VF, VFIO_PCI),
    "its group": lambda site: site.machine.inject(parse_fault("nic-0:shared-iommu")),
    "its place on PCI": lambda site: site.hardware.nics.functions.set_vf_count(PF, 0),
    "the modules of the kernel": lambda site: site.machine.inject(parse_fault("machine:no-vfio")),
}


@pytest.mark.parametrize("what", CHANGES)
def test_whatever_changes_about_a_vf_is_in_the_next_look_however_many_there_were(site, what):
    site = site()
    before = [site.look(), site.look()][-1].devices

    CHANGES[what](site)

    assert site.look().devices != before


def test_an_interface_that_goes_is_gone_at_the_next_look(site):
    site = site()
    (vf, *_), *_ = [pf.vfs for pf in discover(site.hardware.readers, "node-1").nics if pf.vfs]
    (site.machine.root / "sys/class/net" / vf.netdev).unlink()

    ((again, *_), *_) = [pf.vfs for pf in discover(site.hardware.readers, "node-1").nics if pf.vfs]

    assert (again.function, again.netdev) == (vf.function, None)


def with_vfs(count):
    return f'vfs: {count}, total_vfs: {count}, first_vf: "0000:19:02.0"'


def counted(call, name, calls):
    def count_and_call(*args, **more):
        calls[name] += 1
        return call(*args, **more)

    return count_and_call


def calls_of_a_look(site, monkeypatch):
    calls = Counter()
    with monkeypatch.context() as patch:
        for name in ("open", "readlink", "listdir", "scandir", "stat", "lstat"):
            patch.setattr(os, name, counted(getattr(os, name), name, calls))
        site.look()
    return calls


def test_a_further_vf_costs_a_few_links_and_reads_no_file(site, monkeypatch):
    """2,000 VFs are read within a second only where each one is read in a few system calls."""
    few, many = [calls_of_a_look(site(with_vfs(count)), monkeypatch) for count in (4, 14)]

    assert {name: (many[name] - few[name]) / 10 for name in many if many[name] != few[name]} == {
        "stat": 1,  # whether software made its RDMA device
        "readlink": 6,  # virtfn, physfn, driver, iommu_group, and the links of both classes
    }


@pytest.fixture(params=["dgx-a100", "a30x4"])
def machine(request, tmp_path):
    return SimulatedMachine.open(load_node(request.param), tmp_path)


def test_what_a_vf_has_in_common_with_its_pf_is_what_its_own_files_say(machine):
    sysfs = Sysfs(machine.root)

    vfs = [vf.function for pf in sysfs.nics() for vf in pf.vfs]

    assert vfs
    assert vfs == [sysfs.function(vf.bdf) for vf in vfs]


@pytest.mark.parametrize("fault", ["", "nic-0:shared-iommu", "nic-0:no-iommu", "nic-1:shared-iommu"])
def test_groups_read_for_all_functions_are_those_read_for_each(machine, fault):
    hardware = simulated_hardware(machine)
    first = hardware.pci.nics()[0].vfs[0].function.bdf
    hardware.nics.functions.give_to(first, VFIO_PCI)
    if fault:
        machine.inject(parse_fault(fault))
    functions = [
        each for pf in hardware.pci.nics() for each in (pf.function, *(vf.function for vf in pf.vfs))
    ]

    found = hardware.nics.reader.iommu_groups({each.bdf: each.driver for each in functions})

    for each in functions:
        alone, group = hardware.nics.reader.iommu_group(each.bdf), found.get(each.bdf)
        assert (alone and (alone.number, alone.members, alone.has_iommu)) == (
            group and (group.number, group.members, group.has_iommu)
        )
