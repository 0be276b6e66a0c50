"""The ports through which health is read. Every method may raise a ``HardwareError``."""

from __future__ import annotations

from typing import Protocol

from agent.hardware.health.types import GpuEvents, GpuVitals, NicVitals
from agent.hardware.types import Bdf, GpuUuid


class GpuVitalsReader(Protocol):
    """Reads how GPUs are."""

    def vitals(self, gpu: GpuUuid) -> GpuVitals:
        """Return how a GPU is now. Raises: NotFound; GpuLost; ResetRequired."""
        ...


class GpuEventSource(Protocol):
    """Hears the events of all GPUs of the node. One thread waits at a time."""

    def wait(self, longest_s: float) -> GpuEvents:
        """Return as soon as something came, else after so many seconds with what is known.

        Each GPU is registered by itself: one that cannot be is among ``unwatched`` and is tried again later.
        A storm of events comes as few values: equal ones are counted.
        The first answer, and the first one after an error, comes at once and says ``is_new_session``.
        Raises: DriverMissing; GpuLost, SessionEnded and others where the driver, or its process, tells no
                events any more. The next call begins anew; it may fail at once, so callers wait before it.
        """
        ...


class NicVitalsReader(Protocol):
    """Reads how NICs are."""

    def nic_vitals(self, bdf: Bdf) -> NicVitals:
        """Return how a NIC function is now. Raises: NotFound where it is gone."""
        ...
