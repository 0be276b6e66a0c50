"""What the tests of ``tangram`` share: the command run in this process, and a machine in a directory."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from agent.hardware.simulated import SimulatedMachine, load_node
from tangram.__main__ import main
from tangram.program.throwaway import throwaway_folder


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command said."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def devices(self) -> list[str]:
        """The devices that the first claim got."""
        results = self.json["claims"][0]["status"]["allocation"]["devices"]["results"]
        return [result["device"] for result in results]


@pytest.fixture
def tangram(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """Run the command with arguments and return what it said."""
    for name in ("COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str | os.PathLike[str]) -> Answer:
        capfd.readouterr()
        status = main([os.fspath(argument) for argument in arguments])
        return Answer(status, *capfd.readouterr())

    return run


@pytest.fixture
def examples() -> Path:
    """Return the folder of the examples."""
    return Path(__file__).parents[2] / "deploy" / "examples"


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write a file and return its path."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def case_file(written: Callable[[str, str], Path]) -> Callable[[str, Any], Path]:
    """Write cases to a file."""
    return lambda name, content: written(name, json.dumps(content))


@pytest.fixture
def machine(tmp_path: Path) -> SimulatedMachine:
    """Return a simulated machine with two A100, in a directory of its own."""
    return SimulatedMachine.open(load_node("a100x2"), tmp_path / "machine")


@pytest.fixture(scope="session")
def shipped() -> Iterator[Callable[[str], Path]]:
    """Give the directory of a shipped machine, made once for all tests that only look at it."""
    with throwaway_folder() as folder:

        @cache
        def directory(name: str) -> Path:
            SimulatedMachine.open(load_node(name), folder / name)
            return folder / name

        yield directory
