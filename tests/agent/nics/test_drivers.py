"""A function changes its driver and gets back what it had."""

from __future__ import annotations

import errno

import pytest

from agent.hardware.errors import DriverMissing, HardwareFault, InUse, NotThereYet
from agent.hardware.nics.types import VFIO_PCI, DriverBinding
from agent.hardware.simulated import parse_fault
from agent.hardware.types import Bdf

PF, VF, SIBLING = Bdf("0000:19:00.0"), Bdf("0000:19:00.2"), Bdf("0000:19:00.3")
KERNEL = DriverBinding("mlx5_core")


def test_a_vf_on_vfio_has_nodes_and_no_interface(nics) -> None:
    before = nics.functions.give_to(VF, VFIO_PCI)
    nodes = nics.reader.vfio_nodes(VF)
    group = nics.reader.iommu_group(VF)

    assert before == KERNEL
    assert nics.reader.binding(VF) == DriverBinding(VFIO_PCI, VFIO_PCI)
    assert nics.reader.interfaces(VF) == ()
    assert nics.reader.rdma_devices(VF) == ()
    assert nodes.container.path == "/dev/vfio/vfio"
    assert nodes.group.path == f"/dev/vfio/{group.number}"
    assert nodes.iommufd is not None
    assert all(node.host_path.exists() for node in (nodes.container, nodes.group, *nodes.iommufd))


def test_what_is_given_already_is_not_given_again(host, nics) -> None:
    nics.functions.give_to(VF, VFIO_PCI)
    host.inject(parse_fault("nic-0:probe:hardware-fault"))

    assert nics.functions.give_to(VF, VFIO_PCI).driver == VFIO_PCI


def test_it_gets_back_its_driver_and_its_interface(nics) -> None:
    link = nics.reader.interfaces(VF)
    before = nics.functions.give_to(VF, VFIO_PCI)

    nics.functions.restore(VF, before)
    nics.functions.restore(VF, before)

    assert nics.reader.binding(VF) == KERNEL
    assert nics.reader.interfaces(VF) == link
    with pytest.raises(NotThereYet):
        nics.reader.vfio_nodes(VF)


def test_what_had_no_driver_has_none_again(nics) -> None:
    nics.functions.restore(VF, DriverBinding(None))
    before = nics.functions.give_to(VF, VFIO_PCI)

    nics.functions.restore(VF, before)

    assert before == DriverBinding(None)
    assert nics.reader.binding(VF) == DriverBinding(None)


@pytest.mark.parametrize("died_after", ["override-driver", "unbind", "probe"])
def test_a_restore_ends_right_wherever_the_giving_stopped(host, nics, died_after: str) -> None:
    stops = {"override-driver": "nic-0:unbind:hardware-fault:1", "unbind": "nic-0:probe:hardware-fault:1"}
    if died_after in stops:
        host.inject(parse_fault(stops[died_after]))
        with pytest.raises(HardwareFault):
            nics.functions.give_to(VF, VFIO_PCI)
    else:
        nics.functions.give_to(VF, VFIO_PCI)

    nics.functions.restore(VF, KERNEL)

    assert nics.reader.binding(VF) == KERNEL
    assert nics.reader.interfaces(VF)


def test_a_function_in_use_keeps_its_driver(host, nics) -> None:
    host.inject(parse_fault("nic-0:in-use"))

    with pytest.raises(InUse) as refusal:
        nics.functions.give_to(VF, VFIO_PCI)

    assert refusal.value.errno == errno.EBUSY
    assert refusal.value.retry
    assert nics.reader.binding(VF).driver == "mlx5_core"


def test_a_driver_that_the_kernel_does_not_have_is_missing_and_nothing_changes(host, nics) -> None:
    host.inject(parse_fault("machine:no-vfio"))

    with pytest.raises(DriverMissing) as refusal:
        nics.functions.give_to(VF, VFIO_PCI)

    assert "load the kernel module of vfio-pci" in refusal.value.remedy
    assert nics.reader.binding(VF) == KERNEL
    assert not nics.reader.has_driver(VFIO_PCI)


def test_vfio_does_not_take_a_function_without_an_iommu_group(host, nics) -> None:
    host.inject(parse_fault("nic-0:no-iommu"))

    with pytest.raises(HardwareFault) as failure:
        nics.functions.give_to(VF, VFIO_PCI)

    assert "no driver after the kernel's probe" in failure.value.reason
    nics.functions.restore(VF, KERNEL)
    assert nics.reader.binding(VF) == KERNEL


def test_a_group_of_its_own_has_no_blockers(nics) -> None:
    group = nics.reader.iommu_group(VF)

    assert [member.bdf for member in group.members] == [VF]
    assert group.blockers(VF) == ()


def test_a_neighbour_with_a_host_driver_blocks_a_shared_group(host, nics) -> None:
    host.inject(parse_fault("nic-0:shared-iommu"))

    group = nics.reader.iommu_group(VF)

    assert {member.bdf for member in group.members} == {PF, VF, SIBLING}
    assert [member.bdf for member in group.blockers(VF)] == [PF, SIBLING]
    assert [member.bdf for member in group.blockers(VF, SIBLING)] == [PF]


def test_a_missing_group_is_none_and_comes_back_with_the_fault_s_end(host, nics) -> None:
    host.inject(parse_fault("nic-0:no-iommu"))
    without = nics.reader.iommu_group(VF)
    host.clear_faults()

    assert without is None
    assert nics.reader.iommu_group(VF) is not None


def test_taking_the_driver_from_a_pf_takes_its_vfs_along(nics) -> None:
    nics.functions.restore(PF, DriverBinding(None))

    assert nics.reader.vf_count(PF).present == 0
    assert nics.reader.virtual_function(PF, 0) is None
