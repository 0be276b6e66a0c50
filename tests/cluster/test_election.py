"""Two processes share one Lease at a real API server: a frozen one writes nothing when it runs again."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cluster_support import eventually
from electing_writer import CONFIG_MAPS, LEASE, TIMES

from controller.lease_api import LEASES
from kube_api import KubeApi

pytestmark = pytest.mark.layout

Process = subprocess.Popen[str]
Start = Callable[[str], Process]
_PROGRAM = Path(__file__).parent / "support" / "electing_writer.py"


@pytest.fixture
def start(api: KubeApi, kubeconfig: Path, namespace: str) -> Iterator[Start]:
    """Start one more process of the election for a Lease that nobody holds."""
    spec = {"leaseDurationSeconds": round(TIMES.lease_s)}
    api.create(LEASES, {"metadata": {"name": LEASE}, "spec": spec}, namespace)
    started: list[Process] = []

    def run(name: str) -> Process:
        command = [sys.executable, str(_PROGRAM), str(kubeconfig), namespace, name]
        root = Path(__file__).parents[2]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root))
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.communicate(timeout=30)


def line_of(process: Process) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def writers(api: KubeApi, namespace: str) -> list[str]:
    """Return who wrote, in the order in which the server stored it, each once per row of writes."""
    found = [one for one in api.list(CONFIG_MAPS, namespace).items if "by" in one.document.get("data", {})]
    found.sort(key=lambda one: int(one.metadata.resource_version))
    names = [one.document["data"]["by"] for one in found]
    return [name for at, name in enumerate(names) if at == 0 or names[at - 1] != name]


def test_a_frozen_writer_with_a_write_in_hand_sends_nothing_when_it_runs_again(
    api: KubeApi, namespace: str, start: Start
) -> None:
    first = start("first")
    assert line_of(first) == "may write"
    second = start("second")
    eventually(lambda: writers(api, namespace) == ["first"], "the first process writes")

    first.send_signal(signal.SIGUSR1)  # it stops itself
    assert line_of(second) == "may write"
    eventually(lambda: writers(api, namespace) == ["first", "second"], "the second process writes")
    first.send_signal(signal.SIGCONT)

    told = {line_of(first), line_of(first)}
    assert told == {"withheld", "may not write"}
    assert writers(api, namespace) == ["first", "second"]


def test_a_process_that_ends_gives_way_at_once(api: KubeApi, namespace: str, start: Start) -> None:
    first = start("first")
    assert line_of(first) == "may write"
    second = start("second")
    eventually(lambda: writers(api, namespace) == ["first"], "the first process writes")

    first.terminate()
    assert first.wait(30) == 0

    assert line_of(second) == "may write"
    eventually(lambda: writers(api, namespace) == ["first", "second"], "the second process writes")
