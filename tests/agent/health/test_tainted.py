"""What is wrong with devices stands in the slices as taints, on the devices concerned only."""

from __future__ import annotations

from dataclasses import replace

import pytest
from told_health import RULES

from agent.hardware.health.types import GpuEvent, GpuEventKind, GpuVitals
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node, parse_fault
from agent.hardware.types import MigSpec
from agent.health.facts import facts_of
from agent.health.fold import folded, looked
from agent.health.rules import HealthRules, health_rules
from agent.health.state import GpuReading, HealthState, NoAnswer, Told
from agent.health.tainted import judged
from agent.inventory import discover
from agent.inventory.describer import Describer
from agent.publishing.forms import TAINTS, Form, Found, Verdict, documents

BEGAN_S = 1_700_000_000.0
TIME = "2023-11-14T22:13:20Z"


class Site:
    """Two A100s with NVLink, a NIC, and what was told of their health."""

    def __init__(self, folder, node="a100x2", rules: HealthRules = RULES):
        self.machine = SimulatedMachine.open(load_node(node), folder)
        self.readers = simulated_hardware(self.machine).readers
        self.gpus = [gpu.uuid for gpu in self.machine.gpus.gpus()]
        self.describer, self.rules = Describer("tangram.dev"), rules
        self.facts = facts_of(discover(self.readers, "node-1"))
        self.state = looked(HealthState("boot-1"), self.facts, rules, BEGAN_S)

    def hear(self, told, at_s=BEGAN_S):
        self.state = folded(self.state, told, self.rules, at_s, self.facts)

    def xid(self, number, gpu=0, **more):
        self.hear(Told((GpuEvent(gpu=self.gpus[gpu], kind=GpuEventKind.XID, xid=number, **more),)))

    def look(self):
        inventory = discover(self.readers, "node-1")
        found = Found.of(inventory, self.describer.devices(inventory))
        health = judged(found.devices, found.instances, self.state, self.rules)
        return replace(found, health=health)

    def published(self, form=Form.SEPARATE, lost=frozenset()):
        slices = documents(self.look(), Verdict(form, lost))
        return {one["name"]: one for each in slices for one in each["spec"].get("devices", ())}

    def tainted(self, **more):
        return {name: one["taints"] for name, one in self.published(**more).items() if "taints" in one}


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path / "machine")


def test_a_lost_gpu_is_tainted_with_all_that_is_cut_from_it_and_no_other(site):
    """NVIDIA's driver taints all GPUs of the node when one is lost (#904)."""
    site.xid(79)

    found = site.tainted()

    assert found.keys() == {name for name in site.published() if name.startswith("gpu-0")}
    taint = {"key": "health.tangram.dev/gpu-lost", "value": "79", "effect": "NoExecute", "timeAdded": TIME}
    assert all(taints == [taint] for taints in found.values())


def test_a_tainted_device_stays_listed_under_its_name(site):
    before = list(site.published())
    site.xid(79)
    assert list(site.published()) == before


@pytest.mark.parametrize("xid", [13, 31, 43, 45, 63, 94])
def test_a_note_taints_nothing(site, xid):
    site.xid(xid)
    assert site.look().health
    assert not site.tainted()


def test_no_new_pods_keeps_the_pods_that_run(site):
    site.xid(48)
    assert {taint["effect"] for taints in site.tainted().values() for taint in taints} == {"NoSchedule"}


def test_every_cause_has_a_taint_and_the_worst_is_first(site):
    """A benign XID never takes the place of a fatal one (#1455)."""
    site.xid(48)
    site.xid(79)
    site.xid(31)
    site.xid(95)
    taints = site.tainted()["gpu-0"]
    assert [(one["key"].partition("/")[2], one["value"]) for one in taints] == [
        ("gpu-lost", "79"),
        ("xid-reset", "48.95"),
    ]


def test_the_operator_decides_what_evicts(tmp_path):
    rules = health_rules({"xids": {79: "no-new-pods", 48: "evict", 31: "no-new-pods"}})
    site = Site(tmp_path / "machine", rules=rules)
    site.xid(79)
    site.xid(48, gpu=1)
    effects = {name: taints[0]["effect"] for name, taints in site.tainted().items()}
    assert (effects["gpu-0"], effects["gpu-1"]) == ("NoSchedule", "NoExecute")


def test_where_the_server_drops_taints_the_devices_are_withheld(site):
    whole = set(site.published())
    site.xid(79)
    kept = set(site.published(lost=frozenset({TAINTS})))
    assert kept == {name for name in whole if not name.startswith("gpu-0")}


def test_a_reset_takes_the_taint_away(site):
    """NVIDIA's driver never takes a taint away (#1455)."""
    site.xid(79)
    site.hear(Told(gpus={site.gpus[0]: NoAnswer("lost", is_lost=True)}))
    assert site.tainted()
    site.hear(Told(gpus={site.gpus[0]: GpuReading(GpuVitals(gpu=site.gpus[0]))}))
    assert not site.tainted()


def test_a_lost_gpu_that_the_driver_lists_no_more_keeps_its_name_and_its_taint(site):
    site.xid(79)
    site.machine.inject(parse_fault("gpu-0:lost"))
    found = site.tainted()
    assert "gpu-0" in found
    assert "health.tangram.dev/gpu-lost" in {one["key"] for one in found["gpu-0"]}


def test_a_fault_of_an_nvlink_leaves_mig_partitions_in_use(site):
    gpu = site.gpus[0]
    for links in ({"links_active": (0, 1)}, {"links_active": (0,), "links_down": (1,)}):
        site.hear(Told(gpus={gpu: GpuReading(GpuVitals(gpu=gpu, **links))}))
    assert site.tainted().keys() == {"gpu-0"}


def test_an_error_of_a_program_in_a_mig_instance_concerns_that_instance_alone(tmp_path):
    site = Site(tmp_path / "machine", rules=health_rules({"xids": {94: "no-new-pods"}}))
    gpus = site.machine.gpus
    gpus.set_mig_mode(site.gpus[0], True)
    profile = next(one for one in gpus.profiles(site.gpus[0]) if one.name == "1g.5gb")
    gi_id = gpus.create_gpu_instance(MigSpec(site.gpus[0], profile.profile_id, profile.placements[0]))

    site.xid(94, gi_id=gi_id)

    assert site.tainted().keys() == {"gpu-0-mig-1g-5gb-0"}


def test_what_its_health_says_is_not_said_as_unreadable_again(site):
    site.xid(79)
    found = site.look()
    names = frozenset(found.health)
    unread = replace(found, devices=replace(found.devices, remembered=names))
    assert documents(unread, Verdict(Form.SEPARATE)) == documents(found, Verdict(Form.SEPARATE))
