"""NVML's return codes, the error that each becomes, and its older forms. Pure: simulated drivers use it, too.

Source: nvml.h, nvmlReturn_t.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import IntEnum
from typing import Final, TypeVar

from agent.hardware.errors import (
    DriverMissing,
    GpuLost,
    HardwareError,
    HardwareFault,
    InsufficientResources,
    InUse,
    InvalidArgument,
    LibraryMissing,
    NoPermission,
    NotFound,
    NotSupported,
    ResetRequired,
    TimedOut,
)

_Answer = TypeVar("_Answer")


class NvmlCode(IntEnum):
    """A return code that is not SUCCESS."""

    UNINITIALIZED = 1
    INVALID_ARGUMENT = 2
    NOT_SUPPORTED = 3
    NO_PERMISSION = 4
    ALREADY_INITIALIZED = 5
    NOT_FOUND = 6
    INSUFFICIENT_SIZE = 7
    INSUFFICIENT_POWER = 8
    DRIVER_NOT_LOADED = 9
    TIMEOUT = 10
    IRQ_ISSUE = 11
    LIBRARY_NOT_FOUND = 12
    FUNCTION_NOT_FOUND = 13
    CORRUPTED_INFOROM = 14
    GPU_IS_LOST = 15
    RESET_REQUIRED = 16
    OPERATING_SYSTEM = 17
    LIB_RM_VERSION_MISMATCH = 18
    IN_USE = 19
    MEMORY = 20
    NO_DATA = 21
    VGPU_ECC_NOT_SUPPORTED = 22
    INSUFFICIENT_RESOURCES = 23
    FREQ_NOT_SUPPORTED = 24
    ARGUMENT_VERSION_MISMATCH = 25
    DEPRECATED = 26
    NOT_READY = 27
    GPU_NOT_FOUND = 28
    INVALID_STATE = 29
    RESET_TYPE_NOT_SUPPORTED = 30
    UNKNOWN = 999


_REFUSALS: Final[dict[int, type[HardwareError]]] = {
    NvmlCode.INVALID_ARGUMENT: InvalidArgument,
    NvmlCode.NOT_SUPPORTED: NotSupported,
    NvmlCode.NO_PERMISSION: NoPermission,
    NvmlCode.NOT_FOUND: NotFound,
    NvmlCode.INSUFFICIENT_SIZE: InvalidArgument,
    NvmlCode.DRIVER_NOT_LOADED: DriverMissing,
    NvmlCode.TIMEOUT: TimedOut,
    NvmlCode.LIBRARY_NOT_FOUND: LibraryMissing,
    NvmlCode.FUNCTION_NOT_FOUND: NotSupported,
    NvmlCode.GPU_IS_LOST: GpuLost,
    NvmlCode.RESET_REQUIRED: ResetRequired,
    NvmlCode.OPERATING_SYSTEM: NoPermission,
    NvmlCode.LIB_RM_VERSION_MISMATCH: DriverMissing,
    NvmlCode.IN_USE: InUse,
    NvmlCode.INSUFFICIENT_RESOURCES: InsufficientResources,
    NvmlCode.ARGUMENT_VERSION_MISMATCH: InvalidArgument,
    NvmlCode.DEPRECATED: NotSupported,
    NvmlCode.NOT_READY: TimedOut,
    NvmlCode.GPU_NOT_FOUND: NotFound,
}

_REMEDIES: Final[dict[int, str]] = {
    NvmlCode.FUNCTION_NOT_FOUND: "the operator must install a newer driver",
    NvmlCode.LIB_RM_VERSION_MISMATCH: (
        "it is looked at again; if it stays so, the operator must reboot the node or reload the driver: "
        "its library and its kernel module differ"
    ),
}

_NAMES: Final[dict[int, str]] = {code.value: code.name for code in NvmlCode}


def refusal(attempted: str, subject: str, code: int, function: str = "") -> HardwareError:
    """Return the error for a return code; a code without a class of its own is a ``HardwareFault``.

    Shape: ``function`` the name of the function that answered, empty if ``attempted`` says enough.
    """
    kind = _REFUSALS.get(code, HardwareFault)
    reason = f"NVML answered {_NAMES.get(code, 'an unknown code')} ({code})"
    return kind(attempted, subject, f"{reason} to {function}" if function else reason, _REMEDIES.get(code))


def newest_form(*forms: Callable[[], _Answer]) -> _Answer:
    """Return what the newest form of a query answers, of those that the driver has.

    A driver that lacks a form answers FUNCTION_NOT_FOUND or NOT_SUPPORTED; one that has it with another
    record answers ARGUMENT_VERSION_MISMATCH or INVALID_ARGUMENT. None of these says anything of the GPU.
    Raises: what the last form raises; at once what no other form would answer.
    """
    *newer, last = forms
    for form in newer:
        try:
            return form()
        except (NotSupported, InvalidArgument):
            continue
    return last()


def has_longer_process_records(driver_version: str) -> bool:
    """Whether the newest process lists of a driver have records of another size, under the same name.

    So have 535.43 to 535.86: every number after the first would be one of no process.
    Source: XuehaiPan/nvitop, pull request 79.
    """
    numbers = re.match(r"(\d{1,9})\.(\d{1,9})", driver_version)
    return numbers is not None and (535, 43) <= (int(numbers[1]), int(numbers[2])) < (535, 98)
