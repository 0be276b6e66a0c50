"""Processes that hold GPUs of a simulated machine: while they live, it refuses as NVML does."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent.hardware.errors import InUse
from agent.hardware.simulated import SimulatedMachine
from agent.hardware.types import ModeChange

CLIENT = """
import sys
from pathlib import Path
from agent.hardware.simulated import SimulatedMachine

machine = SimulatedMachine.attach(Path(sys.argv[1]))
with machine.client(machine.node.cards[int(sys.argv[2])].uuid):
    print("holds", flush=True)
    sys.stdin.read()
"""


@contextmanager
def client_of(machine: SimulatedMachine, index: int = 0) -> Iterator[subprocess.Popen[str]]:
    """A process that holds a GPU while the block runs."""
    command = [sys.executable, "-c", CLIENT, str(machine.directory), str(index)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "holds\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def host(machine: Callable[..., SimulatedMachine]) -> SimulatedMachine:
    return machine("a100x2")


def test_a_mode_cannot_change_while_a_process_holds_the_gpu(host: SimulatedMachine) -> None:
    first, second = (card.uuid for card in host.node.cards)

    with client_of(host) as process:
        assert host.gpus.processes(first) == (process.pid,)
        assert host.gpus.processes(second) == ()
        assert host.gpus.set_mig_mode(first, True) is ModeChange.PENDING_IN_USE
        assert host.gpus.set_mig_mode(second, True) is ModeChange.ACTIVE
        with pytest.raises(InUse):
            host.reset_gpu(first)

    assert host.gpus.processes(first) == ()
    assert host.gpus.set_mig_mode(first, True) is ModeChange.ACTIVE


def test_a_client_may_change_the_mode_itself(host: SimulatedMachine) -> None:
    uuid = host.node.cards[0].uuid

    with host.client(uuid):
        assert host.gpus.processes(uuid) == (os.getpid(),)
        assert host.gpus.set_mig_mode(uuid, True) is ModeChange.ACTIVE


def test_all_clients_are_listed_in_whatever_order_they_came_and_went(host: SimulatedMachine) -> None:
    uuid = host.node.cards[0].uuid

    with client_of(host) as one, client_of(host) as two, host.client(uuid), client_of(host, 1):
        with client_of(host) as three:
            pids = {os.getpid(), one.pid, two.pid, three.pid}
            assert host.gpus.processes(uuid) == tuple(sorted(pids))
        assert host.gpus.processes(uuid) == tuple(sorted(pids - {three.pid}))


def test_a_client_has_the_device_node_open(host: SimulatedMachine) -> None:
    with client_of(host, 1) as process:
        opened = {os.readlink(link) for link in Path(f"/proc/{process.pid}/fd").iterdir()}

    assert str(host.root / "dev/nvidia1") in opened


def test_after_a_reboot_no_process_of_before_holds_anything(host: SimulatedMachine) -> None:
    with host.client(host.node.cards[0].uuid):
        host.reboot()

        assert host.gpus.processes(host.node.cards[0].uuid) == ()


def test_a_gpu_that_does_not_exist_has_no_clients(host: SimulatedMachine) -> None:
    missing: Any = "GPU-00000000-0000-0000-0000-000000000000"

    with pytest.raises(Exception, match="has no such GPU"), host.client(missing):
        pass


@pytest.fixture
def no_umask() -> Iterator[None]:
    """Files get the modes that they are made with."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("no_umask")
def test_the_files_that_processes_lock_are_their_owners_alone_whatever_the_umask(
    machine: Callable[..., SimulatedMachine],
) -> None:
    host = machine("a100x2")

    with host.client(host.node.cards[0].uuid):
        modes = {name: stat.S_IMODE((host.directory / name).stat().st_mode) for name in ("lock", "clients")}

    assert modes == {"lock": 0o600, "clients": 0o600}
