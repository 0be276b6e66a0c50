"""The fabric of NVSwitches as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from agent.hardware.types import Bdf, GpuUuid


class FabricMode(StrEnum):
    """How the fabric manager of a node runs. Source: Fabric Manager User Guide, ``FABRIC_MODE``."""

    NONE = "none"
    """No fabric manager, or one that joins all GPUs at boot: bare metal, and full passthrough."""
    SHARED = "shared-nvswitch"
    """GPUs are joined only where a partition is activated."""
    VGPU = "vgpu"
    """Partitions are activated with virtual functions of GPUs."""


@dataclass(frozen=True, slots=True)
class FabricGpu:
    """A GPU as the fabric manager names it.

    Shape: ``uuid`` and ``bdf`` are None where it does not tell them, as from HGX H100 on; there
           ``physical_id`` is the module id that the driver reports.
    """

    physical_id: int
    uuid: GpuUuid | None = None
    bdf: Bdf | None = None


@dataclass(frozen=True, slots=True)
class FabricPartition:
    """A group of GPUs that the fabric manager can join.

    Shape: ``bandwidth`` is that of the GPU with the slowest links, in one direction, None if the fabric
           manager states none. Units: bytes per second.
    """

    id: int
    gpus: tuple[FabricGpu, ...]
    is_active: bool = False
    bandwidth: int | None = None
