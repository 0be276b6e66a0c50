"""The agent, which is not root, writes its files into a folder that the plugin made writable for it."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import needs
import pytest
from short_folders import short_folder

from agent.health.state import HealthState
from agent.health.state_file import StateFile
from agent.inventory.numbers.kept import KeptNumbers
from agent.inventory.numbers.number_file import NumberFile
from agent.inventory.numbers.numbering import GpusSeen
from plugin.base.folders import open_to_agent

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason=f"needs {needs.ROOT}")
AGENT = 65532  # as in deploy/manifests/base/daemonset.yaml
A, B = "0000:01:00.0", "0000:02:00.0"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of root's, as the kubelet makes it for a volume."""
    with short_folder() as name:
        os.chmod(name, 0o755)
        made = Path(name) / "gpu-numbers"
        made.mkdir(mode=0o755)
        yield made


def as_agent(do: Callable[[], None]) -> None:
    """Do something as the agent's user, in a process that cannot become root again."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups([])
            os.setresgid(AGENT, AGENT, AGENT)
            os.setresuid(AGENT, AGENT, AGENT)
            do()
            status = 0
        except BaseException:  # noqa: BLE001 - the parent learns of it by the status alone
            traceback.print_exc()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class Program:
    """A program that numbers GPUs, and what it tells of the Node."""

    def __init__(self, folder: Path) -> None:
        self.told: list[str] = []
        self.numbers = KeptNumbers(
            NumberFile(folder, "n"), lambda: (), lambda reason, _: self.told.append(reason)
        )

    def sees(self, *addresses: str) -> dict[str, int]:
        return dict(self.numbers(GpusSeen(frozenset(addresses))))


def test_the_agent_keeps_the_numbers_of_gpus_that_it_sees_first(folder: Path) -> None:
    open_to_agent(folder)

    def first() -> None:
        agent = Program(folder)
        assert agent.sees(A) == {A: 0}
        assert agent.sees(A, B) == {A: 0, B: 1}
        assert agent.told == []

    as_agent(first)

    assert NumberFile(folder, "n").read() == {A: 0, B: 1}
    assert Program(folder).sees(A, B) == {A: 0, B: 1}


def test_the_plugin_writes_over_what_the_agent_wrote(folder: Path) -> None:
    open_to_agent(folder)

    def sees() -> None:
        Program(folder).sees(A)

    as_agent(sees)

    plugin = Program(folder)

    assert plugin.sees(A, B) == {A: 0, B: 1}
    assert NumberFile(folder, "n").read() == {A: 0, B: 1}
    assert [path.name for path in folder.iterdir()] == ["n.json"]


def test_where_the_plugin_owns_the_file_the_agent_numbers_as_it_would_and_tells_only_if_nobody_writes(
    folder: Path,
) -> None:
    open_to_agent(folder)
    Program(folder).sees(A)

    def sees_another() -> None:
        agent = Program(folder)
        assert agent.sees(A, B) == {A: 0, B: 1}
        assert agent.told == []
        assert agent.sees(A, B) == {A: 0, B: 1}
        assert agent.told == ["GpuNumbersNotKept"]

    as_agent(sees_another)

    assert Program(folder).sees(A, B) == {A: 0, B: 1}


def test_in_a_folder_that_nobody_opened_the_numbers_are_used_and_it_is_told(folder: Path) -> None:
    def sees() -> None:
        agent = Program(folder)
        assert [agent.sees(A) for _ in range(3)] == [{A: 0}] * 3
        assert agent.told == ["GpuNumbersNotKept"]

    as_agent(sees)

    assert list(folder.iterdir()) == []


def test_the_agent_keeps_the_health_of_devices(folder: Path) -> None:
    open_to_agent(folder)

    as_agent(lambda: StateFile(folder, "n").replace(HealthState("boot-1")))

    assert StateFile(folder, "n").read() == HealthState("boot-1")
