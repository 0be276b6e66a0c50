"""What tells that the machine has changed."""

from __future__ import annotations

import threading
from queue import SimpleQueue

import pytest

from agent.hardware.simulated import Lost, SimulatedMachine, load_node
from agent.hardware.simulated.state_changes import StateChanges
from agent.hardware.uevents import is_news


@pytest.fixture
def listening():
    stop, threads = threading.Event(), []

    def start(machine_events):
        heard = SimpleQueue()
        threads.append(threading.Thread(target=machine_events.listen, args=(heard.put, stop)))
        threads[-1].start()
        heard.get(timeout=30)
        return heard

    yield start
    stop.set()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


def test_every_change_of_a_simulated_machine_is_heard(tmp_path, listening):
    machine = SimulatedMachine.open(load_node("a100x2"), tmp_path)
    heard = listening(StateChanges(tmp_path, poll_s=0.01))

    for change in (lambda: machine.inject(Lost(1)), machine.clear_faults):
        change()
        assert heard.get(timeout=30)


def test_a_tree_that_follows_its_machines_state_late_is_heard_of(tmp_path, listening):
    SimulatedMachine.open(load_node("a100x2"), tmp_path)
    rendered = tmp_path / "rendered"
    whole = rendered.read_bytes()
    heard = listening(StateChanges(tmp_path, poll_s=0.01))

    rendered.write_bytes(whole[::-1])  # as a change does last, however long after the state file

    assert heard.get(timeout=30)


def test_a_machine_whose_folder_vanishes_is_heard_of_too(tmp_path, listening):
    SimulatedMachine.open(load_node("a100x2"), tmp_path)
    heard = listening(StateChanges(tmp_path, poll_s=0.01))

    (tmp_path / "machine.json").unlink()

    assert heard.get(timeout=30)


@pytest.mark.parametrize(
    ("subsystem", "path"),
    [
        ("pci", "/devices/pci0000:00/0000:00:01.0/0000:07:00.0"),
        ("net", "/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/net/ens1f0"),
        ("module", "/module/nvidia"),
        ("module", "/module/mlx5_core"),
        ("module", "/module/vfio_pci"),
    ],
)
def test_devices_that_can_be_ours_are_news(subsystem, path):
    assert is_news(subsystem, path)


@pytest.mark.parametrize(
    ("subsystem", "path"), [("net", "/devices/virtual/net/veth12ab"), ("module", "/module/xfs")]
)
def test_what_pods_and_other_drivers_make_is_not(subsystem, path):
    assert not is_news(subsystem, path)
