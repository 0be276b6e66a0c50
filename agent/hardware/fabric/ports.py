"""What is needed of the fabric manager: a port to read its partitions, and one to change them."""

from __future__ import annotations

from typing import Protocol

from agent.hardware.fabric.types import FabricMode, FabricPartition


class FabricReader(Protocol):
    """Reads the fabric of a node."""

    def mode(self) -> FabricMode:
        """Return how the fabric manager is configured to run, whether it runs or not.

        Raises: HardwareFault for a configuration that cannot be understood.
        """
        ...

    def partitions(self) -> tuple[FabricPartition, ...]:
        """Return the partitions that the fabric manager supports, by id.

        Raises: NotSupported in a mode without partitions; FabricUnavailable; NotThereYet while it starts.
        """
        ...


class FabricWriter(Protocol):
    """Activates and deactivates partitions."""

    def activate(self, partition: int) -> None:
        """Join the GPUs of a partition.

        Raises: NotFound for an unknown id; InUse where it is active already, or another active partition has
                one of its GPUs; NotSupported, FabricUnavailable, NotThereYet, TimedOut; HardwareFault.
        """
        ...

    def deactivate(self, partition: int) -> None:
        """Deactivate a partition, so that its GPUs are no longer joined.

        Raises: NotFound for an unknown id, or a partition that is not active; otherwise as ``activate``.
        """
        ...


class FabricManager(FabricReader, FabricWriter, Protocol):
    """Both."""
