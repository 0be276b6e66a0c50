"""What the fabric manager lets be used is offered, and nothing else; the reason is told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_nvswitch import shared_node

from agent.hardware.fabric.types import FabricGpu, FabricMode, FabricPartition
from agent.hardware.simulated import SimulatedMachine, parse_fault
from agent.hardware.types import Bdf, DriverVersions, GpuUuid
from agent.inventory import describe
from agent.inventory.describer import Describer
from agent.inventory.fabric.joining import as_fabric_allows, partition_ids
from agent.inventory.model import Fabric, GpuEntry, Inventory, LinkedGpus, NodeDevices
from agent.inventory.modes import GpuModes, ModesOfGpu
from agent.inventory.names import linked_name
from agent.inventory.numbers.numbering import NumberedGpu
from agent.inventory.partitions import shipped_table
from agent.inventory.published import GpuPartition, WholeGpu, gpus_of
from agent.inventory.withheld import Cause, Reason
from scheduler_core.frontends.partitions.table import table_of
from scheduler_core.model.device import QualifiedName

PROBLEM = Reason(Cause.FABRIC_MANAGER, "list the partitions failed: it sleeps", "the operator wakes it")


def gpu(minor: int, module: int | None = None) -> NumberedGpu:
    return NumberedGpu(
        number=minor,
        uuid=GpuUuid(f"GPU-{minor}"),
        index=minor,
        minor=minor,
        bdf=Bdf(f"0000:{minor + 1:02x}:00.0"),
        product_name="NVIDIA L40S",
        architecture="Hopper",
        brand=None,
        cuda_compute_capability="9.0",
        memory_bytes=2**36,
        mig=None,
        module_id=module,
    )


def group(id_: int, *modules: int) -> FabricPartition:
    return FabricPartition(id_, tuple(map(FabricGpu, modules)))


def node(*partitions: FabricPartition, count: int = 4, **more: object) -> Inventory:
    """GPUs whose modules run against their minors: minor 0 has the highest."""
    gpus = tuple(GpuEntry(gpu=gpu(minor, count - minor)) for minor in range(count))
    versions = DriverVersions("570.1", "12.8")
    fabric = Fabric(FabricMode.SHARED, partitions)
    found = Inventory(node="n", boot_id="b", versions=versions, gpus=gpus, fabric=fabric)
    return replace(found, **more)


def joined(devices: NodeDevices) -> dict[str, int | None]:
    """The whole GPUs and groups that are offered, with the fabric manager's id."""
    return {
        str(name): device.partition
        for name, device in devices.by_name.items()
        if isinstance(device, WholeGpu | GpuPartition)
    }


def told(devices: NodeDevices) -> list[str]:
    """What is withheld, with the reasons."""
    return [str(one) for one in devices.withheld]


ALONE = tuple(group(10 + module, module) for module in range(1, 5))


def test_the_fabric_managers_partitions_are_the_table_without_any_option() -> None:
    devices = describe(node(group(1, 1, 2), group(2, 3, 4), *ALONE))

    assert joined(devices) == {
        "gpu-0": 14,
        "gpu-1": 13,
        "gpu-2": 12,
        "gpu-3": 11,
        "gpus-0-1": 2,
        "gpus-2-3": 1,
    }
    assert told(devices) == []


def test_its_table_is_honored_so_a_gpu_without_a_partition_of_its_own_is_not_offered_alone() -> None:
    devices = describe(node(group(1, 1, 2), group(2, 3, 4), ALONE[0]))

    assert joined(devices) == {"gpu-3": 11, "gpus-0-1": 2, "gpus-2-3": 1}
    assert [(str(one.device), one.kind) for one in devices.withheld] == [
        ("gpu-0", "gpu"),
        ("gpu-1", "gpu"),
        ("gpu-2", "gpu"),
    ]
    assert "gpu-0: the fabric manager has no partition of this GPU alone; the user asks" in told(devices)[0]


def test_bandwidths_of_the_fabric_manager_are_published_for_groups_and_not_for_single_gpus() -> None:
    pair = replace(group(1, 1, 2), bandwidth=450 * 10**9)
    alone = tuple(replace(one, bandwidth=450 * 10**9) for one in ALONE)
    found = {
        str(one.name): one.attributes.get(QualifiedName("tangram.dev/ringBusBandwidth"))
        for one in describe(node(pair, group(2, 3, 4), *alone)).pool.devices
    }

    assert found["gpus-2-3"] == 450 * 10**9
    assert (found["gpus-0-1"], found["gpu-2"]) == (None, None)


def test_partitions_exclude_each_other_as_those_of_a_table_do() -> None:
    pool = describe(node(group(1, 1, 2), *ALONE)).pool
    draws = {one.name: {draw.source for draw in one.draws} for one in pool.devices}

    assert draws["gpus-2-3"] == {"gpu-2", "gpu-3"}


@pytest.mark.parametrize("is_honored", [True, False])
def test_of_a_given_table_only_what_the_fabric_manager_has_is_offered(is_honored: bool) -> None:
    table = table_of("t", {"2": [{"minors": [0, 1], "allocationScore": 7}, {"minors": [1, 2]}]})
    found = node(group(1, 1, 2), group(2, 3, 4), *ALONE, linked=LinkedGpus(table, is_honored))

    devices = describe(found)

    assert joined(devices) == {"gpu-0": 14, "gpu-1": 13, "gpu-2": 12, "gpu-3": 11, "gpus-0-1": 2}
    (pair,) = (one for one in devices.pool.devices if one.name == "gpus-0-1")
    assert pair.attributes["tangram.dev/allocationScore"] == 7
    (missing,) = devices.withheld
    assert (str(missing.device), missing.kind) == ("gpus-1-2", "gpu-partition")
    assert "has no partition of exactly these GPUs" in str(missing)


