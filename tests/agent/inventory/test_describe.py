"""What every shipped node describes, and what a mode that is stuck leaves."""

import json
from dataclasses import replace

import pytest

from agent.hardware.simulated import SimulatedMachine, load_node, node_text, shipped_nodes
from agent.hardware.types import MigMode, Unreadable
from agent.inventory import as_mode_allows, describe
from agent.inventory.published import MigPartition, NicVf, WholeGpu, WholeNic
from agent.slices import composite_slices, encoded, flattened, v1_slices
from scheduler_core.codec import composite, v1
from scheduler_core.dialects.layout import Layout
from scheduler_core.dialects.mixins import flatten
from scheduler_core.dialects.project import project
from scheduler_core.model.names import is_label
from scheduler_core.model.nodes import NOWHERE


def size(objects):
    return sum(len(json.dumps(obj, separators=(",", ":"))) for obj in objects)


@pytest.fixture(params=shipped_nodes())
def devices(request, machine, inventory_of):
    return describe(inventory_of(machine(request.param)))


def test_every_flattened_device_keeps_within_32_attributes_and_capacities(devices):
    assert all(len(found.attributes) + len(found.capacity) <= 32 for found in devices.pool.devices)
    assert not [sentence for sentence in devices.left_out if "exceed" in sentence]


def test_every_name_is_a_dns_label_and_means_a_device(devices):
    assert [found.name for found in devices.pool.devices] == list(devices.by_name)
    assert all(is_label(name) for name in devices.by_name)
    assert not devices.pool.rejected


def test_the_composite_slices_say_the_same_pool(devices):
    read = [composite.decode_slice(obj) for obj in encoded(composite_slices(devices))]

    again = flatten(read)
    assert again.devices == devices.pool.devices
    assert again.is_complete
    assert all(len(one.mixins) + len(one.devices) < 128 for one in read)


@pytest.mark.parametrize("layout", list(Layout))
def test_the_v1_slices_say_the_projected_pool(devices, layout):
    (again,) = v1.pools(v1.decode_slice(obj) for obj in v1_slices(devices, layout))

    projected = project(devices.pool)
    assert [found.name for found in again.devices] == [found.name for found in projected.devices]
    assert again.problem is None
    assert again.is_complete


def test_on_a_mig_node_with_two_gpus_the_composite_pool_is_at_most_60_percent_of_its_flattened_form(devices):
    gpus = [found for found in devices.by_name.values() if isinstance(found, WholeGpu)]
    if len(gpus) < 2 or not any(isinstance(found, MigPartition) for found in devices.by_name.values()):
        return

    assert size(encoded(composite_slices(devices))) <= 0.60 * size(flattened(devices))


def test_the_dgx_has_8_gpus_200_partitions_8_nics_and_their_vfs(machine, inventory_of):
    by_name = describe(inventory_of(machine("dgx-a100"))).by_name

    kinds = [type(found) for found in by_name.values()]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        WholeGpu: 8,
        MigPartition: 200,
        WholeNic: 8,
        NicVf: 64,
    }


def test_a_nic_and_its_vfs_exclude_each_other_by_counting(machine, inventory_of):
    pool = describe(inventory_of(machine("dgx-a100"))).pool

    nic = next(found for found in pool.devices if found.name.startswith("nic-") and not found.parents)
    vf = next(found for found in pool.devices if found.parents == (nic.name,))
    assert {str(amount) for amount in nic.capacity.values()} == {"8"}
    assert [(draw.source, {str(amount) for amount in draw.amounts.values()}) for draw in vf.draws] == [
        (nic.name, {"1"})
    ]


def test_a_nic_and_its_vfs_tell_the_speed_of_the_link(machine, inventory_of):
    pool = describe(inventory_of(machine("dgx-a100"))).pool
    speed = "tangram.dev/linkSpeedMbps"

    told = {one.name: one.attributes.get(speed) for one in pool.devices if one.name.startswith("nic-")}

    assert set(told.values()) == {200_000}
    assert len(told) == 72


def test_a_gpu_and_its_nic_share_the_switch_attribute(machine, inventory_of):
    pool = describe(inventory_of(machine("dgx-a100"))).pool
    switch = {found.name: found.attributes.get("tangram.dev/pcieSwitch") for found in pool.devices}

    nics = {value for name, value in switch.items() if name.startswith("nic-")}
    gpus = {value for name, value in switch.items() if name.startswith("gpu-")}
    assert gpus == nics
    assert None not in gpus
    assert switch["gpu-0"] == switch["gpu-0-mig-1g-5gb-0"]


