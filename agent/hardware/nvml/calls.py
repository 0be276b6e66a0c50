"""The only module that sees NVML's return codes.

Takes a function of pynvml and its arguments; returns its result, or a ``HardwareError``. The caller decides
which errors are expected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pynvml

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

_REFUSALS: Final[dict[int, type[HardwareError]]] = {
    pynvml.NVML_ERROR_INVALID_ARGUMENT: InvalidArgument,
    pynvml.NVML_ERROR_NOT_SUPPORTED: NotSupported,
    pynvml.NVML_ERROR_NO_PERMISSION: NoPermission,
    pynvml.NVML_ERROR_NOT_FOUND: NotFound,
    pynvml.NVML_ERROR_INSUFFICIENT_SIZE: InvalidArgument,
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: DriverMissing,
    pynvml.NVML_ERROR_TIMEOUT: TimedOut,
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: LibraryMissing,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: NotSupported,
    pynvml.NVML_ERROR_GPU_IS_LOST: GpuLost,
    pynvml.NVML_ERROR_RESET_REQUIRED: ResetRequired,
    pynvml.NVML_ERROR_OPERATING_SYSTEM: NoPermission,
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: DriverMissing,
    pynvml.NVML_ERROR_IN_USE: InUse,
    pynvml.NVML_ERROR_INSUFFICIENT_RESOURCES: InsufficientResources,
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH: InvalidArgument,
    pynvml.NVML_ERROR_DEPRECATED: NotSupported,
    pynvml.NVML_ERROR_NOT_READY: TimedOut,
    pynvml.NVML_ERROR_GPU_NOT_FOUND: NotFound,
}

_REMEDIES: Final[dict[int, str]] = {
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: "the operator must install a newer driver",
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: (
        "it is looked at again; if it stays so, the operator must reboot the node or reload the driver: "
        "its library and its kernel module differ"
    ),
}

_NAMES: Final[dict[int, str]] = {
    code: name.removeprefix("NVML_ERROR_")
    for name, code in vars(pynvml).items()
    if name.startswith("NVML_ERROR_")
}

_MOST: Final = 1024
"""No node has as many GPUs, and no GPU as many instances or placements."""


def call(attempted: str, subject: str, function: Callable[..., Any], *arguments: object) -> Any:
    """Call a function of pynvml.

    Raises: HardwareError, as ``refusal`` says; HardwareFault where the answer is text that is no UTF-8.
    """
    try:
        return function(*arguments)
    except pynvml.NVMLError as error:
        raise refusal(attempted, subject, error.value) from error
    except UnicodeDecodeError as error:  # pynvml decodes every text
        reason = f"NVML answered text that is not UTF-8: byte {error.start}"
        raise HardwareFault(attempted, subject, reason) from error


def bounded(attempted: str, subject: str, count: int) -> int:
    """Return how many things NVML says there are. Raises: HardwareFault where no board has as many."""
    if count > _MOST:
        reason = f"NVML answered that there are {count}; more than {_MOST} are not believed"
        raise HardwareFault(attempted, subject, reason)
    return count


def refusal(attempted: str, subject: str, code: int) -> HardwareError:
    """Return the error for a return code; a code without a class of its own is a ``HardwareFault``.

    Source: nvml.h, nvmlReturn_t.
    """
    kind = _REFUSALS.get(code, HardwareFault)
    reason = f"NVML answered {_NAMES.get(code, 'an unknown code')} ({code})"
    return kind(attempted, subject, reason, _REMEDIES.get(code))