def test_a_given_table_chooses_the_single_gpus_too() -> None:
    table = table_of("t", {"1": [{"minors": [2]}], "2": []})

    devices = describe(node(group(1, 1, 2), *ALONE, linked=LinkedGpus(table)))

    assert joined(devices) == {"gpu-2": 12}


@pytest.mark.parametrize("mode", list(FabricMode))
def test_while_it_does_not_answer_no_whole_gpu_is_offered_and_the_reason_is_told(mode: FabricMode) -> None:
    table = table_of("t", {"2": [{"minors": [0, 1]}]})
    fabric = Fabric(mode, problem=PROBLEM)

    devices = describe(node(fabric=fabric, linked=LinkedGpus(table)))

    assert joined(devices) == {}
    names = ["gpu-0", "gpu-1", "gpu-2", "gpu-3", "gpus-0-1"]
    assert told(devices) == [f"{name}: {PROBLEM}" for name in names]


def test_no_gpu_is_shared_whose_links_are_joined_on_request() -> None:
    devices = describe(node(*ALONE, modes=GpuModes(by_number={1: ModesOfGpu(shared=100, mps=100)})))

    assert list(devices.by_name) == ["gpu-0", "gpu-1", "gpu-2", "gpu-3"]
    shared, mps = told(devices)
    assert shared.startswith("gpu-1-shared: ")
    assert mps.startswith("gpu-1-mps: ")
    assert "--gpu-modes" in shared


def test_bare_metal_is_described_as_if_there_were_no_fabric_manager() -> None:
    table = LinkedGpus(table_of("t", {"2": [{"minors": [0, 1]}]}))
    found = node(fabric=Fabric(), linked=table, modes=GpuModes(ModesOfGpu(shared=100)))

    assert as_fabric_allows(found) is found
    assert joined(describe(found))["gpus-0-1"] is None


def test_a_manager_that_tells_who_its_gpus_are_is_believed_and_numbers_are_not() -> None:
    by_uuid, by_address = FabricGpu(4, uuid=GpuUuid("GPU-3")), FabricGpu(3, bdf=Bdf("0000:03:00.0"))
    told = FabricPartition(1, (by_uuid, by_address))
    silent = FabricPartition(2, (FabricGpu(1), FabricGpu(2)))
    stranger = FabricPartition(3, (FabricGpu(1, uuid=GpuUuid("GPU-9")),))
    gpus = [gpu(minor, 4 - minor) for minor in range(4)]

    assert partition_ids([told, silent, stranger], gpus) == {frozenset({"GPU-3", "GPU-2"}): 1}


def test_modules_that_two_gpus_have_match_none() -> None:
    gpus = [gpu(0, 1), gpu(1, 1), gpu(2, 2), gpu(3, None)]

    assert partition_ids([group(1, 1), group(2, 2), group(3, 3)], gpus) == {frozenset({"GPU-2"}): 2}


GROUPS = st.lists(st.sets(st.integers(1, 7), min_size=1), unique_by=frozenset, max_size=12)


@given(GROUPS)
def test_exactly_the_groups_of_known_gpus_are_offered_each_with_its_id(modules: list[set[int]]) -> None:
    partitions = [group(id_, *sorted(one)) for id_, one in enumerate(modules)]
    found = node(*partitions, count=6)
    uuids = {entry.gpu.module_id: entry.gpu.uuid for entry in found.gpus}
    wanted = {
        frozenset(uuids[module] for module in one): id_
        for id_, one in enumerate(modules)
        if one <= uuids.keys()
    }

    offered = {
        frozenset(one.uuid for one in gpus_of(device)): device.partition
        for device in describe(found).by_name.values()
        if isinstance(device, WholeGpu | GpuPartition)
    }

    assert offered == wanted


def test_what_a_claim_activates_leaves_the_description_as_it_is(tmp_path, inventory_of) -> None:
    simulated = SimulatedMachine.open(shared_node(), tmp_path)
    describer = Describer("tangram.dev")
    before = describer.devices(inventory_of(simulated))

    simulated.fabric.activate(3)
    assert any(one.is_active for one in inventory_of(simulated).fabric.partitions)
    assert describer.devices(inventory_of(simulated)) is before

    simulated.inject(parse_fault("machine:no-fabric-manager"))
    without = describer.devices(inventory_of(simulated))
    assert joined(without) == {}
    assert any(name.startswith("gpu-0-mig") for name in without.by_name)
    assert "the operator starts the fabric manager" in told(without)[0]

    simulated.clear_faults()
    assert describer.devices(inventory_of(simulated)).pool == before.pool


def test_the_documented_node_offers_what_the_shipped_table_has(tmp_path, inventory_of) -> None:
    devices = describe(inventory_of(SimulatedMachine.open(shared_node(), tmp_path)))
    listed = shipped_table("hgx-h100").by_size

    groups = [name for name in joined(devices) if name.startswith("gpus-")]
    assert sorted(groups) == sorted(linked_name(one.minors) for size in (2, 4, 8) for one in listed[size])
    assert len(joined(devices)) == 15


def test_a_manager_for_virtual_functions_says_which_mode_the_operator_chooses(
    tmp_path, inventory_of, monkeypatch
) -> None:
    simulated = SimulatedMachine.open(shared_node(), tmp_path)
    monkeypatch.setattr(type(simulated.fabric), "mode", lambda _: FabricMode.VGPU)

    devices = describe(inventory_of(simulated))

    assert joined(devices) == {}
    assert "FABRIC_MODE=1" in told(devices)[0]
