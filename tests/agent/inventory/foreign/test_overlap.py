"""What overlaps a foreign instance is what the hardware refuses while the instance is there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.hardware.errors import HardwareError
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.hardware.types import MigSpec, Placement
from agent.inventory import describe, discover
from agent.inventory.foreign.found import FOREIGN, OF_UNREADABLE, FoundForeign
from agent.inventory.foreign.overlap import Overlaps, in_the_way
from agent.inventory.foreign.rule import foreign_in
from agent.inventory.model import LinkedGpus, SplitGpus
from agent.inventory.modes import GpuModes, ModesOfGpu
from agent.inventory.published import MigPartition
from scheduler_core.frontends.partitions.table import table_of

PAIR = LinkedGpus(table_of("table", {"2": [{"minors": [0, 1], "allocationScore": 1}]}))


class Site:
    """Two A100s on which an operator makes instances."""

    def __init__(self, folder, **options):
        self.simulated = SimulatedMachine.open(load_node("a100x2"), folder)
        self.gpus = self.simulated.gpus
        self.options = options

    def make(self, profile, start, gpu=0, *, is_filled=True):
        """Make an instance as nvidia-smi does; return its id."""
        uuid = self.gpus.gpus()[gpu].uuid
        if not self.gpus.mig_mode(uuid).current:
            self.gpus.set_mig_mode(uuid, True)
        found = next(one for one in self.gpus.profiles(uuid) if one.name == profile)
        place = next(one for one in found.placements if one.start == start)
        gi_id = self.gpus.create_gpu_instance(MigSpec(uuid, found.profile_id, place))
        if is_filled:
            self.gpus.create_compute_instance(uuid, gi_id)
        return gi_id

    def found(self, held=(), damaged=()):
        """Return the devices, and what is in the way of some of them."""
        inventory = replace(discover(simulated_hardware(self.simulated).readers, "node-1"), **self.options)
        devices = describe(inventory)
        foreign = [
            FoundForeign(entry.gpu, what, damaged)
            for entry in inventory.gpus
            for what in foreign_in(entry.instances, held)
        ]
        return devices, in_the_way(devices, foreign)


@pytest.fixture
def site(tmp_path):
    return lambda **options: Site(tmp_path / "machine", **options)


def refused(gpus, spec):
    """Whether the hardware refuses an instance now; the machine is then as before."""
    try:
        gi_id = gpus.create_gpu_instance(spec)
    except HardwareError:
        return True
    gpus.destroy_gpu_instance(spec.parent, gi_id)
    return False


@pytest.mark.parametrize(
    "made",
    [
        (("1g.5gb", 0),),
        (("1g.5gb+me", 6),),
        (("1g.10gb", 2),),
        (("2g.10gb", 4),),
        (("3g.20gb", 4),),
        (("7g.40gb", 0),),
        (("1g.5gb", 1), ("2g.10gb", 2)),
        (("3g.20gb", 0), ("1g.5gb+me", 6)),
    ],
    ids=str,
)
def test_a_partition_has_the_mark_exactly_where_the_hardware_refuses_it(site, made):
    made_site = site()
    for profile, start in made:
        made_site.make(profile, start)
    devices, found = made_site.found()

    partitions = {
        name: one
        for name, one in devices.by_name.items()
        if isinstance(one, MigPartition) and one.gpu.number == 0
    }
    expected = {name for name, one in partitions.items() if refused(made_site.gpus, one.spec)}

    assert set(found.devices) == {"gpu-0", *expected}


def test_the_whole_gpu_and_each_of_its_other_forms_have_the_mark_and_other_gpus_do_not(site):
    made = site(linked=PAIR, modes=GpuModes(ModesOfGpu(shared=100, mps=100)))
    made.make("1g.5gb", 0)

    _, found = made.found()

    forms = {name for name in found.devices if "-mig-" not in name}
    assert forms == {"gpu-0", "gpu-0-shared", "gpu-0-mps", "gpus-0-1"}
    assert not any(name.startswith("gpu-1") for name in found.devices)


def test_modes_that_are_in_use_side_by_side_need_the_gpu_without_mig(site):
    made = site(modes=GpuModes(ModesOfGpu(whole=False, shared=50, mps=50)))
    made.make("1g.5gb", 0)

    _, found = made.found()

    assert {name for name in found.devices if "-mig-" not in name} == {"gpu-0-shared", "gpu-0-mps"}


def test_where_the_profile_is_not_offered_its_memory_slices_count(site):
    made = site(modes=GpuModes(ModesOfGpu(mig=False, shared=100)))
    made.make("1g.5gb", 0)

    devices, found = made.found()

    assert set(found.devices) == {name for name in devices.by_name if name in {"gpu-0", "gpu-0-shared"}}


def test_an_instance_without_a_compute_instance_counts_too_and_is_named_by_its_gpu_instance(site):
    made = site()
    gi_id = made.make("1g.5gb", 0, is_filled=False)

    _, found = made.found()

    (one,) = found.instances
    assert one.name == f"gpu-0-gi-{gi_id}"
    assert f"GI {gi_id} (memory slices 0-0, without a CI) exists, and no claim" in one.sentence
    assert one.taint.key == FOREIGN
    assert found.devices["gpu-0"] == one


def test_a_device_is_marked_with_the_instance_that_it_overlaps(site):
    made = site()
    first, second = made.make("1g.5gb", 0), made.make("1g.5gb", 6)

    _, found = made.found()

    assert found.devices["gpu-0-mig-1g-5gb-0"].name == f"gpu-0-gi-{first}"
    assert found.devices["gpu-0-mig-1g-5gb-6"].name == f"gpu-0-gi-{second}"


PART = "c-3g-20gb-0-3-ci-"


class Held:
    """A claim's compute instance."""

    def __init__(self, instance, compute):
        self.spec, self.gi_id = instance.spec, instance.gi_id
        self.place, self.mig_uuid = compute.place, compute.uuid


