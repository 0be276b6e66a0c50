"""Who holds a GPU: real processes with real files open, by name and number, and which of them are ours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from short_folders import short_folder

from agent.hardware.clients import open_files
from agent.hardware.clients.adapter import ProcClients
from agent.hardware.clients.ports import Client, SeenClients
from agent.hardware.errors import GpuLost, NotFound
from agent.hardware.types import DeviceNode, GpuUuid

GPU = GpuUuid("GPU-1")
CLIENT = """
import sys
from pathlib import Path

opened = [open(path) for path in sys.argv[2:]]
Path("/proc/self/comm").write_bytes(bytes.fromhex(sys.argv[1]))
print("holds", flush=True)
sys.stdin.read()
"""


@dataclass
class Driver:
    """What NVML lists, and where the device node of the one GPU is."""

    node: Path
    running: list[int] = field(default_factory=list)
    is_lost: bool = False

    def processes(self, gpu: GpuUuid) -> tuple[int, ...]:
        if self.is_lost:
            raise GpuLost("list processes", f"GPU {gpu}", "the GPU fell off the bus")
        return tuple(self.running)

    def minor(self, gpu: GpuUuid) -> int:
        return 0

    def gpu_nodes(self, minor: int) -> tuple[DeviceNode, ...]:
        if not self.node.exists():
            raise NotFound("find", str(self.node), "it does not exist")
        return (DeviceNode("/dev/nvidia0", self.node),)

    @property
    def clients(self) -> ProcClients:
        return ProcClients(cast(Any, self), cast(Any, self))

    def found(self) -> tuple[Client, ...]:
        return self.clients.of(GPU).found


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    node = tmp_path / "dev/nvidia0"
    node.parent.mkdir()
    node.touch()
    return Driver(node)


@pytest.fixture
def started() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start processes that have files open, under names of their own, until the test ends."""
    with ExitStack() as running:

        def start(name: str | bytes, *paths: Path) -> subprocess.Popen[str]:
            text = name.encode() if isinstance(name, str) else name
            command = [sys.executable, "-c", CLIENT, text.hex(), *map(str, paths)]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            running.enter_context(process)
            running.callback(process.kill)
            assert process.stdout is not None
            assert process.stdout.readline() == "holds\n"
            return process

        yield start


Started = Callable[..., subprocess.Popen[str]]


def test_who_has_the_device_node_open_is_named(driver: Driver, started: Started) -> None:
    monitor = started("dcgm", driver.node)

    (found,) = driver.found()

    assert (found.pid, found.name, found.steps_aside) == (monitor.pid, "dcgm", False)
    assert str(found) == f"dcgm ({monitor.pid})"


def test_who_runs_on_the_gpu_is_named_whatever_it_has_open(driver: Driver, started: Started) -> None:
    program = started("python3")
    driver.running.append(program.pid)

    assert [str(one) for one in driver.found()] == [f"python3 ({program.pid})"]


def test_a_monitor_that_has_the_gpu_open_does_not_run_on_it(driver: Driver, started: Started) -> None:
    started("dcgm", driver.node)
    program = started("python3", driver.node)
    driver.running.append(program.pid)

    (running,) = driver.clients.running_on(GPU).found

    assert (running.pid, running.parent) == (program.pid, os.getpid())


def test_what_runs_on_a_gpu_that_cannot_be_asked_is_unknown(driver: Driver, started: Started) -> None:
    driver.running.append(started("python3", driver.node).pid)
    driver.is_lost = True

    assert driver.clients.running_on(GPU) == SeenClients((), is_complete=False)


def test_who_has_another_file_of_that_name_open_is_no_client(
    driver: Driver, started: Started, tmp_path: Path
) -> None:
    (tmp_path / "nvidia0").touch()
    started("other", tmp_path / "nvidia0")

    assert driver.found() == ()


def test_the_node_that_a_container_has_of_the_same_device_counts(
    driver: Driver, started: Started, tmp_path: Path
) -> None:
    inside = tmp_path / "container/nvidia0"
    inside.parent.mkdir()
    driver.node.unlink()
    try:
        for node in (driver.node, inside):
            os.mknod(node, 0o20666, os.stat("/dev/fuse").st_rdev)
        open(inside, "rb").close()
    except OSError as error:
        pytest.skip(f"device nodes cannot be made or opened here: {error}")
    container = started("train", inside)

    assert [one.pid for one in driver.found()] == [container.pid]


