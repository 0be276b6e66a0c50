"""An agent that reuses what it read of VFs finds whatever a program finds that looks for the first time."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from acts_on_nics import ACT, SIBLING, VF, Acting
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from short_folders import short_folder

from agent.hardware.errors import HardwareError
from agent.hardware.open import simulated_hardware
from agent.hardware.reuse import MOST_S, SETTLED_S, ReuseUnchanged
from agent.inventory import discover

PAUSES = st.sampled_from([0.0, SETTLED_S / 2, SETTLED_S, 60.0, MOST_S])


class Agent:
    """An agent's looks at a machine, on a clock of its own."""

    def __init__(self, machine):
        self.now = 1000.0
        self.readers = simulated_hardware(machine).readers
        self.reusing = self.readers.reusing(ReuseUnchanged(lambda: self.now))

    def look(self, pause=0.0):
        self.now += pause
        return discover(self.reusing, "node-1")

    def rest(self):
        for _ in range(3):
            self.look(SETTLED_S)


def fresh(machine):
    return discover(simulated_hardware(machine).readers, "node-1")


@given(st.lists(st.tuples(ACT, PAUSES, st.booleans()), max_size=8))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_after_any_acts_a_look_finds_what_a_first_look_finds(done):
    with short_folder() as folder:
        acting = Acting(Path(folder))
        agent = Agent(acting.machine)
        for act, pause, rests in done:
            if rests:
                agent.rest()
            with suppress(HardwareError):
                acting.do(act)
            assert agent.look(pause) == fresh(acting.machine)
            assert agent.look() == fresh(acting.machine)


@pytest.fixture
def acting(tmp_path):
    return Acting(tmp_path)


CHANGES = {
    "a VF is gone": [("count", "0000:19:00.0", 0)],
    "VFs are new": [("count", "0000:19:00.1", 3)],
    "VFs are made anew": [("count", "0000:19:00.0", 0), ("count", "0000:19:00.0", 2)],
    "another driver": [("vfio", VF)],
    "another driver and back": [("vfio", VF), ("restore", VF)],
    "a netdev is renamed": [("rename", VF, "fast0")],
    "two netdevs change names": [
        ("rename", VF, "fast0"),
        ("rename", SIBLING, "enp25s0v0"),
        ("rename", VF, "enp25s0v1"),
    ],
    "a netdev is in a pod": [("in", VF, "fast0")],
    "a netdev comes back": [("in", VF, "fast0"), ("end",)],
    "an RDMA device is gone": [("fault", "nic-0:no-rdma"), ("count", "0000:19:00.0", 0)],
    "a group is shared": [("fault", "nic-0:shared-iommu")],
    "a group is gone": [("fault", "nic-0:no-iommu")],
    "the module of VFIO is gone": [("fault", "machine:no-vfio")],
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_after_a_long_rest_is_in_the_next_look(acting, what):
    agent = Agent(acting.machine)
    agent.rest()

    for act in CHANGES[what]:
        acting.do(act)

    assert agent.look() == fresh(acting.machine)


def calls_of(look, monkeypatch):
    calls = Counter()

    def counted(name, call):
        def count_and_call(*args, **more):
            calls[name] += 1
            return call(*args, **more)

        return count_and_call

    with monkeypatch.context() as patch:
        for name in ("open", "readlink", "listdir", "scandir", "stat", "lstat"):
            patch.setattr(os, name, counted(name, getattr(os, name)))
        look()
    return calls


def test_at_rest_a_further_vf_costs_no_call(acting, monkeypatch):
    agent = Agent(acting.machine)
    found = []
    for count in (1, 4):
        acting.do(("count", "0000:19:00.1", 0))
        acting.do(("count", "0000:19:00.1", count))
        agent.rest()
        found.append(calls_of(agent.look, monkeypatch))

    assert found[0] == found[1]


def test_at_rest_vfs_and_facts_are_the_identical_values(acting):
    agent = Agent(acting.machine)
    agent.rest()
    first, second = agent.look(), agent.look()

    for before, after in zip(first.nics, second.nics, strict=True):
        assert all(one is another for one, another in zip(before.vfs, after.vfs, strict=True))
    for bdf in (VF, SIBLING):
        assert second.functions[bdf] is first.functions[bdf]


def test_the_state_of_a_link_is_read_at_each_look(acting):
    agent = Agent(acting.machine)
    agent.rest()
    pf = agent.look().nics[0]
    assert pf.netdev is not None
    (acting.machine.root / "sys/class/net" / pf.netdev / "speed").write_text("-1\n")
    (acting.machine.root / "sys/class/infiniband" / pf.rdma_device / "ports/1/state").write_text("1: DOWN\n")

    assert pf.link_speed_mbps is not None
    assert agent.look().nics[0].link_speed_mbps is None
