"""A program that does one deed with a claim and kills itself at a step of it."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import devices_of_kinds
import pytest
from devices_of_kinds import example_of
from kept_descriptions import describe_once
from short_folders import short_folder

from plugin.kinds.table import AnyKind
from plugin.machine import node

PROGRAM = Path(__file__).parent / "programs" / "dying_driver.py"
FAKES = str(Path(devices_of_kinds.__file__).parents[1])
Dies = Callable[[str, AnyKind, int], str]


@pytest.fixture(autouse=True)
def descriptions_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Describe equal nodes once: these tests start the plugin again and again on the same few."""
    monkeypatch.setattr(node, "describe", describe_once)


@dataclass
class CleanMachines:
    """Machines on which a test left nothing: the next test of that node goes on there.

    Making one takes longer than what most tests do with it.
    """

    root: Path
    by_node: dict[str, Path] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def take(self, node: str) -> Path:
        """Return the folder of a machine, empty for a new one."""
        found = self.by_node.pop(node, None)
        if found is None:
            found = self.root / str(next(self.numbers))
            found.mkdir()
        return found


@pytest.fixture(scope="session")
def clean_machines() -> Iterator[CleanMachines]:
    with short_folder() as name:
        yield CleanMachines(Path(name))


@pytest.fixture
def used_folder(clean_machines: CleanMachines, kind: AnyKind) -> Path:
    """A folder with a machine that has the example of the kind, or for a new one."""
    return clean_machines.take(example_of(kind).node)


@pytest.fixture
def bench_of_kind(
    clean_machines: CleanMachines, used_folder: Path, linked_bench_in: Callable[..., Any], kind: AnyKind
) -> Iterator[Any]:
    """The machine of the program: one that has the example of the kind."""
    name = example_of(kind).node
    found = linked_bench_in(used_folder, node=name)
    yield found
    if not (found.leftovers() or found.simulated.faults()):
        clean_machines.by_node[name] = used_folder


@pytest.fixture(scope="session")
def program() -> Iterator[subprocess.Popen[str]]:
    paths = [FAKES, *filter(None, [os.environ.get("PYTHONPATH")])]
    with subprocess.Popen(
        [sys.executable, PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    ) as running:
        yield running


@pytest.fixture
def dies(program: subprocess.Popen[str], folder: Path) -> Dies:
    """Do a deed that is killed at a step; return the step's name, empty where the deed had fewer steps."""

    def run(deed: str, kind: AnyKind, step: int) -> str:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(f"{folder} {deed} {type(kind).__name__} {step}\n")
        program.stdin.flush()
        status, _, name = program.stdout.readline().strip().partition(" ")
        assert int(status) in {0, -signal.SIGKILL}
        assert bool(name) == (status != "0")
        return name

    return run