def test_a_process_that_ended_is_no_client(driver: Driver, started: Started) -> None:
    before = started("short", driver.node)
    (client,) = driver.found()
    assert driver.clients.is_there(client)

    before.kill()
    before.wait()

    assert driver.found() == ()
    assert not driver.clients.is_there(client)


def test_a_process_that_ended_and_was_not_collected_yet_holds_nothing(
    driver: Driver, started: Started
) -> None:
    before = started("short", driver.node)
    (client,) = driver.found()

    before.kill()
    os.waitid(os.P_PID, before.pid, os.WEXITED | os.WNOWAIT)  # it is a zombie now

    assert not driver.clients.is_there(client)


def test_a_process_that_only_nvml_sees_is_told_by_its_number(driver: Driver) -> None:
    gone = 2**22 + 1  # more than the kernel gives
    driver.running.append(gone)

    assert [str(one) for one in driver.found()] == [f"process {gone}"]


def test_a_name_cannot_break_a_message(driver: Driver, started: Started) -> None:
    started(b"a)b\n\xffc", driver.node)

    (found,) = driver.found()

    assert found.name.isprintable()
    assert found.name.startswith("a)b?")


def test_this_program_is_no_client_of_its_own_gpu(driver: Driver) -> None:
    with driver.node.open():
        assert driver.found() == ()


def test_a_process_that_only_has_the_name_of_ours_is_not_asked_to_step_aside(
    driver: Driver, started: Started
) -> None:
    pretender = started("tangram-nvml", driver.node)
    (found,) = driver.found()

    driver.clients.ask_to_step_aside(found)

    assert not found.steps_aside
    assert pretender.poll() is None
    assert [one.pid for one in driver.found()] == [pretender.pid]


def test_a_number_that_another_process_got_meanwhile_is_not_asked(driver: Driver, started: Started) -> None:
    bystander = started("python3", driver.node)

    driver.clients.ask_to_step_aside(Client(bystander.pid, "tangram-nvml", 1, steps_aside=True))

    assert [one.pid for one in driver.found()] == [bystander.pid]


@pytest.fixture
def proc(tmp_path: Path, driver: Driver) -> Path:
    """A procfs with one process, which has the device node and a socket open."""
    folder = tmp_path / "proc/812"
    (folder / "fd").mkdir(parents=True)
    (folder / "stat").write_text(f"812 (dcgm) S 1 {' '.join(['0'] * 17)} 4711 0\n")
    (folder / "fd/3").symlink_to(driver.node)
    (folder / "fd/4").symlink_to("socket:[4711]")
    (tmp_path / "proc/813").mkdir()  # it is ending
    (tmp_path / "proc/version").touch()
    return tmp_path / "proc"


def of_proc(driver: Driver, proc: Path) -> SeenClients:
    return ProcClients(cast(Any, driver), cast(Any, driver), proc).of(GPU)


def test_where_every_process_can_be_looked_at_the_list_is_complete(driver: Driver, proc: Path) -> None:
    assert of_proc(driver, proc) == SeenClients((Client(812, "dcgm", 4711),), is_complete=True)


@pytest.mark.parametrize("limit", ["too many", "lost", "no node", "no procfs", "unreadable"])
def test_what_cannot_be_looked_at_is_told(
    driver: Driver, proc: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    match limit:
        case "too many":
            monkeypatch.setattr(open_files, "_MOST_PROCESSES", 1)
        case "lost":
            driver.is_lost = True
        case "no node":
            driver.node.unlink()
        case "no procfs":
            proc = proc / "nowhere"
        case "unreadable":
            (proc / "813/fd").touch()  # no folder: an error that says nothing of an end

    assert not of_proc(driver, proc).is_complete


@given(
    texts=st.dictionaries(st.sampled_from(["stat", "cmdline", "comm"]), st.binary(max_size=80)),
    links=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1), max_size=3),
)
def test_whatever_procfs_says_nobody_fails(texts: dict[str, bytes], links: list[str]) -> None:
    with short_folder() as name:
        folder = Path(name) / "proc/812"
        (folder / "fd").mkdir(parents=True)
        for file, text in texts.items():
            (folder / file).write_bytes(text)
        for number, target in enumerate(links):
            (folder / f"fd/{number}").symlink_to(target)
        node = Path(name) / "nvidia0"
        node.touch()
        (folder / "fd/9").symlink_to(node)

        found = of_proc(Driver(node, running=[812]), folder.parent).found

    assert all(one.pid == 812 and one.name.isprintable() and not one.steps_aside for one in found)
