"""Node files with a fabric manager: what they may say, and what of it is kept on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shared_nvswitch import TEXT, shared_node

from agent.hardware.simulated import (
    InvalidFault,
    InvalidNodeFile,
    NoMachine,
    SimulatedMachine,
    parse_fault,
    parse_node,
)

FIRST_GPU = "pci[0].root_ports[0].below[0].downstream[1].below[0]"


@pytest.mark.parametrize(
    ("old", "new", "field", "value", "rule"),
    [
        ("id: 1,", "id: 0,", "fabric.partitions[1].id", 0, "given once"),
        ("id: 14,", "id: 64,", "fabric.partitions[14].id", 64, "between 0 and 63"),
        ("modules: [8]", "modules: [9]", "fabric.partitions[14].modules", 9, "of no GPU"),
        ("modules: [8]", "modules: []", "fabric.partitions[14].modules", None, "at least one"),
        ("modules: [1, 3]", "modules: [1, 1]", "fabric.partitions[3].modules", None, "once"),
        ("module: 5", "module: 256", f"{FIRST_GPU}.module", 256, "between 0 and 255"),
        ("mode: shared-nvswitch", "mode: shared", "fabric.mode", "shared", "Invalid enum value"),
        ('driver: {version: 570.133.20, cuda: "12.8"}', "driver: null", "fabric", None, "needs a driver"),
    ],
)
def test_a_broken_rule_names_its_field_and_value(
    old: str, new: str, field: str, value: object, rule: str
) -> None:
    text = TEXT
    assert old in text

    with pytest.raises(InvalidNodeFile) as refusal:
        parse_node("mine.yaml", text.replace(old, new, 1))

    assert (refusal.value.field, refusal.value.value) == (field, value)
    assert rule in refusal.value.rule


def test_no_two_gpus_have_one_module() -> None:
    with pytest.raises(InvalidNodeFile, match=r"module: 5 .*given twice|given twice.*module"):
        parse_node("mine.yaml", TEXT.replace("module: 7", "module: 5", 1))


def test_what_is_active_outlives_every_process(tmp_path: Path) -> None:
    SimulatedMachine.open(shared_node(), tmp_path).fabric.activate(3)

    attached = SimulatedMachine.attach(tmp_path)

    assert [one.id for one in attached.fabric.partitions() if one.is_active] == [3]


def test_a_partition_that_the_node_file_lacks_is_damage(tmp_path: Path) -> None:
    SimulatedMachine.open(shared_node(), tmp_path).fabric.activate(3)
    file = tmp_path / "machine.json"
    state = json.loads(file.read_text())
    state["fabric"]["active"] = [99]
    file.write_text(json.dumps(state))

    with pytest.raises(NoMachine, match="partition 99, which the node file lacks"):
        SimulatedMachine.attach(tmp_path)


def test_a_machine_of_an_earlier_version_has_nothing_active(tmp_path: Path) -> None:
    SimulatedMachine.open(shared_node(), tmp_path)
    file = tmp_path / "machine.json"
    state = json.loads(file.read_text())
    del state["fabric"]
    file.write_text(json.dumps(state))

    assert not any(one.is_active for one in SimulatedMachine.attach(tmp_path).fabric.partitions())


@pytest.mark.parametrize("call", ["fabric-partitions", "activate-partition", "deactivate-partition"])
def test_a_fault_of_the_fabric_manager_is_about_no_gpu(call: str) -> None:
    with pytest.raises(InvalidFault, match="aim at machine"):
        parse_fault(f"gpu-0:{call}:timed-out")
