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
    parse_injected,
    shipped_nodes,
)
from agent.hardware.simulated.faults import NIC_REFUSALS, REFUSALS, NicTrouble
from agent.hardware.simulated.gpu_troubles.faults import PLAIN_EVENTS, WORDS, GpuTroubleKind


def test_the_list_has_every_shipped_machine_with_its_devices(tangram):
    answer = tangram("node", "list")

    assert answer.status == 0
    for name in shipped_nodes():
        assert name in answer.out
    dgx = next(line for line in answer.out.splitlines() if line.startswith("dgx-a100"))
    assert "8 × NVIDIA A100-SXM4-40GB" in dgx
    assert "yes" in dgx
    assert "8 × connectx-6" in dgx
    assert "NVIDIA/nccl#1505" in dgx


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
    assert {*GpuTroubleKind, *PLAIN_EVENTS, *(word for words in WORDS.values() for word in words)} <= words
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
        machine.inject(parse_injected(example.replace("gpu-3", "gpu-0")))

    made_by_the_event = {"gpu-0:remap-pending"}
    assert made_by_the_event <= {str(fault) for fault in machine.faults()}
    assert len(machine.faults()) == len(examples) == 11


def test_an_event_is_raised_and_what_it_leads_to_is_listed(tangram, machine):
    source = machine.events()
    source.wait(0)

    answer = tangram("node", "fault", "--machine", machine.directory, "gpu-1:xid=79")

    assert answer.out == "a100x2 has 1 fault: gpu-1:lost\n"
    assert [event.xid for event in source.wait(0).events] == [79]


def test_a_fault_that_the_machine_cannot_have_leaves_out_those_before_it(tangram, machine):
    answer = tangram("node", "fault", "--machine", machine.directory, "gpu-0:lost", "gpu-1:fabric=failed")

    assert answer.status == 2
    assert "gpu-1:fabric=failed" in answer.err
    assert machine.faults() == ()


def test_a_reset_mends_a_gpu(tangram, machine):
    tangram("node", "fault", "--machine", machine.directory, "gpu-1:xid=79", "gpu-0:ecc=2")

    answer = tangram("node", "reset", "--machine", machine.directory, "gpu-1")

    assert answer.out == "gpu-1 of a100x2 was reset\n"
    assert [str(fault) for fault in machine.faults()] == ["gpu-0:ecc=2"]


@pytest.mark.parametrize(
    ("gpu", "rule"), [("gpu-9", "no such GPU"), ("nic-0", "minor number"), ("", "minor number")]
)
def test_a_reset_of_what_is_no_gpu_of_the_machine_is_refused(tangram, machine, gpu, rule):
    answer = tangram("node", "reset", "--machine", machine.directory, gpu)

    assert answer.status == 2
    assert rule in answer.err


def test_a_gpu_in_use_is_not_reset(tangram, machine):
    tangram("node", "fault", "--machine", machine.directory, "gpu-1:in-use")

    answer = tangram("node", "reset", "--machine", machine.directory, "gpu-1")

    assert answer.status != 0
    assert "a client holds the GPU" in answer.err


def test_a_reboot_changes_the_boot_id(tangram, machine):
    first = tangram("node", "reboot", "--machine", machine.directory, "--json").json["bootId"]

    second = tangram("node", "reboot", "--machine", machine.directory)

    assert second.status == 0
    assert first not in second.out