def test_a_compute_instance_that_somebody_made_beside_a_claims_leaves_the_other_places_free(site):
    made = site(split=SplitGpus())
    gi_id = made.make("3g.20gb", 0, is_filled=False)
    uuid = made.gpus.gpus()[0].uuid
    ours = made.gpus.create_compute_instance(uuid, gi_id, Placement(0, 1))
    theirs = made.gpus.create_compute_instance(uuid, gi_id, Placement(2, 1))
    (instance,) = made.gpus.gpu_instances(uuid)

    devices, found = made.found(held=[Held(instance, ours)])

    (one,) = found.instances
    assert one.name == f"gpu-0-gi-{gi_id}-ci-{theirs.ci_id}"
    of_gpu_0 = {name for name in devices.by_name if name.startswith("gpu-0")}
    parts = {
        name.rpartition("-ci-")[2]: name in found.devices
        for name in devices.by_name
        if name in of_gpu_0 and PART in name
    }
    assert parts == {"0": False, "1": False, "2": True, "0-1": False}


def test_while_a_record_cannot_be_read_the_instance_is_not_called_foreign(site):
    made = site()
    made.make("1g.5gb", 0)

    _, found = made.found(damaged=("u-7",))

    (one,) = found.instances
    assert one.taint.key == OF_UNREADABLE
    assert "no claim of this driver" not in one.sentence
    assert "held by a record that cannot be read, of claim u-7" in one.sentence


def test_without_foreign_instances_nothing_is_marked(site):
    assert site().found()[1].devices == {}


def test_while_nothing_changes_nothing_is_compared_again(site):
    made = site()
    made.make("1g.5gb", 0)
    devices, found = made.found()
    overlaps = Overlaps()

    first = overlaps.of(devices, found.instances)

    assert first == found
    assert overlaps.of(devices, tuple(found.instances)) is first
    assert overlaps.of(devices, ()).devices == {}