def test_passed_through_ampere_offers_only_what_its_mode_allows(machine, inventory_of):
    inventory = inventory_of(machine("a100x2-passthrough"))

    offered = describe(as_mode_allows(inventory))

    assert [entry.gpu.mig.current for entry in inventory.gpus] == [False, True]
    assert [name for name in offered.by_name if "-mig-" not in name] == ["gpu-0"]
    assert len([name for name in offered.by_name if name.startswith("gpu-1-mig-")]) == 25
    gpu = next(found for found in offered.pool.devices if found.name == "gpu-1")
    assert gpu.nodes == NOWHERE
    assert [found.name for found in project(offered.pool).devices] == list(offered.by_name)
    read = [composite.decode_slice(obj) for obj in encoded(composite_slices(offered))]
    assert flatten(read).devices == offered.pool.devices


def test_a_whole_gpu_has_the_same_capacity_whether_it_can_be_cut_or_not(machine, inventory_of):
    inventory = inventory_of(machine("a100x2-passthrough"))

    offered = describe(as_mode_allows(inventory))

    gpus = {found.name: found for found in offered.pool.devices}
    assert gpus["gpu-1"].capacity == gpus["gpu-0"].capacity


def test_a_gpu_whose_change_is_pending_offers_only_what_its_mode_allows(machine, inventory_of):
    inventory = inventory_of(machine("a100x2"))
    first, second = inventory.gpus
    pending = replace(inventory, gpus=(_with_mode(first, MigMode(False, True)), second))

    names = list(describe(as_mode_allows(pending)).by_name)

    assert names[0] == "gpu-0"
    assert [name for name in names if name.startswith("gpu-0-mig")] == []
    assert len([name for name in names if name.startswith("gpu-1")]) == 26


def _with_mode(entry, mode):
    return replace(entry, gpu=replace(entry.gpu, mig=mode))


def test_a_lost_gpu_is_reported_and_its_neighbours_keep_their_names(machine, inventory_of):
    inventory = inventory_of(machine("a100x2"))
    without = replace(inventory, gpus=inventory.gpus[1:], unreadable=(Unreadable("GPU 0", "it is lost"),))

    devices = describe(without)

    assert "GPU 0: it is lost" in devices.left_out
    assert {name[:5] for name in devices.by_name} == {"gpu-1"}


def test_a_node_without_gpus_describes_its_nics_and_says_what_is_missing(machine, inventory_of):
    devices = describe(inventory_of(machine("no-gpu")))

    assert any("driver" in sentence for sentence in devices.left_out)
    assert not [name for name in devices.by_name if name.startswith("gpu")]


def test_a_gpu_without_mig_is_offered_beside_one_that_can_be_cut(tmp_path, inventory_of):
    """Dynamic MIG published no slice on nodes with a GPU that has no MIG (k8s-dra-driver-gpu #1092)."""
    text = node_text("a100x2").replace("name: a100x2", "name: mixed")
    before, second = text.rsplit("model: a100-sxm4-40gb", 1)
    (tmp_path / "mixed.yaml").write_text(f"{before}model: l40s-48gb{second}")
    mixed = SimulatedMachine.open(load_node(str(tmp_path / "mixed.yaml")), tmp_path / "mixed")

    devices = describe(inventory_of(mixed))

    offered = devices.by_name.values()
    whole = [one.gpu for one in offered if isinstance(one, WholeGpu)]
    assert [gpu.mig is not None for gpu in whole] == [True, False]
    assert {one.spec.parent for one in offered if isinstance(one, MigPartition)} == {whole[0].uuid}
    assert not devices.left_out


def test_too_many_attributes_are_given_up_in_the_documented_order_and_reported(machine, inventory_of):
    inventory = inventory_of(machine("dgx-a100"))
    entry = inventory.gpus[0]
    wide = tuple(
        replace(profile, placements=tuple(replace(place, size=12) for place in profile.placements[:1]))
        for profile in entry.profiles
    )

    devices = describe(replace(inventory, gpus=(replace(entry, profiles=wide),)))

    partition = next(
        found for found in devices.pool.devices if found.parents and found.name.startswith("gpu")
    )
    assert len(partition.attributes) + len(partition.capacity) == 32
    assert devices.pool.rejected == {}
    assert devices.left_out == (
        "gpu-0 goes without pcieRootPort, dra.net/numaNode, resource.kubernetes.io/pciBusID: "
        "with 35 attributes and capacities it would exceed 32",
        "partitions of gpu-0 go without pcieRootPort, dra.net/numaNode, resource.kubernetes.io/pciBusID, "
        "parentMinor: with 36 attributes and capacities they would exceed 32",
    )
