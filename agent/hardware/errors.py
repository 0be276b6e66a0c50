"""The errors of the hardware, translated once from NVML return codes and errno.

There is one class for each different reaction. ``attempted`` says what was attempted, ``subject`` on which
object, ``reason`` why it failed, ``remedy`` who must do what; ``retry`` whether the same call may work later;
``errno`` is the kernel's error number, None if the failure has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_NVML_CODE: Final = re.compile(r"NVML answered ([A-Z_]+) \(\d+\)")


class HardwareError(Exception):
    """The base of every error that reading or changing the machine raises."""

    retry = False
    remedy = ""

    def __init__(
        self, attempted: str, subject: str, reason: str, remedy: str | None = None, errno: int | None = None
    ) -> None:
        self.attempted = attempted
        self.subject = subject
        self.reason = reason
        self.errno = errno
        if remedy is not None:
            self.remedy = remedy
        text = f"{attempted} on {subject} failed: {reason}"
        super().__init__(f"{text}; {self.remedy}" if self.remedy else text)


class NotSupported(HardwareError):
    """This device, or its present mode, does not support the call."""


class NotFound(HardwareError):
    """The device or instance does not exist (any more)."""


class InvalidArgument(HardwareError):
    """The driver rejects the arguments: a mistake of ours, or a driver that we do not know."""


class NoPermission(HardwareError):
    """The process has no permission."""

    remedy = "run as root with access to the GPU's capability files"


class InUse(HardwareError):
    """The object is still in use."""

    retry = True
    remedy = "it is retried; if it persists, find the process that uses it"


class InsufficientResources(HardwareError):
    """The placement is occupied; NVML reports the same if the wanted instance exists already."""

    retry = True


class AlreadyTaken(HardwareError):
    """Another device has the wanted name or address already."""

    remedy = "choose another one, or find the device that has it"


class NotThereYet(HardwareError):
    """The kernel makes the object later, or a network namespace still has to give it back."""

    retry = True
    remedy = "it is retried"


class TimedOut(HardwareError):
    """The driver did not answer in time."""

    retry = True
    remedy = "it is retried"


class GpuLost(HardwareError):
    """The GPU fell off the bus."""

    remedy = "the operator must drain the node and reset or replace the GPU"


class ResetRequired(HardwareError):
    """The GPU must be reset before it can go on."""

    remedy = "the operator must reset the GPU"


class DriverMissing(HardwareError):
    """The driver's library does not exist, or does not answer."""

    remedy = "the operator must install or load the driver, if the node has such devices"


class LibraryMissing(DriverMissing):
    """The driver's library cannot be loaded: on most nodes without such devices it does not exist."""


class FabricUnavailable(HardwareError):
    """The fabric manager, or its library, does not answer."""

    retry = True
    remedy = "it is retried; the operator starts the fabric manager and lets this process reach it"


class HardwareFault(HardwareError):
    """The driver or the kernel failed for a reason that has no class of its own."""

    retry = True


class Unanswered(TimedOut):
    """A call into the driver did not return in its time. The process that made it is ended.

    Shape: ``has_ended`` tells whether that process is gone: one that waits inside the kernel stays.
    """

    remedy = "it is asked again with growing waits, once the process that still asks is gone"

    def __init__(self, attempted: str, subject: str, reason: str, has_ended: Callable[[], bool]) -> None:
        self.has_ended = has_ended
        super().__init__(attempted, subject, reason)


class SessionEnded(HardwareFault):
    """The process that speaks with the driver ended before it answered."""

    remedy = "it is retried with a new process"


class SteppedAside(SessionEnded):
    """The process stepped aside for somebody who needs the driver a moment. Nothing of the call was begun."""


class DriverLetGo(HardwareError):
    """Somebody asked this program to let go of the driver; it is not opened again for a while."""

    retry = True
    remedy = "it is retried"


class GivenUp(HardwareError):
    """The program ends; it waits for the driver no longer."""

    retry = True


OF_THE_GPU: Final = (GpuLost, ResetRequired, DriverMissing, TimedOut, SessionEnded, DriverLetGo, GivenUp)
"""Errors of a query that are about the whole GPU or the driver, and not about what was asked."""


def nvml_code(text: str) -> str:
    """Return the name of NVML's return code that a message tells, empty where it tells none."""
    found = _NVML_CODE.search(text)
    return found[1] if found else ""
