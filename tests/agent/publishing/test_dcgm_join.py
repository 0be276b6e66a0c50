"""What NVIDIA's DCGM exporter finds in our slices, read as it reads them, under NVIDIA's driver name."""

from __future__ import annotations

import re

import pytest
from dcgm_exporter import DRIVER, seen_by_exporter

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory import describe, discover
from agent.publishing.forms import Form, Found, Verdict, documents


@pytest.fixture
def machine(tmp_path):
    return SimulatedMachine.open(load_node("a100x2"), tmp_path / "machine")


@pytest.fixture
def slices(machine):
    inventory = discover(simulated_hardware(machine).readers, "node-1")
    return documents(Found.of(inventory, describe(inventory, DRIVER)), Verdict(Form.SEPARATE))


def test_the_exporter_finds_the_uuid_of_every_whole_gpu(machine, slices):
    found = seen_by_exporter(slices)

    for card in machine.node.cards:
        assert found[f"node-1/gpu-{card.index}"] == {"uuid": str(card.uuid)}


def test_the_exporter_finds_gpu_and_profile_of_every_mig_device(machine, slices):
    found = seen_by_exporter(slices)
    uuids = {str(card.uuid) for card in machine.node.cards}
    mig = {place: one for place, one in found.items() if "parentUUID" in one}

    assert mig
    for place, one in mig.items():
        assert one["parentUUID"] in uuids
        assert re.sub(r"[.+]", "-", one["profile"]) in place


def test_a_mig_device_that_is_made_for_its_claim_has_no_uuid_before_so_the_exporter_cannot_join_it(slices):
    """NVIDIA/dcgm-exporter#714; tangram_device_info tells it instead."""
    found = seen_by_exporter(slices)

    assert {one["uuid"] for one in found.values() if "parentUUID" in one} == {""}
