"""The only module that sees the return codes of ``libnvfm``.

Takes a function of the library and its arguments; returns nothing, or raises a ``HardwareError``.
Source: NVIDIA Fabric Manager User Guide, "Fabric Manager SDK"; ``nv_fm_types.h``, ``fmReturn_t``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Any, Final

from agent.hardware.errors import (
    FabricUnavailable,
    HardwareError,
    HardwareFault,
    InUse,
    InvalidArgument,
    NotFound,
    NotSupported,
    NotThereYet,
    TimedOut,
)

SUBJECT: Final = "the fabric manager"


class Code(IntEnum):
    """The return codes that the calls of this adapter document."""

    SUCCESS = 0
    BADPARAM = -1
    GENERIC_ERROR = -2
    NOT_SUPPORTED = -3
    UNINITIALIZED = -4
    TIMEOUT = -5
    VERSION_MISMATCH = -6
    IN_USE = -7
    NOT_CONFIGURED = -8
    CONNECTION_NOT_VALID = -9
    NVLINK_ERROR = -10


Refusals = Mapping[Code, tuple[type[HardwareError], str | None]]
"""By code, the error and who acts; None for what the error itself says."""

_REFUSALS: Final[Refusals] = {
    Code.BADPARAM: (InvalidArgument, None),
    Code.NOT_SUPPORTED: (NotSupported, "the operator runs the fabric manager with FABRIC_MODE=1"),
    Code.TIMEOUT: (TimedOut, None),
    Code.VERSION_MISMATCH: (
        NotSupported,
        "the operator installs fabric manager, its library and the driver in one version",
    ),
    Code.IN_USE: (InUse, "it is retried; the operator finds who activated a partition of these GPUs"),
    Code.NOT_CONFIGURED: (NotThereYet, "it is retried until the fabric manager has started"),
    Code.CONNECTION_NOT_VALID: (FabricUnavailable, None),
    Code.NVLINK_ERROR: (HardwareFault, "it is retried; if it persists, the operator resets the GPUs"),
}
NOTHING_SPECIAL: Final[Refusals] = MappingProxyType({})
ABOUT_PARTITION: Final[Refusals] = {Code.BADPARAM: (NotFound, None), Code.UNINITIALIZED: (NotFound, None)}
"""Calls about one partition: its id is unknown, or it is not active."""


def call(
    attempted: str, function: Callable[..., Any], *arguments: object, special: Refusals = NOTHING_SPECIAL
) -> None:
    """Call a function of the library. Raises: HardwareError."""
    code = code_of(function, *arguments)
    if code != Code.SUCCESS:
        raise refusal(attempted, code, special)


def code_of(function: Callable[..., Any], *arguments: object) -> int:
    """Call a function of the library and return its code."""
    return int(function(*arguments))


def refusal(attempted: str, code: int, special: Refusals = NOTHING_SPECIAL) -> HardwareError:
    """Return the error for a return code; one without a class of its own is a ``HardwareFault``."""
    if code not in list(Code):
        return HardwareFault(attempted, SUBJECT, f"it answered an unknown code ({code})")
    known = Code(code)
    kind, remedy = special.get(known) or _REFUSALS.get(known, (HardwareFault, None))
    return kind(attempted, SUBJECT, f"it answered {known.name} ({code})", remedy)
