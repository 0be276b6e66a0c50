"""The machine with every call into it noted while it lasts, so that a call that hangs can be named."""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar, cast

from agent.hardware.ports import Machine
from plugin.base.in_flight import CallsInFlight

T = TypeVar("T")


def watched(machine: Machine, calls: CallsInFlight) -> Machine:
    """Return a machine whose calls are noted in ``calls``."""

    def port(found: T, whom: str) -> T:
        return cast("T", _WatchedPort(found, whom, calls))

    nics = machine.nics
    return replace(
        machine,
        gpus=port(machine.gpus, "the GPU driver"),
        pci=port(machine.pci, "the kernel"),
        nics=replace(
            nics,
            reader=port(nics.reader, "the kernel"),
            functions=port(nics.functions, "the kernel"),
            settings=port(nics.settings, "the kernel"),
            interfaces=port(nics.interfaces, "the kernel"),
        ),
        fabric=port(machine.fabric, "the fabric manager"),
        mps=port(machine.mps, "MPS"),
        time_slices=port(machine.time_slices, "nvidia-smi"),
    )


class _WatchedPort:
    """Stands for any port: each of its methods is a call."""

    def __init__(self, port: object, whom: str, calls: CallsInFlight) -> None:
        self._port = port
        self._whom = whom
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        what = f"the call {name} of {self._whom}"

        @wraps(method)
        def noted(*arguments: Any, **more: Any) -> Any:
            with self._calls.noted(what):
                return method(*arguments, **more)

        # The next use finds it without coming here.
        setattr(self, name, noted)
        return noted
