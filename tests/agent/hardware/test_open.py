"""Opening the machine that the options name."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from agent.hardware.driver_root import DriverRoot
from agent.hardware.errors import DriverMissing
from agent.hardware.machine_options import MachineOptions
from agent.hardware.open import ChosenMachine, SimulationError, simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node, parse_fault


@pytest.fixture
def simulated(tmp_path: Path) -> MachineOptions:
    return MachineOptions(simulated="a100x2", folder=tmp_path / "machine")


def test_choosing_a_simulated_machine_tells_its_name_and_makes_nothing(simulated: MachineOptions) -> None:
    chosen = ChosenMachine.of(simulated)

    assert chosen.node_name == load_node("a100x2").name
    assert simulated.folder is not None
    assert not simulated.folder.exists()


def test_an_unknown_simulated_machine_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match="nosuch"):
        ChosenMachine.of(MachineOptions(simulated="nosuch", folder=tmp_path / "machine"))

    assert not (tmp_path / "machine").exists()


def test_an_open_simulated_machine_has_the_gpus_and_nics_of_its_node_file(simulated: MachineOptions) -> None:
    node = load_node("a100x2")

    with ChosenMachine.of(simulated).opened() as machine:
        assert [gpu.uuid for gpu in machine.gpus.gpus()] == [card.uuid for card in node.cards]
        assert [nic.function.bdf for nic in machine.pci.nics()] == [nic.bdf for nic in node.nics]
        assert machine.boot.boot_id()


def test_two_programs_that_open_one_simulated_machine_see_the_same_hardware(
    simulated: MachineOptions,
) -> None:
    with ChosenMachine.of(simulated).opened() as one, ChosenMachine.of(simulated).opened() as other:
        (gpu, _) = one.gpus.gpus()
        one.gpus.set_mig_mode(gpu.uuid, True)

        assert other.gpus.mig_mode(gpu.uuid) == one.gpus.mig_mode(gpu.uuid)
        assert other.boot.boot_id() == one.boot.boot_id()


def test_a_change_of_a_simulated_machine_is_an_event(simulated: MachineOptions) -> None:
    chosen = ChosenMachine.of(simulated)
    assert simulated.folder is not None
    machine = SimulatedMachine.open(load_node("a100x2"), simulated.folder)
    heard: list[str] = []
    ended = threading.Event()

    def hear(what: str) -> None:
        heard.append(what)
        if len(heard) == 1:
            machine.inject(parse_fault("gpu-0:lost"))
        else:
            ended.set()

    (events,) = chosen.events()
    events.listen(hear, ended)

    assert len(heard) == 2


def test_a_host_below_a_mount_is_read_there_with_its_own_driver(tmp_path: Path) -> None:
    host = SimulatedMachine.open(load_node("a100x2"), tmp_path / "machine")
    library = DriverRoot(host.root).management_library()
    chosen = ChosenMachine.of(MachineOptions(host_root=host.root))

    with chosen.opened() as machine:
        assert machine.pci.nics() == simulated_hardware(host).pci.nics()
        with pytest.raises(DriverMissing, match=str(library)):  # a file of that name, but no library
            machine.gpus.gpus()

    assert chosen.node_name is None
