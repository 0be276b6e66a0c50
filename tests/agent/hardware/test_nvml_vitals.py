"""Vitals that a model, a driver or a mode lacks are None, and keep no other from being read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pynvml
import pytest
from fake_nvml import FakeLibrary

from agent.hardware.errors import DriverMissing, GpuLost, ResetRequired, TimedOut
from agent.hardware.health.types import FabricState, GpuVitals, Recovery, Slowdown
from agent.hardware.nvml import Nvml
from agent.hardware.simulated import SimulatedMachine, load_node, parse_injected

ILL = (
    *("gpu-0:ecc=2", "gpu-0:remap-pending", "gpu-0:slowdown=hardware-thermal", "gpu-0:nvlink-down=3"),
    *("gpu-0:fabric=failed", "gpu-0:recovery=gpu-reset"),
)
LACKING = {
    "nvmlDeviceGetTotalEccErrors": {"uncorrectable_ecc": None},
    "nvmlDeviceGetRemappedRows": {"is_remap_pending": None, "has_remap_failed": None},
    "nvmlDeviceGetCurrentClocksEventReasons": {"slowdowns": frozenset()},
    "nvmlDeviceGetNvLinkState": {"links_active": (), "links_down": ()},
    "nvmlDeviceGetGpuFabricInfoV": {"fabric": None},
    "nvmlDeviceGetFieldValues": {"recovery": None},
}
OF_THE_GPU = {
    pynvml.NVML_ERROR_GPU_IS_LOST: GpuLost,
    pynvml.NVML_ERROR_RESET_REQUIRED: ResetRequired,
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: DriverMissing,
    pynvml.NVML_ERROR_TIMEOUT: TimedOut,
}


class Lacking(FakeLibrary):
    """A library without a function, or in which one refuses. Shape: ``code`` None for no function."""

    lacks = ""
    code: int | None = None

    def __getattribute__(self, name: str):
        if name.startswith("nvml") and name == self.lacks:
            if self.code is None:
                raise AttributeError(name)
            return lambda *_: self.code
        return super().__getattribute__(name)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> SimulatedMachine:
    return SimulatedMachine.open(load_node("hgx-h100"), tmp_path_factory.mktemp("hgx-h100"))


@pytest.fixture
def machine(made: SimulatedMachine) -> SimulatedMachine:
    """A machine whose first GPU is ill in every way."""
    made.clear_faults()
    made.inject(*(parse_injected(text) for text in ILL))
    return made


@pytest.fixture
def read(machine: SimulatedMachine, monkeypatch: pytest.MonkeyPatch) -> Callable[..., GpuVitals]:
    """Read the vitals of an ill GPU, one function of the library being as it is told."""

    def vitals(lacks: str = "", code: int | None = None, **more: object) -> GpuVitals:
        library = Lacking(machine.gpus)
        monkeypatch.setattr(pynvml, "nvmlLib", library)
        pynvml._nvmlGetFunctionPointer_cache.clear()
        with Nvml.open() as nvml:
            uuid = machine.node.cards[0].uuid
            nvml.minor(uuid)
            library.lacks, library.code = lacks, code
            for name, function in more.items():
                setattr(library, name, function)
            return nvml.vitals(uuid)

    return vitals


@pytest.mark.parametrize("code", [None, pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_UNKNOWN])
@pytest.mark.parametrize("function", LACKING)
def test_what_the_driver_does_not_tell_is_none_and_the_rest_is_read(read, function: str, code) -> None:
    whole = read()

    found = read(function, code, nvmlDeviceGetGpuFabricInfo=lambda *_: pynvml.NVML_ERROR_NOT_SUPPORTED)

    assert found == replace(whole, **LACKING[function])


@pytest.mark.parametrize("function", LACKING)
@pytest.mark.parametrize("code", OF_THE_GPU)
def test_what_concerns_the_whole_gpu_is_an_error(read, function: str, code: int) -> None:
    with pytest.raises(OF_THE_GPU[code]):
        read(function, code)


def test_an_older_driver_tells_of_clocks_by_the_former_name(read) -> None:
    found = read(
        "nvmlDeviceGetCurrentClocksEventReasons",
        nvmlDeviceGetCurrentClocksThrottleReasons=lambda _, reasons: (
            setattr(reasons._obj, "value", pynvml.nvmlClocksThrottleReasonHwPowerBrakeSlowdown) or 0
        ),
    )

    assert found.slowdowns == {Slowdown.HARDWARE_POWER_BRAKE}


def test_a_fabric_state_that_nobody_knows_is_none_and_an_unknown_recovery_is_other(machine, read) -> None:
    machine.inject(parse_injected("gpu-0:recovery=other"))

    assert read().recovery is Recovery.OTHER
    found = read(
        nvmlDeviceGetGpuFabricInfoV=lambda _, info: setattr(info._obj, "state", 77) or 0,
    )
    assert found.fabric is None


@pytest.mark.parametrize(
    ("mask", "state"),
    [
        (0, FabricState.COMPLETED),  # a driver that reports no health of the fabric
        (0x1AA, FabricState.COMPLETED),
        (0x1A9, FabricState.DEGRADED_BANDWIDTH),
        (0x199, FabricState.ROUTE_UNHEALTHY),  # and degraded bandwidth: the worse one is reported
        (0x49A, FabricState.MISCONFIGURED),
        (0x21AA, FabricState.COMPLETED),  # no partition is assigned, which is no fault
    ],
)
def test_a_joined_gpu_reports_the_worst_condition_of_its_fabric(read, machine, mask, state) -> None:
    machine.clear_faults()

    def answer(_, info) -> int:
        info._obj.state, info._obj.healthMask = pynvml.NVML_GPU_FABRIC_STATE_COMPLETED, mask
        return pynvml.NVML_SUCCESS

    assert read(nvmlDeviceGetGpuFabricInfoV=answer).fabric is state


def test_joining_the_fabric_failed_where_it_ended_with_another_code_than_success(read) -> None:
    assert read().fabric is FabricState.FAILED
