"""Foreign MIG instances are counted, and told once for each change: what they are, and who acts."""

from __future__ import annotations

import logging

import pytest

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.hardware.types import MigSpec
from agent.inventory import describe, discover
from agent.inventory.foreign.found import FoundForeign
from agent.inventory.foreign.overlap import in_the_way
from agent.inventory.foreign.rule import foreign_in
from agent.publishing.metrics import Metrics
from agent.publishing.telling.foreign_instances import ForeignInstances


class Board:
    """Keeps what is told, as a cluster keeps Events."""

    def __init__(self):
        self.told = []

    def warn(self, reason, text):
        self.told.append(("Warning", reason, text))

    def note(self, reason, text):
        self.told.append(("Normal", reason, text))


class Site:
    def __init__(self, folder):
        self.machine = SimulatedMachine.open(load_node("a100x2"), folder)
        self.metrics, self.board = Metrics(), Board()
        self.foreign = ForeignInstances(self.metrics, self.board)

    def make(self, place=0, gpu=0):
        gpus = self.machine.gpus
        uuid = gpus.gpus()[gpu].uuid
        gpus.set_mig_mode(uuid, True)
        profile = next(one for one in gpus.profiles(uuid) if one.name == "1g.5gb")
        gi_id = gpus.create_gpu_instance(MigSpec(uuid, profile.profile_id, profile.placements[place]))
        return uuid, gi_id, gpus.create_compute_instance(uuid, gi_id).uuid

    def look(self, damaged=()):
        inventory = discover(simulated_hardware(self.machine).readers, "node-1")
        devices = describe(inventory)
        found = [
            FoundForeign(entry.gpu, what, damaged)
            for entry in inventory.gpus
            for what in foreign_in(entry.instances, ())
        ]
        self.foreign.discovered(in_the_way(devices, found))

    def series(self):
        lines = self.metrics.text().splitlines()
        return [one for one in lines if one.startswith("tangram_agent_foreign_mig_instances{")]


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path / "machine")


def test_what_changes_is_told_once_and_counted(site, caplog):
    with caplog.at_level(logging.WARNING):
        site.look()
        _, gi_id, mig = site.make()
        site.look()
        site.look()

    ((kind, reason, text),) = site.board.told
    assert (kind, reason) == ("Warning", "ForeignMigInstances")
    assert text.startswith(
        f"gpu-0: GI {gi_id} (memory slices 0-0, {mig}) exists, and no claim of this driver created it; "
        f"who made it destroys it (nvidia-smi mig -i 0000:07:00.0 -gi {gi_id} -dci; "
    )
    assert text.endswith(
        f"devices that overlap it have the taint tangram.dev/foreign-mig-instance=gpu-0-gi-{gi_id}"
    )
    assert caplog.messages == [text]
    assert site.series() == ['tangram_agent_foreign_mig_instances{gpu="gpu-0"} 1.0']


def test_that_it_is_gone_is_told_too(site):
    uuid, gi_id, _ = site.make()
    site.look()
    site.machine.gpus.destroy_compute_instance(uuid, gi_id, 0)
    site.machine.gpus.destroy_gpu_instance(uuid, gi_id)
    site.look()
    site.look()

    assert [one[:2] for one in site.board.told[1:]] == [("Normal", "ForeignMigInstancesGone")]
    assert f"gpu-0-gi-{gi_id}" in site.board.told[1][2]
    assert site.series() == []


def test_a_record_that_can_be_read_again_changes_what_is_told_of_an_instance(site):
    site.make()

    site.look(damaged=("u-1",))
    site.look()

    assert ["cannot be read" in text for _, _, text in site.board.told] == [True, False]
    assert {reason for _, reason, _ in site.board.told} == {"ForeignMigInstances"}


def test_an_event_names_two_instances_and_the_number_of_the_others_within_the_limit_of_the_api(site):
    for gpu in range(2):
        for place in range(7):
            site.make(place, gpu)

    site.look(damaged=tuple(f"{number:08d}-0000-4000-8000-000000000000" for number in range(9)))

    ((_, _, text),) = site.board.told
    assert text.endswith("and 12 more; the agent's log has all of them")
    assert len(text.encode()) <= 1024
    assert site.series() == [
        'tangram_agent_foreign_mig_instances{gpu="gpu-0"} 7.0',
        'tangram_agent_foreign_mig_instances{gpu="gpu-1"} 7.0',
    ]
