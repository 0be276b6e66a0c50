"""What cannot be prepared is not published, and is told with the reason; the rest keeps its names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, node_text, parse_fault, parse_node
from agent.hardware.types import Bdf, MigMode
from agent.inventory import describe, discover, offered
from agent.inventory.describer import Describer
from agent.inventory.model import Inventory, NodeDevices
from agent.inventory.withheld import Cause, alike
from agent.slices import composite_slices, encoded, v1_slices
from scheduler_core.codec import composite, v1
from scheduler_core.dialects.mixins import flatten
from scheduler_core.model.nodes import NOWHERE

NIC, VF, SIBLING = "nic-0000-19-00-0", "nic-0000-19-00-0-vf-0", "nic-0000-19-00-0-vf-1"
PF = Bdf("0000:19:00.0")
FIRST = 'bdf: "0000:19:00.0", model: connectx-6-dx, link: ethernet,'


@pytest.fixture
def machine_with(tmp_path):
    """Make four A30s and a NIC with two VFs, which may have faults, and carry the default route."""

    def make(*faults: str, text: str = "") -> SimulatedMachine:
        node = parse_node("a30x4", node_text("a30x4").replace(FIRST, f"{FIRST} {text}"))
        machine = SimulatedMachine.open(node, tmp_path)
        for fault in faults:
            machine.inject(parse_fault(fault))
        return machine

    return make


def read(machine: SimulatedMachine) -> Inventory:
    return discover(simulated_hardware(machine).readers, "node-1")


def published(machine: SimulatedMachine) -> NodeDevices:
    return describe(offered(read(machine)))


def made_anew(machine: SimulatedMachine, *, with_driver: bool = True) -> None:
    functions = simulated_hardware(machine).nics.functions
    functions.set_vf_count(PF, 0)
    functions.set_autoprobe(PF, with_driver)
    functions.set_vf_count(PF, 2)


def causes(devices: NodeDevices) -> dict[str, Cause]:
    return {str(one.device): one.reason.cause for one in devices.withheld}


def modes(devices: NodeDevices, name: str) -> tuple[object, ...]:
    (found,) = (one for one in devices.pool.devices if one.name == name)
    return tuple(found.attributes[f"tangram.dev/{mode}Capable"] for mode in ("rdma", "vfio", "netdev"))


def test_on_a_node_without_faults_nothing_is_withheld(machine_with):
    inventory = read(machine_with())

    devices = describe(offered(inventory))

    assert devices.withheld == ()
    assert devices.pool == describe(inventory).pool
    assert modes(devices, VF) == (True, True, True)


def test_the_nic_of_the_default_route_is_withheld_as_a_whole_and_its_vfs_stay(machine_with):
    devices = published(machine_with(text="default_route: true,"))

    assert causes(devices) == {NIC: Cause.DEFAULT_ROUTE}
    assert NIC not in devices.by_name
    assert {VF, SIBLING} <= devices.by_name.keys()
    (pool,) = v1.pools(v1.decode_slice(one) for one in v1_slices(devices))
    assert [one.name for one in pool.devices] == list(devices.by_name)
    assert pool.problem is None


def test_a_withheld_nic_is_the_source_of_its_vfs_on_no_node_and_the_composite_slices_say_so(machine_with):
    devices = published(machine_with(text="default_route: true,"))

    again = flatten([composite.decode_slice(one) for one in encoded(composite_slices(devices))])

    (nic,) = (one for one in again.devices if one.name == NIC)
    (vf,) = (one for one in again.devices if one.name == VF)
    assert nic.nodes == NOWHERE
    assert [draw.source for draw in vf.draws] == [NIC]
    assert again.devices == devices.pool.devices


def test_the_vfs_of_the_nodes_own_nic_come_last(machine_with):
    names = list(published(machine_with(text="default_route: true,")).by_name)

    assert names[-3:] == ["nic-0000-19-00-1", VF, SIBLING]


def test_a_route_that_appears_and_goes_is_seen_at_the_next_discovery(machine_with):
    machine = machine_with()
    describer = Describer("tangram.dev")
    before = describer.devices(read(machine))
    routes = machine.root / "proc/net/route"
    text = routes.read_text()

    routes.write_text(f"{text}enp25s0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n")
    during = describer.devices(read(machine))
    routes.write_text(text)

    assert causes(during) == {NIC: Cause.DEFAULT_ROUTE}
    assert describer.devices(read(machine)) == before


def test_vfs_without_rdma_are_offered_as_interfaces_and_for_vfio_where_that_works(machine_with):
    machine = machine_with("nic-0:no-rdma")
    made_anew(machine)

    assert modes(published(machine), VF) == (False, True, True)
    machine.inject(parse_fault("nic-0:no-iommu"))
    assert modes(published(machine), VF) == (False, False, True)


def test_a_nic_without_rdma_is_offered_for_its_interface(machine_with):
    inventory = read(machine_with())
    first, second = inventory.nics

    devices = describe(offered(replace(inventory, nics=(first, replace(second, rdma_device=None)))))

    (nic,) = (one for one in devices.pool.devices if one.name == "nic-0000-19-00-1")
    assert devices.withheld == ()
    assert [nic.attributes[f"tangram.dev/{mode}Capable"] for mode in ("rdma", "netdev")] == [False, True]


@pytest.mark.parametrize("fault", ["nic-0:no-iommu", "nic-0:shared-iommu", "machine:no-vfio"])
def test_vfs_without_rdma_and_driver_are_withheld_where_vfio_does_not_work_either(machine_with, fault):
    machine = machine_with("nic-0:no-rdma", fault)
    made_anew(machine, with_driver=False)

    devices = published(machine)

    assert causes(devices) == {VF: Cause.NO_RDMA, SIBLING: Cause.NO_RDMA}
    assert NIC in devices.by_name
    ((group),) = alike(devices.withheld)
    assert group.devices == (VF, SIBLING)
    assert str(group).startswith(f"{VF} and 1 more: mode rdma: it has no RDMA device, mode vfio: ")


def test_rdma_that_appears_is_offered_again(machine_with):
    machine = machine_with("nic-0:no-rdma", "nic-0:no-iommu")
    made_anew(machine, with_driver=False)
    withheld = published(machine)

    machine.clear_faults()
    made_anew(machine)

    assert VF not in withheld.by_name
    assert published(machine).withheld == ()


def test_a_nic_of_which_nothing_can_be_prepared_leaves_nothing_in_the_slices(machine_with):
    machine = machine_with("nic-0:no-iommu", text="default_route: true,")
    made_anew(machine)
    machine.inject(parse_fault("nic-0:no-rdma"))
    made_anew(machine, with_driver=False)

    devices = published(machine)

    assert causes(devices) == {NIC: Cause.DEFAULT_ROUTE, VF: Cause.NO_RDMA, SIBLING: Cause.NO_RDMA}
    assert "0000-19-00-0" not in str(v1_slices(devices)) + str(encoded(composite_slices(devices)))


def test_a_gpu_whose_mode_is_stuck_is_told_with_the_reason(machine_with):
    inventory = read(machine_with())
    entries = [
        replace(entry, gpu=replace(entry.gpu, mig=MigMode(current, not current)))
        for entry, current in zip(inventory.gpus[:2], (True, False), strict=True)
    ]

    found = offered(replace(inventory, gpus=(*entries, *inventory.gpus[2:])))

    whole, *partitions = found.withheld
    assert (whole.device, whole.kind, whole.reason.cause) == ("gpu-0", "gpu", Cause.MIG_MODE)
    assert "the MIG mode of gpu-0 stays on: a change of it waits for a reset" in str(whole)
    assert {one.kind for one in partitions} == {"mig"}
    assert all(one.device.startswith("gpu-1-mig-") for one in partitions)
    names = describe(found).by_name
    assert names.keys().isdisjoint(one.device for one in found.withheld)


def test_the_mode_of_the_embedded_switch_is_published_where_a_file_tells_it(machine_with):
    devices = published(machine_with(text="eswitch: switchdev,"))
    told = {one.name: one.attributes.get("tangram.dev/eswitchMode") for one in devices.pool.devices}

    assert (told[NIC], told[VF], told["nic-0000-19-00-1"]) == ("switchdev", "switchdev", None)


def test_vfs_are_published_for_multus_only_where_a_resource_name_is_given(machine_with):
    inventory = read(machine_with())
    names = ("k8s.cni.cncf.io/resourceName", "k8s.cni.cncf.io/deviceID")

    def told(resource: str | None) -> dict[str, tuple[object, ...]]:
        found = describe(offered(replace(inventory, multus_resource=resource))).pool.devices
        return {one.name: tuple(one.attributes.get(name) for name in names) for one in found}

    assert set(told(None).values()) == {(None, None)}
    with_name = told("tangram.dev/vf")
    assert with_name.pop(VF) == ("tangram.dev/vf", "0000:19:00.2")
    assert with_name.pop(SIBLING) == ("tangram.dev/vf", "0000:19:00.3")
    assert set(with_name.values()) == {(None, None)}


def test_gpus_of_a_pool_of_several_nodes_are_withheld_with_all_that_is_cut_from_them(machine_with):
    inventory = replace(read(machine_with()), pools_of_gpus={1: "multi-node/gpus", 9: "multi-node/gpus"})

    found = describe(offered(inventory))

    every = {str(name) for name in describe(offered(read(machine_with()))).by_name}
    ours = {str(name) for name in found.by_name}
    assert every - ours == {name for name in every if name == "gpu-1" or name.startswith("gpu-1-")}
    assert causes(found) == {"gpu-1": Cause.POOL_OF_NODES, "gpu-9": Cause.POOL_OF_NODES}
    told = {str(one.device): str(one) for one in found.withheld}
    assert "it belongs to pool multi-node/gpus" in told["gpu-1"]
    assert "names it, and it is not there" in told["gpu-9"]
    assert found.left_out == ()
