"""Bandwidth of VFs: read from the option, supplied by the NIC, drawn by each VF."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory import describe, discover
from agent.inventory.vfs.option import read_vf_rules
from agent.inventory.vfs.rules import VfRate, VfRule, VfRules
from agent.slices import composite_slices, encoded, v1_slices
from daemon.command_line import InvalidOption
from scheduler_core.books.ledger import Ledger
from scheduler_core.codec import v1
from scheduler_core.codec.composite import decode_slice
from scheduler_core.dialects.layout import Layout
from scheduler_core.dialects.mixins import flatten
from scheduler_core.model.device import QualifiedName

NIC = "nic-0000-19-00-0"
NODES = ("a30x4", "dgx-a100")
VFS = (f"{NIC}-vf-0", f"{NIC}-vf-1")
BANDWIDTH = QualifiedName("tangram.dev/bandwidth")


@pytest.fixture(scope="module")
def inventories(tmp_path_factory):
    machines = {name: SimulatedMachine.open(load_node(name), tmp_path_factory.mktemp(name)) for name in NODES}
    return {name: discover(simulated_hardware(one).readers, name) for name, one in machines.items()}


@pytest.fixture
def described(inventories):
    def run(text, node="a30x4"):
        return describe(replace(inventories[node], vfs=read_vf_rules(text)))

    return run


def test_a_rate_stands_behind_each_kind_of_rule():
    read = read_vf_rules("0000:19:00.0=static:2@10000/25000,eth1=keep@1/2,all=on-demand:4@5/20")

    rates = {"0000:19:00.0": VfRate(10000, 25000), "eth1": VfRate(1, 2)}
    assert read == VfRules({"0000:19:00.0": VfRule(2), "eth1": None}, VfRule(4, True), rates, VfRate(5, 20))


@pytest.mark.parametrize("rate", ["", "1", "0/5", "5/0", "1/", "/1", "3/2", "1/2/3", "-1/2", "1.5/3", "01/2"])
def test_a_rate_that_says_nothing_is_refused_with_the_form(rate):
    with pytest.raises(InvalidOption, match=r"behind each may be @VF/ALL, Mbit/s of a VF and of all VFs"):
        read_vf_rules(f"all=keep@{rate}")


def in_use(devices, *names):
    """Return whether the pool lets the devices be in use together, in the composite form and in v1."""
    decoded = flatten([decode_slice(one) for one in encoded(composite_slices(devices))])
    as_v1 = [
        pool
        for layout in Layout
        for pool in v1.pools(v1.decode_slice(one) for one in v1_slices(devices, layout))
    ]
    return {can_hold(pool, names) for pool in (devices.pool, decoded, *as_v1)}


def can_hold(pool, names):
    ledger = Ledger(pool)
    for name in names:
        if not ledger.admits(name):
            return False
        ledger.take(name, name)
    return True


@pytest.mark.parametrize(("rate", "fits"), [("12500/25000", True), ("12501/25000", False)])
def test_vfs_are_in_use_together_as_far_as_their_bandwidth_goes(described, rate, fits):
    devices = described(f"all=keep@{rate}")

    assert in_use(devices, *VFS) == {fits}
    assert in_use(devices, VFS[0]) == {True}
    assert in_use(devices, NIC) == {True}
    assert in_use(devices, NIC, VFS[0]) == {False}


def test_a_vf_says_its_bandwidth_and_a_nic_what_it_has(described):
    capacity = {device.name: device.capacity for device in described("all=keep@10000/25000").pool.devices}

    assert str(capacity[VFS[0]][BANDWIDTH]) == "10k"
    assert str(capacity[NIC][BANDWIDTH]) == "25k"


def test_without_a_rate_and_on_infiniband_there_is_none(described):
    for devices in (described("all=keep"), described(None), described("all=keep@1/2", "dgx-a100")):
        assert not any(BANDWIDTH in device.capacity for device in devices.pool.devices)
