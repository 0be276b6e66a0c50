"""RDMA devices come when the driver is ready, late or never, with the character devices that are theirs."""

from __future__ import annotations

from agent.hardware.nics.types import VFIO_PCI, DriverBinding
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, parse_fault
from agent.hardware.types import Bdf

VF = Bdf("0000:19:00.2")
KERNEL = DriverBinding("mlx5_core")


def rebound(nics) -> None:
    nics.functions.give_to(VF, VFIO_PCI)
    nics.functions.restore(VF, KERNEL)


def test_a_vf_has_one_device_and_its_own_character_devices(host, nics) -> None:
    (device,) = nics.reader.rdma_devices(VF)
    ibdev = (
        host.root / "sys/class/infiniband_verbs" / device.verbs.path.rpartition("/")[2] / "ibdev"
    ).read_text()

    assert ibdev.strip() == device.name
    assert (device.verbs.major, device.verbs.minor) == (231, 193)
    assert device.connection_manager.path == "/dev/infiniband/rdma_cm"
    assert [node.path for node in device.management] == ["/dev/infiniband/umad1"]
    assert device.subnet == ()


def test_an_infiniband_function_has_a_subnet_manager_s_device_too(infiniband) -> None:
    reader = simulated_hardware(infiniband).nics.reader

    (device,) = reader.rdma_devices(infiniband.node.nics[0].vf_address(0))

    assert [node.path.rpartition("/")[2][:4] for node in device.subnet] == ["issm"]


def test_a_device_comes_after_as_many_reads_as_were_said(host, nics, waited) -> None:
    host.inject(parse_fault("nic-0:late-rdma=3"))
    rebound(nics)

    assert waited(VF) == 3
    assert waited(VF) == 0


def test_a_late_device_comes_when_the_faults_are_cleared(host, nics) -> None:
    host.inject(parse_fault("nic-0:no-rdma"))
    rebound(nics)
    before = [nics.reader.rdma_devices(VF) for _ in range(5)]

    host.clear_faults()

    assert before == [()] * 5
    assert len(nics.reader.rdma_devices(VF)) == 1


def test_another_process_sees_the_device_late_too(host, nics) -> None:
    host.inject(parse_fault("nic-0:late-rdma=2"))
    rebound(nics)
    other = simulated_hardware(SimulatedMachine.attach(host.directory)).nics

    assert nics.reader.rdma_devices(VF) == ()
    assert other.reader.rdma_devices(VF) == ()
    assert len(nics.reader.rdma_devices(VF)) == len(other.reader.rdma_devices(VF)) == 1


def test_vfs_that_are_made_late_have_their_interfaces_at_once(host, nics) -> None:
    host.inject(parse_fault("nic-1:late-rdma=1"))
    nics.functions.set_vf_count(Bdf("0000:19:00.1"), 1)
    vf = nics.reader.virtual_function(Bdf("0000:19:00.1"), 0)

    assert nics.reader.interfaces(vf)
    assert nics.reader.rdma_devices(vf) == ()
    assert nics.reader.rdma_devices(vf) != ()
