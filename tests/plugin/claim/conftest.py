"""A program that does one deed with a claim and kills itself at a step of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import devices_of_kinds
import pytest

from plugin.kinds.table import AnyKind

PROGRAM = Path(__file__).parent / "programs" / "dying_driver.py"
FAKES = str(Path(devices_of_kinds.__file__).parents[1])
Dies = Callable[[str, AnyKind, int], bool]


@pytest.fixture(scope="module")
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
    """Do a deed that is killed at a step; say whether it was, or had come to its end before."""

    def run(deed: str, kind: AnyKind, step: int) -> bool:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(f"{folder} {deed} {type(kind).__name__} {step}\n")
        program.stdin.flush()
        status = int(program.stdout.readline())
        assert status in {0, -signal.SIGKILL}
        return status != 0

    return run
