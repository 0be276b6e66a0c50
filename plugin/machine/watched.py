"""The machine with every call into it noted while it lasts, so that a call that hangs can be named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, TypeVar, cast

from agent.hardware.ports import Machine
from plugin.base.in_flight import HUNG_AFTER_S, CallsInFlight

_PROGRAM_S: Final = 30.0
"""Longer than what other programs are waited for in one call."""
_VFS_S: Final = 60.0
"""Longer than a NIC's driver takes to make many VFs, or to take or give up a function."""

T = TypeVar("T")


def watched(machine: Machine, calls: CallsInFlight) -> Machine:
    """Return a machine whose calls are noted in ``calls``; waiting for events takes long and is none."""

    def port(found: T, whom: str, hung_after_s: float = HUNG_AFTER_S) -> T:
        return cast("T", _WatchedPort(found, whom, calls, hung_after_s))

    nics = machine.nics
    return replace(
        machine,
        gpus=port(machine.gpus, "the GPU driver"),
        pci=port(machine.pci, "the kernel"),
        nics=replace(
            nics,
            reader=port(nics.reader, "the kernel"),
            functions=port(nics.functions, "the kernel", _VFS_S),
            settings=port(nics.settings, "the kernel"),
            interfaces=port(nics.interfaces, "the kernel"),
        ),
        fabric=port(machine.fabric, "the fabric manager", _PROGRAM_S),
        mps=port(machine.mps, "MPS", _PROGRAM_S),
        clients=port(machine.clients, "the kernel"),
        time_slices=port(machine.time_slices, "nvidia-smi", _PROGRAM_S),
    )


class _WatchedPort:
    """Stands for any port: each of its methods is a call."""

    def __init__(self, port: object, whom: str, calls: CallsInFlight, hung_after_s: float) -> None:
        self._port = port
        self._whom = whom
        self._calls = calls
        self._hung_after_s = hung_after_s

    def __getattr__(self, name: str) -> Any:
        getattr(self._port, name)  # a port has no more methods than it has
        block, port = self._calls.noted(f"the call {name} of {self._whom}", self._hung_after_s), self._port

        def noted(*arguments: Any, **more: Any) -> Any:
            with block:
                return getattr(port, name)(*arguments, **more)

        # The next use finds it without coming here.
        setattr(self, name, noted)
        return noted
