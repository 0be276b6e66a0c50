"""A NIC with more VFs than a slice of Kubernetes 1.34 has room for costs no other device its counters."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine
from agent.hardware.simulated.library import parse_node
from agent.inventory import describe, discover
from agent.publishing.forms import Form, Found, NotTaken, Taken, Verdict, documents
from agent.publishing.metrics import Metrics
from agent.publishing.sources import V1Source
from agent.slices import projected, v1_slices
from scheduler_core.dialects.layout import Layout

NODE = Path(__file__).parents[2] / "data/reports/many-vfs-on-one-nic-older-layout/node.yaml"
NIC = "nic-0000-19-00-0"


@pytest.fixture
def found(tmp_path):
    def made(vfs):
        text = NODE.read_text().replace("vfs: 64, total_vfs: 64", f"vfs: {vfs}, total_vfs: {vfs}")
        machine = SimulatedMachine.open(parse_node("node-a", text), tmp_path / str(vfs))
        inventory = discover(simulated_hardware(machine).readers, "node-a")
        return Found.of(inventory, describe(inventory))

    return made


def devices_of(slices):
    return {one["name"]: one for slice_ in slices for one in slice_["spec"].get("devices", ())}


@pytest.mark.parametrize(("vfs", "is_counted"), [(1, True), (63, True), (64, False), (200, False)])
def test_all_vfs_and_all_mig_partitions_are_there_whatever_the_number_of_vfs(found, vfs, is_counted):
    node = found(vfs)
    older, newer = devices_of(documents(node, Verdict(Form.TOGETHER))), devices_of(v1_slices(node.devices))

    assert set(newer) - set(older) == (set() if is_counted else {NIC})
    changed = {name for name, device in older.items() if device != newer[name]}
    assert changed == (set() if is_counted else {f"{NIC}-vf-{index}" for index in range(vfs)})
    assert not any("consumesCounters" in older[name] for name in changed)
    assert bool(projected(node.devices, Layout.TOGETHER)[1]) is not is_counted


def test_the_agent_publishes_what_show_prints(found):
    node = found(70)

    shown = v1_slices(node.devices, Layout.TOGETHER)
    assert devices_of(documents(node, Verdict(Form.TOGETHER))) == devices_of(shown)
    assert all(len(one["spec"].get("devices", ())) <= 64 for one in shown)


class Board:
    """The events about a Node, by reason."""

    def __init__(self):
        self.reasons = []

    def warn(self, reason, text):
        self.reasons.append(reason)

    note = warn


def test_the_agent_reports_such_a_nic_once(found, caplog):
    caplog.set_level(logging.WARNING)
    board, node = Board(), found(64)
    source = V1Source(Metrics(), board)

    def ask(slices):
        together = any({"devices", "sharedCounters"} <= one["spec"].keys() for one in slices)
        return Taken() if together else NotTaken("must reference a counterSet in the same slice")

    for _ in range(2):
        source.doubt()
        source.wanted(node, ask)

    assert board.reasons == ["DevicesNotPublished"]
    (line,) = [record.message for record in caplog.records]
    assert line.startswith(f"{NIC}: its 64 VFs are published without counters")
