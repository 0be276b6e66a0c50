"""Faults that are injected into a simulated machine, and their text form for the command line.

    gpu-3:lost                                    the GPU fell off the bus
    gpu-0:in-use                                  a client holds the GPU: its MIG mode cannot change now
    gpu-0:create-compute-instance:in-use:1        the next such call fails with InUse, once
    gpu-0:create-gpu-instance:slow=2.5            every such call takes 2.5 seconds longer
    gpu-0:destroy-gpu-instance:kill-after         the calling process dies right after the call, once
    machine:versions:driver-missing               the call fails, whatever GPU it is about

Text enters, a ``Fault`` leaves; ``str`` gives the text again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from agent.hardware import errors
from agent.hardware.errors import HardwareError
from agent.hardware.simulated.errors import InvalidFault


class Call(StrEnum):
    """The calls of the ``Gpus`` port that a fault can affect."""

    VERSIONS = "versions"
    GPUS = "gpus"
    MIG_MODE = "mig-mode"
    PROFILES = "profiles"
    GPU_INSTANCES = "gpu-instances"
    SET_MIG_MODE = "set-mig-mode"
    CREATE_GPU_INSTANCE = "create-gpu-instance"
    CREATE_COMPUTE_INSTANCE = "create-compute-instance"
    DESTROY_COMPUTE_INSTANCE = "destroy-compute-instance"
    DESTROY_GPU_INSTANCE = "destroy-gpu-instance"


REFUSALS: Final[dict[str, type[HardwareError]]] = {
    "not-supported": errors.NotSupported,
    "not-found": errors.NotFound,
    "invalid-argument": errors.InvalidArgument,
    "no-permission": errors.NoPermission,
    "in-use": errors.InUse,
    "insufficient-resources": errors.InsufficientResources,
    "timed-out": errors.TimedOut,
    "gpu-lost": errors.GpuLost,
    "reset-required": errors.ResetRequired,
    "driver-missing": errors.DriverMissing,
    "hardware-fault": errors.HardwareFault,
}
"""The errors that a fault can cause, by name."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The GPU with this minor number fell off the bus, until it is reset or the machine reboots."""

    gpu: int

    def __str__(self) -> str:
        return f"gpu-{self.gpu}:lost"


@dataclass(frozen=True, slots=True)
class Held:
    """A client holds the GPU with this minor number, until the fault is cleared or the machine reboots."""

    gpu: int

    def __str__(self) -> str:
        return f"gpu-{self.gpu}:in-use"


@dataclass(frozen=True, slots=True)
class Fail:
    """A call fails. Shape: ``gpu`` None for all; ``error`` of ``REFUSALS``; ``times`` None for always."""

    call: Call
    gpu: int | None
    error: str
    times: int | None = None

    def __str__(self) -> str:
        return _spelt(self, self.error)


@dataclass(frozen=True, slots=True)
class Slow:
    """A call takes longer. Shape: ``times`` None for always. Units: seconds."""

    call: Call
    gpu: int | None
    seconds: float
    times: int | None = None

    def __str__(self) -> str:
        return _spelt(self, f"slow={self.seconds:.6f}".rstrip("0").rstrip("."))


class Moment(StrEnum):
    """When a process dies."""

    BEFORE = "kill-before"
    AFTER = "kill-after"


@dataclass(frozen=True, slots=True)
class Kill:
    """The calling process dies by SIGKILL, before the call does anything or after all it does."""

    call: Call
    gpu: int | None
    moment: Moment
    times: int | None = 1

    def __str__(self) -> str:
        return _spelt(self, self.moment)


Strike = Fail | Slow | Kill
"""A fault that affects calls (the others are states of a GPU)."""
Fault = Lost | Held | Strike


def _spelt(fault: Strike, effect: str) -> str:
    target = "machine" if fault.gpu is None else f"gpu-{fault.gpu}"
    return ":".join([target, fault.call, effect] + ([str(fault.times)] if fault.times is not None else []))


_TEXT: Final = re.compile(
    r"(?P<target>machine|gpu-(?P<gpu>\d{1,3}))"
    r":(?:(?P<state>lost|in-use)|(?P<call>[a-z-]+):(?P<effect>[a-z-]+)(?:=(?P<seconds>\d{1,6}(?:\.\d{1,6})?))?"
    r"(?::(?P<times>[1-9]\d{0,5}))?)"
)
_FORM: Final = (
    "must be gpu-<minor>:lost, gpu-<minor>:in-use or <gpu-<minor>|machine>:<call>:<effect>[:<times>]"
)


def parse_fault(text: str) -> Fault:
    """Parse the text form of a fault. Raises: InvalidFault."""
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        raise InvalidFault(text, _FORM)
    gpu = int(match["gpu"]) if match["gpu"] else None
    if match["state"]:
        if gpu is None:
            raise InvalidFault(text, f"{match['state']} is a state of one GPU, such as gpu-0")
        return Lost(gpu) if match["state"] == "lost" else Held(gpu)
    return _strike(text, gpu, match)


def _strike(text: str, gpu: int | None, match: re.Match[str]) -> Strike:
    if match["call"] not in list(Call):
        raise InvalidFault(text, f"the call must be one of {', '.join(Call)}")
    call, effect = Call(match["call"]), match["effect"]
    times = int(match["times"]) if match["times"] else None
    if call is Call.VERSIONS and gpu is not None:
        raise InvalidFault(text, "versions is about no GPU: aim at machine")
    if (effect == "slow") != (match["seconds"] is not None):
        raise InvalidFault(text, "slow, and slow alone, takes seconds: slow=2.5")
    if effect == "slow":
        return Slow(call, gpu, float(match["seconds"]), times)
    if effect in list(Moment):
        return Kill(call, gpu, Moment(effect), times or 1)
    if effect in REFUSALS:
        return Fail(call, gpu, effect, times)
    known = ", ".join([*REFUSALS, "slow=<seconds>", *Moment])
    raise InvalidFault(text, f"the effect must be one of {known}")
