"""NICs that read GPU memory directly: they and the GPUs below the same switch say so alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory.describe import describe
from agent.inventory.discover import discover
from agent.inventory.model import NodeDevices
from scheduler_core.model.device import QualifiedName

SWITCH, FUNCTION, NIC = "0000:90:00.0", "0000:92:00.0", "0000:19:00.0"
BELOW_A_SWITCH = f"""
- root_complex: pci0000:8f
  numa_node: 1
  root_ports:
  - port: "0000:8f:02.0"
    below:
    - kind: switch
      upstream: "{SWITCH}"
      downstream:
      - port: "0000:91:00.0"
        below:
        - {{kind: data-direct, bdf: "{FUNCTION}", nic: "{NIC}"}}
      - port: "0000:91:01.0"
        below:
        - {{kind: gpu, bdf: "0000:93:00.0", model: a30-24gb, minor: 4,
           uuid: GPU-00000000-4a7d-5e72-8b82-0c279e3d47e1}}
"""
ADDRESS, SCOPE = (QualifiedName(f"tangram.dev/dataDirect{name}") for name in ("PciAddress", "Switch"))


def devices_of(file: str, folder: Path) -> NodeDevices:
    readers: Any = simulated_hardware(SimulatedMachine.open(load_node(file), folder)).readers
    return describe(discover(readers, "n"), "tangram.dev")


@pytest.fixture
def found(tmp_path: Path) -> NodeDevices:
    """A node with a NIC whose data-direct function lies below the switch of the fifth GPU."""
    text = load_node("a30x4").text.replace("connectx-6-dx", "connectx-8") + BELOW_A_SWITCH
    file = tmp_path / "direct.yaml"
    file.write_text(text)
    return devices_of(str(file), tmp_path / "machine")


def said(found: NodeDevices, name: QualifiedName) -> dict[str, object]:
    return {one.name: one.attributes[name] for one in found.pool.devices if name in one.attributes}


def test_the_nic_and_its_vfs_tell_the_address_of_the_function(found: NodeDevices) -> None:
    nic = "nic-0000-19-00-0"

    assert said(found, ADDRESS) == {name: FUNCTION for name in (nic, f"{nic}-vf-0", f"{nic}-vf-1")}


def test_the_gpu_below_its_switch_and_all_its_partitions_have_the_nic_s_switch(found: NodeDevices) -> None:
    holders = said(found, SCOPE)
    gpu = {name for name in found.by_name if name == "gpu-4" or name.startswith("gpu-4-")}

    assert set(holders.values()) == {SWITCH}
    assert set(holders) == gpu | set(said(found, ADDRESS))
    assert len(gpu) > 1


def test_a_node_without_one_publishes_what_it_did(tmp_path: Path) -> None:
    found = devices_of("a30x4", tmp_path / "machine")

    assert (said(found, ADDRESS), said(found, SCOPE)) == ({}, {})
