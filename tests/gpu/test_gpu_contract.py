"""A real GPU keeps the reading half of the contract that the simulated ones keep."""

from __future__ import annotations

import pytest
from gpu_contract.reading import *  # noqa: F403

from agent.hardware.nvml import Nvml
from agent.hardware.types import Gpu, GpuUuid

pytestmark = pytest.mark.gpu


@pytest.fixture
def hardware(nvml: Nvml) -> Nvml:
    return nvml


@pytest.fixture
def uuid(gpus: tuple[Gpu, ...]) -> GpuUuid:
    return gpus[0].uuid
