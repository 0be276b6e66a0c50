"""VFs come and go as the kernel lets them."""

from __future__ import annotations

import pytest

from agent.hardware.errors import InUse, InvalidArgument, NotFound, NotSupported
from agent.hardware.nics.types import VFIO_PCI
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import node_text, parse_fault
from agent.hardware.sysfs import Sysfs
from agent.hardware.types import Bdf

PF = Bdf("0000:19:00.0")
OTHER_PF = Bdf("0000:19:00.1")
VF = Bdf("0000:19:00.2")


@pytest.fixture
def host(machine):
    return machine("a30x4")


def vfs(host, pf: Bdf = PF) -> list[Bdf]:
    (nic,) = (nic for nic in Sysfs(host.root).nics() if nic.function.bdf == pf)
    numvfs = (host.root / "sys/bus/pci/devices" / pf / "sriov_numvfs").read_text()
    assert int(numvfs) == len(nic.vfs)
    return [vf.function.bdf for vf in nic.vfs]


def test_all_vfs_go_at_once(host) -> None:
    host.set_vfs(PF, 0)

    assert vfs(host) == []
    left = [path.name for path in (host.root / "sys/bus/pci/devices").iterdir()]
    assert PF in left
    assert "0000:19:00.2" not in left


def bindings(host) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Return who has whom: as the functions say it, and as the drivers do."""
    pci = host.root / "sys/bus/pci"
    of_functions = {
        (link.readlink().name, link.parent.name)
        for link in pci.glob("devices/*/driver")
        if (pci / "drivers" / link.readlink().name).is_dir()
    }
    return of_functions, {(each.parent.name, each.name) for each in pci.glob("drivers/*/*:*")}


BINDINGS = {
    "as new": lambda _: None,
    "VFs are gone": lambda host: host.set_vfs(PF, 0),
    "VFs are new": lambda host: (host.set_vfs(PF, 2), host.set_vfs(OTHER_PF, 3)),
    "VFIO has one": lambda host: simulated_hardware(host).nics.functions.give_to(VF, VFIO_PCI),
    "the module of VFIO goes": lambda host: host.inject(parse_fault("machine:no-vfio")),
    "it comes back": lambda host: host.clear_faults(),
    "a reboot": lambda host: host.reboot(),
}


def test_a_driver_lists_the_functions_that_say_they_have_it(host) -> None:
    for what, act in BINDINGS.items():
        act(host)

        of_functions, of_drivers = bindings(host)

        assert of_functions == of_drivers, what
        assert ("nvidia", host.node.cards[0].site.bdf) in of_drivers


def test_a_vf_that_goes_leaves_no_device_behind(host) -> None:
    before = {nic.netdev for nic in Sysfs(host.root).nics()}

    host.set_vfs(PF, 0)

    assert {path.name for path in (host.root / "sys/class/net").iterdir()} == before
    assert len(list((host.root / "sys/class/infiniband").iterdir())) == 2
    left = {path.name for path in (host.root / "dev/infiniband").iterdir()}
    assert left == {"rdma_cm", "uverbs0", "umad0", "uverbs5", "umad5"}


def test_vfs_come_when_there_are_none(host) -> None:
    host.set_vfs(OTHER_PF, 3)

    assert vfs(host, OTHER_PF) == ["0000:19:00.6", "0000:19:00.7", "0000:19:01.0"]
    assert len(vfs(host)) == 2


def test_another_number_needs_none_first(host) -> None:
    with pytest.raises(InUse) as refusal:
        host.set_vfs(PF, 3)

    assert "it has 2; they must be disabled first" in refusal.value.reason
    assert len(vfs(host)) == 2


def test_the_same_number_is_no_change(host) -> None:
    host.set_vfs(PF, 2)

    assert len(vfs(host)) == 2


@pytest.mark.parametrize("count", [-1, 5])
def test_more_than_the_nic_has_is_refused(host, count: int) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        host.set_vfs(PF, count)

    assert "4 at most" in refusal.value.reason


def test_a_nic_that_is_not_there_is_not_found(host) -> None:
    with pytest.raises(NotFound):
        host.set_vfs(Bdf("0000:17:00.0"), 1)


def test_a_nic_without_sriov_has_no_vfs_and_no_files_for_them(machine) -> None:
    text = node_text("l40s").replace("vfs: 4, total_vfs: 8", "vfs: 0, total_vfs: 0")
    host = machine("plain", text)
    nic = host.node.nics[0]

    with pytest.raises(NotSupported):
        host.set_vfs(nic.bdf, 1)

    assert not (host.root / nic.site.folder / "sriov_totalvfs").exists()
    assert Sysfs(host.root).nics()[0].total_vfs == 0


def test_a_reboot_brings_back_what_the_node_file_says(host) -> None:
    host.set_vfs(PF, 0)
    host.set_vfs(OTHER_PF, 4)

    host.reboot()

    assert (len(vfs(host)), len(vfs(host, OTHER_PF))) == (2, 0)


def test_a_vf_that_comes_back_has_the_names_it_had(host) -> None:
    before = Sysfs(host.root).nics()

    host.set_vfs(PF, 0)
    host.set_vfs(PF, 2)

    assert Sysfs(host.root).nics() == before
