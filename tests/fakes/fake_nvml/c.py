"""C's manners: opaque handles, out-parameters, return codes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from ctypes import addressof, c_void_p, cast, memmove, sizeof
from typing import Any

import pynvml

from agent.hardware import errors

CODES = {
    errors.InvalidArgument: pynvml.NVML_ERROR_INVALID_ARGUMENT,
    errors.NotSupported: pynvml.NVML_ERROR_NOT_SUPPORTED,
    errors.NoPermission: pynvml.NVML_ERROR_NO_PERMISSION,
    errors.NotFound: pynvml.NVML_ERROR_NOT_FOUND,
    errors.TimedOut: pynvml.NVML_ERROR_TIMEOUT,
    errors.GpuLost: pynvml.NVML_ERROR_GPU_IS_LOST,
    errors.ResetRequired: pynvml.NVML_ERROR_RESET_REQUIRED,
    errors.InUse: pynvml.NVML_ERROR_IN_USE,
    errors.InsufficientResources: pynvml.NVML_ERROR_INSUFFICIENT_RESOURCES,
    errors.DriverMissing: pynvml.NVML_ERROR_DRIVER_NOT_LOADED,
}


class Refused(Exception):
    """A return code that the port has no word for."""

    def __init__(self, code: int) -> None:
        self.code = code


def c_function(body: Callable[..., None]) -> Callable[..., int]:
    """Turn what a body raises into a return code."""

    @functools.wraps(body)
    def function(*arguments: Any) -> int:
        try:
            body(*arguments)
        except Refused as error:
            return error.code
        except errors.HardwareError as error:
            return CODES.get(type(error), pynvml.NVML_ERROR_UNKNOWN)
        return pynvml.NVML_SUCCESS

    return function


class Handles:
    """Opaque pointers for things; equal things have equal pointers."""

    def __init__(self) -> None:
        self._things: list[tuple[Any, ...]] = []

    def _handle(self, kind: Any, *thing: Any) -> Any:
        if thing not in self._things:
            self._things.append(thing)
        return cast(c_void_p(self._things.index(thing) + 1), kind)

    def _hand_out(self, target: Any, *thing: Any) -> None:
        memmove(addressof(target), addressof(self._handle(type(target), *thing)), sizeof(c_void_p))

    def _thing(self, handle: Any) -> tuple[Any, ...]:
        return self._things[(cast(handle, c_void_p).value or 0) - 1]
