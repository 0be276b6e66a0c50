"""On which machine, and as whose child, the daemon's program runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import needs
import pytest
from short_folders import ON_DISK

from agent.hardware.driver_root import DriverRoot
from agent.hardware.mps.adapter import MpsProgram
from agent.hardware.mps.launching import Launching
from agent.hardware.mps.ports import daemon_name
from agent.hardware.mps.shared_memory import MountedMemory
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node

PROGRAM = ["/usr/bin/nvidia-cuda-mps-control", "-d"]


def test_on_the_host_the_program_runs_as_it_is() -> None:
    launching = Launching()
    launching = replace(launching, host_root=Path("/"))

    assert launching.asking(PROGRAM) == PROGRAM


def test_from_a_container_the_program_runs_with_the_hosts_libraries(tmp_path: Path) -> None:
    launching = Launching(tmp_path)

    assert launching.asking(PROGRAM) == ["chroot", str(tmp_path), *PROGRAM]
    assert launching.starting("n", PROGRAM, {}, None) == ["chroot", str(tmp_path), *PROGRAM]
    assert launching.proc == Path("/proc")


def test_a_host_with_systemd_runs_the_daemon_as_a_service_that_outlives_the_container(
    tmp_path: Path,
) -> None:
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    launching = Launching(tmp_path)

    command = launching.starting("n", PROGRAM, {"A": "1", "B": "x y"}, None)

    inside = ["chroot", str(tmp_path)]
    assert command[:3] == [*inside, "systemd-run"]
    assert {"--unit=tangram-mps-n.service", "--property=Type=forking", "--collect"} <= set(command)
    assert command[-5:] == ["--setenv=A=1", "--setenv=B=x y", "--", *PROGRAM]
    assert launching.proc == tmp_path / "proc"
    assert launching.killing("n") == [
        *inside,
        *("systemctl", "kill", "--signal=SIGKILL", "tangram-mps-n.service"),
    ]


def test_a_driver_in_a_folder_of_its_own_is_run_with_its_own_libraries(tmp_path: Path) -> None:
    root = tmp_path / "run/nvidia/driver"
    (root / "usr/lib64").mkdir(parents=True)
    (root / "usr/bin").mkdir()
    (root / "usr/bin/nvidia-smi").touch()

    inside, in_host = DriverRoot.installed(Path("/run/nvidia/driver"), tmp_path), DriverRoot(tmp_path)

    assert inside.library_path == "/run/nvidia/driver/usr/lib64"
    assert inside.tool("nvidia-smi") == root / "usr/bin/nvidia-smi"
    assert inside.tool("nvidia-cuda-mps-control") is None
    assert in_host.library_path == ""


@pytest.fixture
def mounting() -> Iterator[MpsProgram]:
    """The daemons of a simulated machine, with common memory as a real machine has it."""
    with TemporaryDirectory(prefix="tg-", dir=ON_DISK) as folder:
        simulated = SimulatedMachine.open(load_node("a100x2"), Path(folder))
        plain = simulated_hardware(simulated).mps
        assert isinstance(plain, MpsProgram)
        yield replace(plain, memory=MountedMemory())


def test_a_daemon_has_the_memory_that_its_programs_get_and_not_the_hosts(mounting: MpsProgram) -> None:
    if not needs.may_unshare("--mount", "--propagation", "private"):
        needs.fail_or_skip(needs.PRIVILEGES)
    name = daemon_name("GPU-1")
    mounting.start_daemon(name, "GPU-1")
    folders = mounting.folders(name)
    (folders.shared_memory / "from-a-program").touch()
    pid = (folders.pipe / "nvidia-cuda-mps-control.pid").read_text().strip()

    seen = os.listdir(f"/proc/{pid}/root/dev/shm")

    assert os.path.ismount(folders.shared_memory)
    assert seen == ["from-a-program"]
    mounting.end_daemon(name)
    mounting.remove_folders(name)
    assert not folders.root.exists()
