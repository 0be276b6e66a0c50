"""The number of VFs changes as the kernel lets it, and every refusal says who must do what."""

from __future__ import annotations

import errno

import pytest

from agent.hardware.errors import InsufficientResources, InUse, InvalidArgument, NotFound, NotSupported
from agent.hardware.nics.types import DriverBinding, VfCount
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import node_text, parse_fault, parse_node
from agent.hardware.simulated.machine import SimulatedMachine
from agent.hardware.types import Bdf

PF, QUIET_PF, VF = Bdf("0000:19:00.0"), Bdf("0000:19:00.1"), Bdf("0000:19:00.2")


def test_vfs_come_and_go(nics) -> None:
    assert nics.reader.vf_count(QUIET_PF) == VfCount(0, 4)

    made = nics.functions.set_vf_count(QUIET_PF, 3)
    vf = nics.reader.virtual_function(QUIET_PF, 2)

    assert made == 3
    assert vf is not None
    assert nics.reader.parent(vf) == (QUIET_PF, 2)
    assert nics.functions.set_vf_count(QUIET_PF, 0) == 0
    assert nics.reader.virtual_function(QUIET_PF, 2) is None


def test_another_number_than_0_is_refused_with_the_way_out(nics) -> None:
    with pytest.raises(InUse) as refusal:
        nics.functions.set_vf_count(PF, 3)

    assert refusal.value.errno == errno.EBUSY
    assert "only by way of 0" in refusal.value.reason
    assert "remove its VFs first" in refusal.value.remedy
    assert nics.reader.vf_count(PF).present == 2


def test_the_number_that_there_is_already_is_not_written(host, nics) -> None:
    host.inject(parse_fault("nic-0:set-vfs:in-use"))  # what some drivers answer to the same number

    assert nics.functions.set_vf_count(PF, 2) == 2


def test_more_than_the_pf_can_have_is_refused(nics) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        nics.functions.set_vf_count(QUIET_PF, 5)

    assert refusal.value.errno == errno.ERANGE
    assert nics.reader.vf_count(QUIET_PF).present == 0


def test_no_interrupt_vectors_left_is_named(host, nics) -> None:
    host.inject(parse_fault("nic-1:set-vfs:no-space:1"))

    with pytest.raises(InsufficientResources) as refusal:
        nics.functions.set_vf_count(QUIET_PF, 4)

    assert refusal.value.errno == errno.ENOSPC
    assert "interrupt vectors" in refusal.value.reason
    assert nics.functions.set_vf_count(QUIET_PF, 4) == 4


def test_fewer_vfs_than_asked_are_told(host, nics) -> None:
    host.inject(parse_fault("nic-1:fewer-vfs=2"))

    assert nics.functions.set_vf_count(QUIET_PF, 4) == 2
    assert nics.reader.vf_count(QUIET_PF) == VfCount(2, 4)


def test_a_pf_without_its_driver_makes_no_vfs(nics) -> None:
    nics.functions.restore(QUIET_PF, DriverBinding(None))

    with pytest.raises(NotSupported) as refusal:
        nics.functions.set_vf_count(QUIET_PF, 1)

    assert "no driver" in refusal.value.reason


def test_a_nic_without_sriov_makes_no_vfs(tmp_path) -> None:
    text = node_text("l40s").replace("vfs: 4, total_vfs: 8", "vfs: 0, total_vfs: 0")
    machine = SimulatedMachine.open(parse_node("plain", text), tmp_path)
    pf = machine.node.nics[0].bdf

    with pytest.raises(NotSupported):
        simulated_hardware(machine).nics.functions.set_vf_count(pf, 1)


def test_a_function_that_does_not_exist_is_not_found(nics) -> None:
    with pytest.raises(NotFound):
        nics.functions.set_vf_count(Bdf("0000:99:00.0"), 1)
    with pytest.raises(NotFound):
        nics.functions.set_vf_count(VF, 1) if nics.functions.set_vf_count(PF, 0) == 0 else None


def test_vfs_of_a_quiet_pf_get_no_driver(nics) -> None:
    nics.functions.set_autoprobe(QUIET_PF, False)
    nics.functions.set_vf_count(QUIET_PF, 1)
    vf = nics.reader.virtual_function(QUIET_PF, 0)

    assert nics.reader.binding(vf) == DriverBinding(None)
    assert nics.reader.interfaces(vf) == ()
    assert nics.reader.rdma_devices(vf) == ()


def test_vfs_that_come_again_are_new(host, nics) -> None:
    nics.functions.give_to(VF, "vfio-pci")
    nics.functions.set_vf_count(PF, 0)
    SimulatedMachine.attach(host.directory)
    nics.functions.set_vf_count(PF, 2)

    assert nics.reader.binding(VF) == DriverBinding("mlx5_core")
