"""What is published where nobody counts: nothing that overlaps, under the names of the full pool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node, shipped_nodes
from agent.hardware.types import MigSpec
from agent.inventory import as_mode_allows, describe, discover
from agent.inventory.model import LinkedGpus
from agent.inventory.partitions import shipped_table
from agent.publishing.fixed import fixed_pool, without
from agent.publishing.forms import Found
from scheduler_core.books.ledger import Ledger
from scheduler_core.dialects.project import project
from scheduler_core.frontends.partitions.table import table_of
from scheduler_core.model.device import Device
from scheduler_core.model.pool import Pool
from scheduler_core.model.taints import Taint

Look = Callable[..., Found]


@pytest.fixture
def machine(tmp_path):
    return lambda name: SimulatedMachine.open(load_node(name), tmp_path / name)


@pytest.fixture
def look() -> Look:
    def read(machine: SimulatedMachine, linked: LinkedGpus | None = None) -> Found:
        readers = simulated_hardware(machine).readers
        inventory = replace(discover(readers, "node-1"), linked=linked)
        return Found.of(inventory, describe(as_mode_allows(inventory)))

    return read


def cut(machine: SimulatedMachine, profile: str, place: int, gpu: int = 0) -> None:
    uuid = machine.gpus.gpus()[gpu].uuid
    if not machine.gpus.mig_mode(uuid).current:
        machine.gpus.set_mig_mode(uuid, True)
    found = next(one for one in machine.gpus.profiles(uuid) if one.name == profile)
    machine.gpus.create_gpu_instance(MigSpec(uuid, found.profile_id, found.placements[place]))


def names(pool: Pool) -> list[str]:
    return [str(device.name) for device in pool.devices]


def fixed(found: Found) -> Pool:
    return fixed_pool(found.devices, found.instances)


@pytest.mark.parametrize("name", shipped_nodes())
def test_all_fixed_devices_can_be_in_use_at_once(name, machine, look):
    made = machine(name)
    if name == "a100x2":
        cut(made, "3g.20gb", 0)
        cut(made, "2g.10gb", 2)
    found = look(made)

    chosen = fixed(found)

    ledger = Ledger(project(found.devices.pool))
    for device in chosen.devices:
        ledger.take(device.name, "somebody")
    assert len(ledger.taken) == len(chosen.devices)


def test_a_gpu_without_instances_is_one_device(machine, look):
    assert names(fixed(look(machine("a100x2")))) == ["gpu-0", "gpu-1"]


def test_existing_instances_stand_for_their_gpu_under_the_names_of_the_full_pool(machine, look):
    made = machine("a100x2")
    cut(made, "3g.20gb", 1)
    cut(made, "1g.5gb", 0)
    found = look(made)

    chosen = names(fixed(found))

    assert chosen == ["gpu-0-mig-1g-5gb-0", "gpu-0-mig-3g-20gb-4-7", "gpu-1"]
    assert set(chosen) <= set(names(project(found.devices.pool)))


def test_the_vfs_of_a_nic_stand_for_it(machine, look):
    chosen = fixed(look(machine("dgx-a100")))

    nics = {name.partition("-vf-")[0] for name in names(chosen) if "-vf-" in name}
    assert nics
    assert not nics & set(names(chosen))


def test_nothing_that_is_fixed_draws_from_a_counter(machine, look):
    chosen = fixed(look(machine("a100x2")))

    assert chosen.sources == {}
    assert all(device.draws == () for device in chosen.devices)


def test_a_device_that_needs_a_field_which_is_dropped_is_left_out():
    sound, tainted = Device(name="a"), Device(name="b", taints=(Taint("k"),))
    pool = Pool(id=None, devices=(sound, tainted))

    assert without(pool, frozenset({"taints"})).devices == (sound,)
    assert without(pool, frozenset({"bindsToNode"})).devices == (sound, tainted)


PAIRS = {"2": [{"minors": [0, 1]}, {"minors": [2, 3]}], "4": [{"minors": [0, 1, 2, 3]}]}


def all_fit(found: Found) -> bool:
    ledger = Ledger(project(found.devices.pool))
    for device in fixed(found).devices:
        ledger.take(device.name, "somebody")
    return True


def test_where_single_gpus_are_offered_no_partition_of_them_is(machine, look):
    found = look(machine("hgx-h100"), LinkedGpus(shipped_table("hgx-h100")))

    assert [name for name in names(fixed(found)) if name.startswith("gpu")] == [f"gpu-{n}" for n in range(8)]
    assert all_fit(found)


def test_where_no_single_gpu_is_offered_small_partitions_are_the_devices(machine, look):
    found = look(machine("hgx-h100"), LinkedGpus(table_of("table", PAIRS), is_honored=True))

    assert [name for name in names(fixed(found)) if name.startswith("gpu")] == ["gpus-0-1", "gpus-2-3"]
    assert all_fit(found)


def test_a_partition_with_a_member_that_is_cut_is_not_published(machine, look):
    made = machine("hgx-h100")
    cut(made, "1g.10gb", 0, gpu=2)
    found = look(made, LinkedGpus(table_of("table", PAIRS), is_honored=True))

    chosen = [name for name in names(fixed(found)) if name.startswith("gpu")]

    assert chosen == ["gpu-2-mig-1g-10gb-0", "gpus-0-1"]
    assert all_fit(found)
