"""The real adapters on this machine, where it has an NVIDIA GPU. Nothing here changes anything."""

from __future__ import annotations

from collections.abc import Iterator

import needs
import pytest

from agent.hardware.errors import DriverMissing
from agent.hardware.nvml import Nvml
from agent.hardware.types import Gpu, GpuUuid


@pytest.fixture(scope="session")
def nvml() -> Iterator[Nvml]:
    try:
        session = Nvml.open()
    except DriverMissing as error:
        pytest.skip(f"needs {needs.DRIVER} ({error.reason})")
    with session:
        yield session


@pytest.fixture(scope="session")
def gpus(nvml: Nvml) -> tuple[Gpu, ...]:
    found = tuple(gpu for gpu in nvml.gpus() if isinstance(gpu, Gpu))
    if not found:
        pytest.skip(f"needs {needs.DRIVER}")
    return found


@pytest.fixture
def hardware(nvml: Nvml) -> Nvml:
    """The adapter, under the name that the contract gives it."""
    return nvml


@pytest.fixture
def uuid(gpus: tuple[Gpu, ...]) -> GpuUuid:
    """A GPU of it."""
    return gpus[0].uuid
