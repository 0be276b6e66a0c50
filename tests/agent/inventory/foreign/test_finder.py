"""An instance is foreign if no record explains it at two looks: nothing of what the plugin does looks so."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from pathlib import Path

import pytest
from short_folders import short_folder

from agent.hardware.errors import HardwareFault
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.hardware.types import MigSpec, Placement
from agent.inventory import discover
from agent.inventory.foreign.finder import ForeignFinder
from agent.inventory.foreign.record_folder import RecordFolder, RecordsUnknown
from agent.inventory.foreign.records import Records
from agent.inventory.model import SplitGpus
from plugin.assembly import assemble
from plugin.options import Options
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef, ClaimUid
from scheduler_core.model.device import DeviceId, DeviceName

DRIVER = "tangram.dev"
PARTITIONS = ("gpu-0-mig-1g-5gb-0", "gpu-0-mig-2g-10gb-2-3")
COMPUTE = ("gpu-0-mig-1c-3g-20gb-4-7-ci-0", "gpu-0-mig-1c-3g-20gb-4-7-ci-2")


class Site:
    """A node with a plugin's driver, and an agent that looks for foreign instances."""

    def __init__(self, folder):
        self.simulated = SimulatedMachine.open(load_node("a100x2"), folder / "machine")
        self.machine = simulated_hardware(self.simulated)
        self.options = Options(
            driver_name=DRIVER,
            node_name="a100x2",
            kubelet_dir=folder / "kubelet",
            cdi_dir=folder / "cdi",
            split=SplitGpus(),
        )
        self.folder = RecordFolder(self.options.claims_dir)
        self.folder.path.mkdir(parents=True)
        self.finder = ForeignFinder(self.machine.readers.gpus, self.folder.read)

    def look(self, finder=None):
        return (finder or self.finder)(discover(self.machine.readers, "a100x2"))

    def driver(self, gpus=None):
        machine = replace(self.machine, gpus=gpus or self.machine.gpus)
        return assemble(machine, self.options, clock=time.monotonic, sleep=time.sleep)

    def claim(self, *devices):
        results = tuple(
            AllocatedDevice(f"r{number}", DeviceId(DRIVER, "a100x2", DeviceName(device)))
            for number, device in enumerate(devices)
        )
        return AllocatedClaim(ref=ClaimRef("default", "c"), uid=ClaimUid("u-1"), results=results)

    def end(self, driver=None):
        (driver or self.driver()).unprepare(ClaimUid("u-1"), ClaimRef("default", "c"))

    def make(self, start=0):
        """Make an instance as an operator does."""
        gpus, uuid = self.machine.gpus, self.simulated.node.cards[0].uuid
        gpus.set_mig_mode(uuid, True)
        profile = next(one for one in gpus.profiles(uuid) if one.name == "1g.5gb")
        gi_id = gpus.create_gpu_instance(MigSpec(uuid, profile.profile_id, Placement(start, 1)))
        gpus.create_compute_instance(uuid, gi_id)
        return uuid, gi_id

    def unmake(self, uuid, gi_id):
        self.machine.gpus.destroy_compute_instance(uuid, gi_id, 0)
        self.machine.gpus.destroy_gpu_instance(uuid, gi_id)


@pytest.fixture
def site():
    """A site in a folder with a path short enough for sockets."""
    with short_folder() as name:
        yield Site(Path(name))


class Watched:
    """The GPUs, with somebody who looks before and after each change."""

    CHANGES = frozenset(
        {
            "set_mig_mode",
            "create_gpu_instance",
            "create_compute_instance",
            "destroy_compute_instance",
            "destroy_gpu_instance",
        }
    )

    def __init__(self, gpus, look):
        self._gpus, self._look = gpus, look

    def __getattr__(self, name):
        call = getattr(self._gpus, name)
        if name not in self.CHANGES:
            return call

        def watched(*arguments):
            self._look()
            try:
                return call(*arguments)
            finally:
                self._look()

        return watched


@pytest.mark.parametrize("devices", [PARTITIONS, COMPUTE], ids=["partitions", "compute instances"])
def test_between_any_two_changes_of_the_plugin_nothing_looks_foreign(site, devices):
    looks = []
    driver = site.driver(Watched(site.machine.gpus, lambda: looks.append(site.look())))

    driver.prepare(site.claim(*devices))
    assert site.look() == ()
    site.end(driver)

    assert len(looks) >= 16
    assert set(looks) == {()}


def test_what_the_plugin_destroys_between_the_look_at_the_machine_and_that_at_the_records_is_not_foreign(
    site,
):
    driver = site.driver()
    driver.prepare(site.claim(*PARTITIONS))

    def records(boot_id):
        site.end(driver)
        return site.folder.read(boot_id)

    assert site.look(ForeignFinder(site.machine.readers.gpus, records)) == ()


def test_what_an_operator_made_is_foreign_beside_a_claims_until_it_is_gone(site):
    site.driver().prepare(site.claim("gpu-0-mig-2g-10gb-2-3"))
    made = site.make()

    (found,) = site.look()

    assert found.name == f"gpu-0-gi-{made[1]}"
    assert found.may_be_of == ()
    site.unmake(*made)
    assert site.look() == ()


def test_what_a_lost_record_leaves_is_foreign_until_a_record_explains_it(site):
    driver = site.driver()
    driver.prepare(site.claim(PARTITIONS[0]))
    (file,) = site.folder.path.iterdir()
    data = file.read_bytes()

    file.unlink()
    assert [one.name for one in site.look()] == ["gpu-0-gi-7"]

    file.write_bytes(data)
    assert site.look() == ()


def test_what_a_damaged_record_leaves_may_be_its_claims(site):
    driver = site.driver()
    driver.prepare(site.claim(PARTITIONS[0]))
    (file,) = site.folder.path.iterdir()
    file.write_bytes(file.read_bytes().replace(b'"gi_id":', b'"gi_jd":'))

    (found,) = site.look()

    assert found.may_be_of == ("u-1",)


def test_while_the_records_cannot_be_read_what_was_foreign_stays_and_nothing_new_is(site, caplog):
    first = site.make(0)
    site.look()
    site.make(1)
    site.folder.path.rename(site.folder.path.with_name("away"))

    with caplog.at_level(logging.WARNING):
        assert [one.name for one in site.look()] == [f"gpu-0-gi-{first[1]}"]
        site.unmake(*first)
        assert site.look() == ()

    assert caplog.text.count("it is not known which MIG instances are those of claims") == 1


def test_a_gpu_that_cannot_be_read_again_has_what_it_had(site):
    site.make()

    class Failing:
        def gpu_instances(self, uuid):
            raise HardwareFault("read", "GPU 0", "no answer")

    assert len(site.look(ForeignFinder(Failing(), site.folder.read))) == 1


def test_without_instances_no_record_is_read(site):
    def unknown(_boot):
        raise RecordsUnknown("must not be asked")

    assert site.look(ForeignFinder(site.machine.readers.gpus, unknown)) == ()


def test_instances_that_change_all_the_time_are_looked_at_again_later(site):
    """Each look finds another instance: none of them is foreign for sure."""
    made = [site.make(0)]

    def records(_boot):
        site.unmake(*made.pop())
        made.append(site.make(0))
        return Records()

    assert site.look(ForeignFinder(site.machine.readers.gpus, records)) == ()
