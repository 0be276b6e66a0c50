"""From a fault of a simulated machine to the taints in the slices, and back after a reset."""

from __future__ import annotations

import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node, parse_injected
from agent.health.causes import Severity
from agent.health.facts import facts_of
from agent.health.rules import HealthRules
from agent.health.state_file import StateFile
from agent.health.tainted import judged
from agent.inventory import discover
from agent.inventory.describer import Describer
from agent.publishing.forms import Form, Found, Verdict, documents
from agent.publishing.health.kept import HealthClocks, KeptHealth
from agent.publishing.health.watch import HealthSources, HealthWatch
from agent.state import AgentState
from daemon.status.last_errors import LastErrors


class Once(threading.Event):
    """Ends what it is given to after one turn."""

    def __init__(self, turns=1):
        super().__init__()
        self._left = turns

    def is_set(self):
        self._left -= 1
        return self._left < 0

    def wait(self, timeout=None):
        return False


class NoWait:
    """The machine's events without waiting for them."""

    def __init__(self, events):
        self._events = events

    def wait(self, longest_s):
        return self._events.wait(0.0)


class Site:
    def __init__(self, folder, node="hgx-h100"):
        self.simulated = SimulatedMachine.open(load_node(node), folder)
        machine = simulated_hardware(self.simulated)
        self.readers, self.now = machine.readers, 1_700_000_000.0
        self.gpus = [gpu.uuid for gpu in machine.gpus.gpus()]
        self.file, self.describer = StateFile(folder / "health", "node-1"), Describer("tangram.dev")
        self.events = NoWait(machine.gpu_events)
        self.start()

    def start(self, boot="boot-1"):
        """Start an agent anew."""
        self.kept = KeptHealth(self.file, HealthRules(), HealthClocks(lambda: self.now, lambda: self.now))
        self.kept.load(boot)
        self.kept.look(facts_of(discover(self.readers, "node-1")))
        sources = HealthSources(self.events, self.readers.gpus, self.readers.nics)
        self.watch = HealthWatch(sources, self.kept, lambda _wake, _longest_s: None)
        self.turn()

    def turn(self):
        """Hear what there is to hear and read everything."""
        self.now += 1.0
        self.watch.hear_events(Once())
        self.watch.hasten()
        self.watch.read(Once(2))
        self.kept.write_due()

    def inject(self, *faults):
        self.simulated.inject(*map(parse_injected, faults))
        self.turn()

    def reset(self, gpu):
        self.simulated.reset_gpu(self.gpus[gpu])
        self.turn()

    def status(self):
        """Return the status of an agent that found this machine."""
        inventory = discover(self.readers, "node-1")
        found = Found.of(inventory, self.describer.devices(inventory))
        return AgentState(
            agent=SimpleNamespace(found=found, allocator="", is_ready=True),
            publications=(),
            node="node-1",
            driver="tangram.dev",
            errors=LastErrors(),
            clock=lambda: self.now,
            began_at=0.0,
            hung=tuple,
            wall=lambda: self.now,
            kept=self.kept,
        ).status()

    def tainted(self):
        inventory = discover(self.readers, "node-1")
        found = Found.of(inventory, self.describer.devices(inventory))
        health = judged(found.devices, found.instances, self.kept.state, self.kept.rules)
        slices = documents(replace(found, health=health), Verdict(Form.SEPARATE))
        devices = [one for each in slices for one in each["spec"].get("devices", ())]
        return {one["name"]: {taint["key"] for taint in one["taints"]} for one in devices if "taints" in one}


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path / "machine")


def _gpus(tainted):
    return {name.split("-mig")[0] for name in tainted}


def test_a_machine_that_is_well_has_no_taint(site):
    assert site.kept.state.troubles == {}
    assert site.tainted() == {}


def test_a_gpu_that_falls_off_the_bus_is_tainted_and_after_a_reset_it_is_well(site):
    """NVIDIA's driver taints all GPUs, and for ever (#904, #1455)."""
    site.inject("gpu-0:xid=79")
    assert {name.split("-mig")[0] for name in site.tainted()} == {"gpu-0"}
    site.start()
    assert "health.tangram.dev/gpu-lost" in site.tainted()["gpu-0"]

    site.reset(0)

    assert site.tainted() == {}


def test_the_status_tells_each_cause_with_its_devices_and_how_often_it_came(site):
    site.inject("gpu-1:xid=48")
    site.inject("gpu-1:xid=48")
    site.now += 60.0

    status = site.status()

    (row,) = [one for one in status.json()["causes"] if one["cause"] == "xid-reset"]
    assert (row["severity"], row["times"], row["xids"]) == ("no-new-pods", 2, [48])
    assert row["age_seconds"] > 60.0
    assert row["devices"][0] == "gpu-1"
    assert set(row["devices"]) == site.tainted().keys()
    counted = {(one["kind"], one["state"]): one["count"] for one in status.json()["devices"]}
    assert (counted["gpu", "tainted"], counted["gpu", "offered"]) == (1, 7)
    assert "what ends it: a reset of the GPU" in " ".join(status.text().split())


def test_the_status_tells_no_cause_of_a_machine_that_is_well(site):
    assert site.status().json()["causes"] == []


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("gpu-1:xid=48", "xid-reset"),
        ("gpu-1:xid=95", "xid-reset"),
        ("gpu-1:xid=63", "row-remap-pending"),
        ("gpu-1:recovery=gpu-reset", "recovery-needed"),
        ("gpu-1:nvlink-down=3", "nvlink-down"),
        ("gpu-1:fabric=in-progress", "fabric-not-ready"),
        ("gpu-1:fabric=route-unhealthy", "fabric-unhealthy"),
        ("gpu-1:ecc=2", "uncorrectable-ecc"),
    ],
)
def test_each_fault_taints_its_gpu_until_the_gpu_is_reset(site, fault, cause):
    site.inject(fault)
    found = site.tainted()
    assert _gpus(found) == {"gpu-1"}
    assert f"health.tangram.dev/{cause}" in found["gpu-1"]

    site.reset(1)

    assert site.tainted() == {}


@pytest.mark.parametrize(
    "fault",
    [
        "gpu-1:xid=31",
        "gpu-1:xid=13:gi=7",
        "gpu-1:slowdown=hardware-thermal",
        "gpu-1:fabric=degraded-bandwidth",
    ],
)
def test_an_error_of_a_program_and_a_slow_gpu_taint_nothing(site, fault):
    site.inject(fault)
    assert site.kept.state.troubles
    assert site.tainted() == {}


def test_an_xid_never_heard_of_is_told_and_over_after_an_hour(site):
    site.inject("gpu-2:xid=4711")
    assert _gpus(site.tainted()) == {"gpu-2"}
    site.now += 3600.0
    site.turn()
    assert site.tainted() == {}


def test_rules_that_say_otherwise_count_from_the_next_judgement_on(site):
    site.inject("gpu-1:xid=31")
    assert site.tainted() == {}

    site.kept.follow(HealthRules(xids={31: Severity.EVICT}))
    assert _gpus(site.tainted()) == {"gpu-1"}

    site.kept.follow(HealthRules())
    assert site.tainted() == {}
