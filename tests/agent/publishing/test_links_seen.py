"""What is published of a NIC stays while a pod has its interface."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.hardware.nics.wishes import WantedInterface
from agent.hardware.open import simulated_hardware
from agent.hardware.ports import Machine
from agent.hardware.simulated import SimulatedMachine, node_text, parse_node
from agent.hardware.types import Bdf
from agent.inventory import describe, discover, offered
from agent.inventory.model import Inventory, NodeDevices
from agent.publishing.links_seen import LinksSeen
from agent.slices import composite_slices, encoded, v1_slices

NIC, PF, VF = "nic-0000-19-00-0", Bdf("0000:19:00.0"), Bdf("0000:19:00.2")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Four A30s and an Ethernet NIC with two VFs."""
    return simulated_hardware(SimulatedMachine.open(parse_node("a30x4", node_text("a30x4")), tmp_path))


def read(machine: Machine, *, with_rdma: bool) -> Inventory:
    found = discover(machine.readers, "node-1")
    if with_rdma:
        return found
    return replace(found, nics=tuple(replace(pf, rdma_device=None) for pf in found.nics))


def published(inventory: Inventory) -> NodeDevices:
    return describe(offered(inventory))


def slices(inventory: Inventory) -> list[Any]:
    found = published(inventory)
    return [*v1_slices(found), *encoded(composite_slices(found))]


def give_to_a_pod(machine: Machine, function: Bdf, folder: Path) -> None:
    pod = folder / "pod"
    pod.touch()
    machine.nics.interfaces.move_in(function, pod, WantedInterface(name="fast0"))


@pytest.mark.parametrize("function", [PF, VF])
@pytest.mark.parametrize("with_rdma", [True, False])
def test_nothing_that_is_published_changes_while_a_pod_has_an_interface(
    machine: Machine, tmp_path: Path, function: Bdf, with_rdma: bool
) -> None:
    seen = LinksSeen()
    before = seen.completed(read(machine, with_rdma=with_rdma))
    give_to_a_pod(machine, function, tmp_path)

    during = seen.completed(read(machine, with_rdma=with_rdma))
    later = seen.completed(read(machine, with_rdma=with_rdma))

    assert machine.nics.interfaces.find(function) is None
    assert slices(during) == slices(later) == slices(before)


def test_a_program_that_starts_while_a_pod_has_the_interface_still_offers_the_nic(
    machine: Machine, tmp_path: Path
) -> None:
    give_to_a_pod(machine, PF, tmp_path)

    devices = published(LinksSeen().completed(read(machine, with_rdma=False)))

    (nic,) = (one for one in devices.pool.devices if one.name == NIC)
    assert nic.attributes["tangram.dev/netdevCapable"] is True
    assert devices.withheld == ()


def test_of_a_nic_that_got_another_driver_nothing_is_remembered(machine: Machine) -> None:
    seen = LinksSeen()
    inventory = seen.completed(read(machine, with_rdma=False))
    function = replace(inventory.nics[0].function, driver=None)
    bare = replace(inventory.nics[0], function=function, netdev=None, link_type=None, link_speed_mbps=None)

    (found, _) = seen.completed(replace(inventory, nics=(bare, inventory.nics[1]))).nics

    assert found == bare


def test_a_link_that_is_seen_down_is_told_as_down(machine: Machine) -> None:
    seen = LinksSeen()
    inventory = seen.completed(read(machine, with_rdma=False))
    down = replace(inventory.nics[0], link_speed_mbps=None)

    (found, _) = seen.completed(replace(inventory, nics=(down, inventory.nics[1]))).nics

    assert found.link_speed_mbps is None
