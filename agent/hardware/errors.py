"""The hardware's refusals, translated once from NVML codes and errno.

One class per thing that somebody must do differently. ``attempted`` says what was tried, ``subject``
on which object, ``reason`` why it failed, ``remedy`` who does what; ``retry`` whether the same call
may work later.
"""

from __future__ import annotations


class HardwareError(Exception):
    """The base of everything the door to the machine raises."""

    retry = False
    remedy = ""

    def __init__(self, attempted: str, subject: str, reason: str, remedy: str | None = None) -> None:
        self.attempted = attempted
        self.subject = subject
        self.reason = reason
        if remedy is not None:
            self.remedy = remedy
        text = f"{attempted} on {subject} failed: {reason}"
        super().__init__(f"{text}; {self.remedy}" if self.remedy else text)


class NotSupported(HardwareError):
    """This device, or its present mode, does not know the call."""


class NotFound(HardwareError):
    """There is no such device or instance (any more)."""


class InvalidArgument(HardwareError):
    """The driver does not take these arguments: our mistake, or a driver we do not know."""


class NoPermission(HardwareError):
    """The process lacks the right."""

    remedy = "run as root with access to the GPU's capability files"


class InUse(HardwareError):
    """Somebody still uses the object."""

    retry = True
    remedy = "it is retried; if it stays, find the process that holds it"


class InsufficientResources(HardwareError):
    """The placement is taken; NVML says the same for "exists already": look before you conclude."""

    retry = True


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
    """The driver library is not there, or does not answer."""

    remedy = "the operator must install or load the driver, where the node has such devices"


class HardwareFault(HardwareError):
    """The driver or the kernel failed in a way that has no name."""

    retry = True
