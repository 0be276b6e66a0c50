"""What is read of the GPU driver while the API server answers: used if it still holds, else read again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.hardware.types import Gpu
from plugin.machine.driver_parts import DriverParts, driver_parts
from plugin.machine.gpu_parts import GpuParts
from plugin.machine.parts import SharedParts

NOTHING = SharedParts((), ())


@pytest.fixture
def version(bench: Any) -> str:
    found: str = bench.machine.gpus.versions().driver
    return found


def parts(bench: Any, ahead: DriverParts | None) -> GpuParts:
    gpus = {gpu.uuid: gpu for gpu in bench.machine.gpus.gpus() if isinstance(gpu, Gpu)}
    return GpuParts(bench.machine, Path("/"), gpus, ahead)


def test_what_was_read_ahead_is_not_read_again(bench: Any, version: str) -> None:
    shared = parts(bench, DriverParts(version, NOTHING)).of_gpus([bench.uuid(0)]).shared

    assert shared == NOTHING


def test_what_was_read_ahead_of_another_driver_does_not_count(bench: Any, version: str) -> None:
    found = driver_parts(bench.machine.files, version, Path("/"))
    outdated = replace(found, version="1.0", shared=NOTHING)

    shared = parts(bench, outdated).of_gpus([bench.uuid(0)]).shared

    assert shared == found.shared
    assert shared != NOTHING
