"""NVML's return codes become our refusals in one place."""

from __future__ import annotations

import pynvml
import pytest

from agent.hardware import errors
from agent.hardware.driver.nvml_rules import NvmlCode, refusal
from agent.hardware.nvml import Nvml
from agent.hardware.nvml.calls import call

KINDS = {
    pynvml.NVML_ERROR_UNINITIALIZED: errors.HardwareFault,
    pynvml.NVML_ERROR_INVALID_ARGUMENT: errors.InvalidArgument,
    pynvml.NVML_ERROR_NOT_SUPPORTED: errors.NotSupported,
    pynvml.NVML_ERROR_NO_PERMISSION: errors.NoPermission,
    pynvml.NVML_ERROR_ALREADY_INITIALIZED: errors.HardwareFault,
    pynvml.NVML_ERROR_NOT_FOUND: errors.NotFound,
    pynvml.NVML_ERROR_INSUFFICIENT_SIZE: errors.InvalidArgument,
    pynvml.NVML_ERROR_INSUFFICIENT_POWER: errors.HardwareFault,
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: errors.DriverMissing,
    pynvml.NVML_ERROR_TIMEOUT: errors.TimedOut,
    pynvml.NVML_ERROR_IRQ_ISSUE: errors.HardwareFault,
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: errors.LibraryMissing,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: errors.NotSupported,
    pynvml.NVML_ERROR_CORRUPTED_INFOROM: errors.HardwareFault,
    pynvml.NVML_ERROR_GPU_IS_LOST: errors.GpuLost,
    pynvml.NVML_ERROR_RESET_REQUIRED: errors.ResetRequired,
    pynvml.NVML_ERROR_OPERATING_SYSTEM: errors.NoPermission,
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: errors.DriverMissing,
    pynvml.NVML_ERROR_IN_USE: errors.InUse,
    pynvml.NVML_ERROR_MEMORY: errors.HardwareFault,
    pynvml.NVML_ERROR_INSUFFICIENT_RESOURCES: errors.InsufficientResources,
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH: errors.InvalidArgument,
    pynvml.NVML_ERROR_DEPRECATED: errors.NotSupported,
    pynvml.NVML_ERROR_NOT_READY: errors.TimedOut,
    pynvml.NVML_ERROR_GPU_NOT_FOUND: errors.NotFound,
    pynvml.NVML_ERROR_INVALID_STATE: errors.HardwareFault,
    pynvml.NVML_ERROR_UNKNOWN: errors.HardwareFault,
    4711: errors.HardwareFault,
}


class Answers:
    """A library whose every function answers one code."""

    def __init__(self, code: int) -> None:
        self._code = code

    def __getattr__(self, name: str):
        return lambda *arguments: self._code


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch):
    def stand_in(library: object) -> None:
        monkeypatch.setattr(pynvml, "nvmlLib", library)
        pynvml._nvmlGetFunctionPointer_cache.clear()

    yield stand_in
    pynvml._nvmlGetFunctionPointer_cache.clear()


def test_the_codes_are_those_of_nvidia_s_library() -> None:
    known = {
        name.removeprefix("NVML_ERROR_"): code
        for name, code in vars(pynvml).items()
        if name.startswith("NVML_ERROR_")
    }

    assert {code.name: code.value for code in NvmlCode} == known


@pytest.mark.parametrize(("code", "kind"), KINDS.items())
def test_each_code_becomes_the_refusal_of_who_must_act(library, code: int, kind: type) -> None:
    library(Answers(code))

    with pytest.raises(errors.HardwareError) as caught:
        call("count GPUs", "this node", pynvml.nvmlDeviceGetCount)

    assert type(caught.value) is kind
    assert isinstance(caught.value.__cause__, pynvml.NVMLError)


def test_a_refusal_says_what_was_tried_on_what_why_and_who_acts() -> None:
    error = refusal("destroy", "GI 3 of GPU GPU-1", pynvml.NVML_ERROR_IN_USE)

    assert str(error) == (
        "destroy on GI 3 of GPU GPU-1 failed: NVML answered IN_USE (19); "
        "it is retried; if it persists, find the process that uses it"
    )


def test_a_library_and_a_kernel_module_that_differ_have_their_own_remedy() -> None:
    error = refusal("initialise", "NVML", pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH)

    assert "reboot the node or reload the driver" in str(error)


def test_a_function_that_the_library_lacks_asks_for_a_newer_driver(library) -> None:
    library(object())

    with pytest.raises(errors.NotSupported, match="newer driver"):
        call("count GPUs", "this node", pynvml.nvmlDeviceGetCount)


def test_a_node_without_the_driver_library_is_a_missing_driver(monkeypatch, library) -> None:
    def no_library(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    library(None)
    monkeypatch.setattr(pynvml, "CDLL", no_library)

    with pytest.raises(errors.DriverMissing, match="LIBRARY_NOT_FOUND"):
        Nvml.open()


def test_a_node_with_the_library_and_no_kernel_module_is_a_missing_driver(library) -> None:
    library(Answers(pynvml.NVML_ERROR_DRIVER_NOT_LOADED))

    with pytest.raises(errors.DriverMissing, match="install or load the driver"):
        Nvml.open()
