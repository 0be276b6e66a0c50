"""What is recorded of a machine describes the same machine."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from agent.hardware.simulated import NodeFile, SimulatedMachine, load_node, parse_node, shipped_nodes
from agent.hardware.simulated.recording.recorder import Recorder
from agent.hardware.sysfs import Sysfs
from agent.hardware.types import MigSpec


def facts(node: NodeFile) -> dict[str, object]:
    """All that a node file says of a machine, but for its name, its summary and the order of its parts."""
    document = node.document
    return {
        "driver": document.driver,
        "passthrough": document.passthrough,
        "numa": document.numa,
        "bridges": {(site.folder, site.port_type, site.numa_node) for site in node.bridges},
        "gpus": {
            (card.site.folder, card.site.numa_node, card.minor, card.uuid): card.model for card in node.cards
        },
        "cut": {card.uuid: (card.form.mig, card.form.instances) for card in node.cards},
        "nics": {
            (nic.site.folder, nic.site.numa_node, nic.form.link, nic.form.vfs, nic.form.total_vfs): nic.model
            for nic in node.nics
        },
        "vfs": {nic.vf_address(index) for nic in node.nics for index in range(nic.form.total_vfs)},
    }


def recorded(machine: SimulatedMachine, gpus) -> NodeFile:
    recorder = Recorder(Sysfs(machine.root))
    document = recorder.record("recorded", gpus)
    assert recorder.left_out == []
    return parse_node("recorded", yaml.safe_dump(document, sort_keys=False))


@pytest.mark.parametrize("name", shipped_nodes())
def test_a_recorded_machine_is_the_machine(name: str, nvml_over, tmp_path: Path) -> None:
    machine = SimulatedMachine.open(load_node(name), tmp_path)
    gpus = nvml_over(machine.gpus) if machine.node.document.driver else None

    record = recorded(machine, gpus)

    assert facts(record) == facts(machine.node)


def test_partitions_are_recorded_and_a_gi_without_a_ci_is_not(nvml_over, tmp_path: Path) -> None:
    machine = SimulatedMachine.open(load_node("a100x2"), tmp_path)
    gpus, uuid = nvml_over(machine.gpus), machine.node.cards[0].uuid
    (profile,) = (profile for profile in gpus.profiles(uuid) if profile.name == "1g.5gb")
    gpus.set_mig_mode(uuid, True)
    for at in (2, 4):
        gi_id = gpus.create_gpu_instance(MigSpec(uuid, profile.profile_id, profile.placements[at]))
    gpus.create_compute_instance(uuid, gi_id)

    card, uncut = recorded(machine, gpus).cards

    assert card.form.mig
    assert [(instance.profile, instance.start) for instance in card.form.instances] == [("1g.5gb", 4)]
    assert not uncut.form.mig


def test_what_a_node_file_cannot_say_is_left_out_by_name(tree) -> None:
    tree.function("pci0000:00/0000:00:03.0", vendor="0x1af4", device="0x1041")
    odd = "pci0000:00/0000:00:05.0/0000:01:00.0/0000:02:00.0"
    tree.bridges(odd, None, None)
    tree.function(odd, device="0x101d")
    tree.netdev("eth1", odd)
    recorder = Recorder(tree.sysfs)

    document = recorder.record("recorded", None)

    assert document["pci"] == []
    assert recorder.left_out == [
        "NIC 0000:00:03.0: 1af4:1041 with link type None",
        "nic 0000:02:00.0: a node file cannot tell what is above it, "
        "pci0000:00 > 0000:00:05.0 > 0000:01:00.0",
    ]
