"""``tangram node``: shipped machines and those in directories."""

from __future__ import annotations

import re

import pytest

from agent.hardware.simulated import (
    Call,
    Moment,
    SimulatedMachine,
    load_node,
    node_text,
    parse_fault,
    shipped_nodes,
)
from agent.hardware.simulated.faults import NIC_REFUSALS, REFUSALS, NicTrouble


def test_the_list_has_every_shipped_machine_with_its_devices(tangram):
    answer = tangram("node", "list")

    assert answer.status == 0
    for name in shipped_nodes():
        assert name in answer.out
    dgx = next(line for line in answer.out.splitlines() if line.startswith("dgx-a100"))
    assert "8 × NVIDIA A100-SXM4-40GB" in dgx
    assert "yes" in dgx
    assert "8 × connectx-6" in dgx
    assert "illustrative" in dgx


def test_the_list_as_json_has_an_object_per_machine(tangram):
    answer = tangram("node", "list", "--json")

    l40s = next(machine for machine in answer.json if machine["name"] == "l40s")

    assert [machine["name"] for machine in answer.json] == list(shipped_nodes())
    assert l40s["gpus"] == "4 × NVIDIA L40S"
    assert l40s["mig"] == "no"


@pytest.mark.parametrize("name", shipped_nodes())
def test_a_machine_is_shown_as_its_file(tangram, name):
    answer = tangram("node", "show", name)

    assert answer.status == 0
    assert answer.out == node_text(name)


def test_a_machine_shown_as_json_says_the_same(tangram):
    answer = tangram("node", "show", "a100x2", "--json")

    assert answer.json["name"] == "a100x2"
    assert answer.json["driver"] == {"version": "560.35.03", "cuda": "12.6"}


def test_faults_are_injected_listed_and_cleared(tangram, machine):
    tangram("node", "fault", "--machine", machine.directory, "gpu-1:lost", "gpu-0:in-use")

    listed = tangram("node", "fault", "--machine", machine.directory, "--list")
    cleared = tangram("node", "fault", "--machine", machine.directory, "--clear", "--json")

    assert listed.out.split() == ["gpu-1:lost", "gpu-0:in-use"]
    assert cleared.json == {"machine": "a100x2", "faults": []}
    assert machine.faults() == ()


def test_one_wrong_fault_injects_none(tangram, machine):
    answer = tangram("node", "fault", "--machine", machine.directory, "gpu-0:lost", "gpu-0:tired")

    assert answer.status == 2
    assert "gpu-0:tired" in answer.err
    assert machine.faults() == ()


def test_a_machine_without_faults_is_said_to_obey(tangram, machine):
    answer = tangram("node", "fault", "--machine", machine.directory, "--clear")

    assert answer.out == "a100x2 has no fault: it behaves like hardware without faults\n"


def test_a_fault_that_is_given_twice_is_had_once(tangram, machine):
    answer = tangram("node", "fault", "--machine", machine.directory, "gpu-0:lost", "gpu-00:lost")

    assert answer.out == "a100x2 has 1 fault: gpu-0:lost\n"


def test_the_help_of_faults_spells_every_call_effect_and_number(tangram):
    words = set(re.findall(r"[\w-]+", tangram("node", "fault", "--help").out))

    assert {*Call, *REFUSALS, *NIC_REFUSALS, *NicTrouble, *Moment} <= words
    assert {"lost", "in-use", "slow", "SECONDS", "TIMES", "machine", "gpu-MINOR", "nic-NUMBER"} <= words


def test_the_examples_in_the_help_of_faults_can_be_injected(tangram, tmp_path):
    machine = SimulatedMachine.open(load_node("a30x4"), tmp_path / "with-nics")
    examples = [
        word
        for line in tangram("node", "fault", "--help").out.splitlines()
        if line.startswith("  tangram node fault --machine /tmp/m ")
        for word in line.split()[5:]
    ]

    for example in examples:
        machine.inject(parse_fault(example.replace("gpu-3", "gpu-0")))

    assert len(machine.faults()) == len(examples) == 6


def test_a_reboot_changes_the_boot_id(tangram, machine):
    first = tangram("node", "reboot", "--machine", machine.directory, "--json").json["bootId"]

    second = tangram("node", "reboot", "--machine", machine.directory)

    assert second.status == 0
    assert first not in second.out
