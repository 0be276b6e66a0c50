"""A machine lives in its directory: opened, attached to, rebooted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.hardware.procfs import ProcBoot
from agent.hardware.simulated import NoMachine, SimulatedMachine, load_node, node_text, parse_node
from agent.hardware.types import MigMode


def test_who_attaches_sees_what_was_changed(cut, tmp_path: Path) -> None:
    cutter = cut()
    gi_id, uuid = cutter.partition("2g.10gb", 2)

    other = SimulatedMachine.attach(tmp_path / "a100x2")

    (instance,) = other.gpus.gpu_instances(cutter.uuid)
    assert (instance.gi_id, instance.compute_instances[0].uuid) == (gi_id, uuid)


def test_opening_again_finds_the_same_machine(cut, machine) -> None:
    cutter = cut()
    cutter.partition("1g.5gb", 0)

    again = machine("a100x2")

    assert len(again.gpus.gpu_instances(cutter.uuid)) == 1


def test_a_directory_of_another_machine_is_refused(tmp_path: Path) -> None:
    SimulatedMachine.open(load_node("a100x2"), tmp_path)

    with pytest.raises(NoMachine) as refusal:
        SimulatedMachine.open(load_node("a30x4"), tmp_path)

    assert "made from a100x2" in str(refusal.value)


def test_a_comment_makes_no_other_machine(tmp_path: Path) -> None:
    SimulatedMachine.open(load_node("a100x2"), tmp_path)

    machine = SimulatedMachine.open(parse_node("mine", "# mine\n" + node_text("a100x2")), tmp_path)

    assert machine.node.source == "a100x2"


def test_a_root_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()

    with pytest.raises(NoMachine):
        SimulatedMachine.open(load_node("a100x2"), tmp_path)

    assert list((tmp_path / "root").iterdir()) == []


def test_a_machine_cannot_be_made_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(NoMachine):
        SimulatedMachine.open(load_node("a100x2"), tmp_path / "file" / "machine")


def test_there_is_nothing_to_attach_to_in_an_empty_directory(tmp_path: Path) -> None:
    with pytest.raises(NoMachine) as refusal:
        SimulatedMachine.attach(tmp_path)

    assert "make it with tangram node create" in str(refusal.value)


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"format": 7}'])
def test_a_state_that_is_not_ours_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "machine.json").write_text(content)

    with pytest.raises(NoMachine) as refusal:
        SimulatedMachine.attach(tmp_path)

    assert "\n" not in str(refusal.value)


GPU = "GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c"
DAMAGES = {
    "a GPU is missing": (lambda state: state["gpus"].pop(GPU), "gpus are not those"),
    "all GPUs are missing": (lambda state: state["gpus"].clear(), "gpus are not those"),
    "a NIC is one too many": (lambda state: state["vfs"].update({"0000:01:00.0": 1}), "vfs are not"),
    "the node text is nested without end": (lambda state: state.update(node="[" * 5000), "64 levels"),
    "a fault is none": (lambda state: state.update(faults=["gpu-0:tired"]), "gpu-0:tired"),
    "a profile is unknown": (lambda state: state["gpus"][GPU].update(one(3, 0, 1, 7)), "no such profile"),
    "a placement is wrong": (lambda state: state["gpus"][GPU].update(one(19, 7, 1, 14)), "1g.5gb may lie"),
    "an id is wrong": (lambda state: state["gpus"][GPU].update(one(19, 0, 1, 9)), "has id 7, not 9"),
}


def one(profile: int, start: int, size: int, gi_id: int) -> dict[str, Any]:
    instance = {"gi_id": gi_id, "profile_id": profile, "start": start, "size": size}
    return {"mig_current": True, "mig_pending": True, "instances": [instance]}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_state_is_refused_with_what_is_wrong(tmp_path: Path, damage: str) -> None:
    SimulatedMachine.open(load_node("a100x2"), tmp_path)
    file = tmp_path / "machine.json"
    state = json.loads(file.read_text())
    harm, told = DAMAGES[damage]
    harm(state)
    file.write_text(json.dumps(state))

    with pytest.raises(NoMachine) as refusal:
        SimulatedMachine.attach(tmp_path)

    assert "machine.json is damaged" in str(refusal.value)
    assert told in str(refusal.value)


def test_more_vfs_than_the_nic_can_have_are_damage(tmp_path: Path) -> None:
    SimulatedMachine.open(load_node("no-gpu"), tmp_path)
    file = tmp_path / "machine.json"
    state = json.loads(file.read_text())
    pf = min(state["vfs"])
    state["vfs"][pf] = 1000
    file.write_text(json.dumps(state))

    with pytest.raises(NoMachine) as refusal:
        SimulatedMachine.attach(tmp_path)

    assert f"NIC {pf} has 1000 VFs of " in str(refusal.value)


def test_a_state_beyond_the_limit_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "machine.json").open("wb") as file:
        file.truncate(3 * 2**30)

    with pytest.raises(NoMachine) as refusal:
        SimulatedMachine.attach(tmp_path)

    assert "is larger than 16 MiB" in str(refusal.value)


def test_a_machine_can_start_in_mig_mode_with_instances(machine) -> None:
    gpu = "minor: 0, mig: true, instances: [{profile: 3g.20gb, start: 4}, {profile: 1g.5gb, start: 0}],"
    host = machine("cut", node_text("a100x2").replace("minor: 0,", gpu))
    uuid = host.node.cards[0].uuid

    instances = host.gpus.gpu_instances(uuid)

    assert host.gpus.mig_mode(uuid) == MigMode(True, True)
    assert [instance.placement.start for instance in instances] == [4, 0]
    assert all(instance.compute_instances for instance in instances)


def test_a_reboot_takes_the_instances_and_changes_the_boot_id(cut, machine) -> None:
    cutter, host = cut(), machine()
    cutter.partition("1g.5gb", 0)
    before = ProcBoot(host.root).boot_id()

    after = host.reboot()

    assert after != before
    assert ProcBoot(host.root).boot_id() == after
    assert cutter.gpus.gpu_instances(cutter.uuid) == ()


def test_no_boot_id_comes_twice(machine) -> None:
    host = machine()
    ids = [ProcBoot(host.root).boot_id(), *(host.reboot() for _ in range(5))]

    assert len(set(ids)) == len(ids)


def test_no_uuid_comes_twice_over_reboots(cut, machine) -> None:
    cutter, host, uuids = cut(), machine(), []
    for _ in range(4):
        uuids.append(cutter.partition("1g.5gb", 0)[1])
        host.reboot()

    assert len(set(uuids)) == 4


def test_gpus_keep_their_identity_over_a_reboot(machine) -> None:
    host = machine("dgx-a100")
    before = host.gpus.gpus()

    host.reboot()

    assert host.gpus.gpus() == before
