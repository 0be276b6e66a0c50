"""The interval of time slicing by NVIDIA's program: what it is told, and what its return codes mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.hardware.driver_root import DriverRoot
from agent.hardware.errors import (
    DriverMissing,
    GpuLost,
    HardwareError,
    HardwareFault,
    InvalidArgument,
    NoPermission,
    NotFound,
    NotSupported,
)
from agent.hardware.nvidia_smi import NvidiaSmi
from agent.hardware.types import GpuUuid, TimeSlice

GPU = GpuUuid("GPU-0f1e2d3c-0000-4000-8000-00000000abcd")


def program(root: Path, status: int = 0) -> NvidiaSmi:
    """A program that writes down what it is told, and ends with a status."""
    path = root / "usr/bin/nvidia-smi"
    path.parent.mkdir(parents=True)
    path.write_text(f'#!/bin/sh\necho "$@" >> {root}/told\necho some words\nexit {status}\n')
    path.chmod(0o755)
    return NvidiaSmi(DriverRoot(root))


@pytest.mark.parametrize("interval", TimeSlice)
def test_the_program_is_told_the_gpu_and_the_number_of_the_interval(
    tmp_path: Path, interval: TimeSlice
) -> None:
    program(tmp_path).set_time_slice(GPU, interval)

    number = ["DEFAULT", "SHORT", "MEDIUM", "LONG"].index(interval.name)
    assert (tmp_path / "told").read_text() == f"compute-policy -i {GPU} --set-timeslice {number}\n"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (2, InvalidArgument),
        (3, NotSupported),
        (4, NoPermission),
        (6, NotFound),
        (9, DriverMissing),
        (12, DriverMissing),
        (15, GpuLost),
        (255, HardwareFault),
    ],
)
def test_a_refusal_is_the_error_of_its_return_code_with_the_programs_words(
    tmp_path: Path, status: int, error: type[HardwareError]
) -> None:
    with pytest.raises(error, match=r"set the interval of time slicing to Short.*some words") as refused:
        program(tmp_path, status).set_time_slice(GPU, TimeSlice.SHORT)

    assert type(refused.value) is error


def test_without_the_program_the_operator_is_told_to_install_it(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"nvidia-smi.*the operator must install the driver's programs"):
        NvidiaSmi(DriverRoot(tmp_path)).set_time_slice(GPU, TimeSlice.SHORT)
