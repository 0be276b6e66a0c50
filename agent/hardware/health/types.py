"""The health of devices as the driver and the kernel report it, as plain values. Nothing is judged here.

Events come once; vitals are true when they are read. What follows from them is decided in ``agent.health``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from agent.hardware.types import Bdf, GpuUuid


class GpuEventKind(StrEnum):
    """What an event of the driver is about. Source: nvml.h, ``nvmlEventType*``."""

    XID = "xid"
    UNCORRECTABLE_ECC = "uncorrectable-ecc"
    MIG_CHANGED = "mig-changed"
    UNAVAILABLE = "unavailable"
    RECOVERY_CHANGED = "recovery-changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuEvent:
    """Equal events of one GPU since the last answer, as one.

    Shape: ``gpu`` None where the driver names none that we know; ``xid`` of XID events alone, whatever number
           the driver gave; ``gi_id`` and ``ci_id`` None where the whole GPU is meant; ``times`` how many.
    """

    gpu: GpuUuid | None
    kind: GpuEventKind
    xid: int | None = None
    gi_id: int | None = None
    ci_id: int | None = None
    times: int = 1


@dataclass(frozen=True, slots=True)
class Unwatched:
    """A GPU whose events do not come, and why."""

    gpu: GpuUuid
    reason: str


@dataclass(frozen=True, slots=True)
class GpuEvents:
    """What came while one call waited.

    Shape: ``events`` empty where nothing came; ``unwatched`` the GPUs that do not report now;
           ``is_new_session`` whether events may have been missed before: vitals must be read again.
    """

    events: tuple[GpuEvent, ...] = ()
    unwatched: tuple[Unwatched, ...] = ()
    is_new_session: bool = False


class Slowdown(StrEnum):
    """Why the hardware slows a GPU down. Source: nvml.h, ``nvmlClocksEventReason*``."""

    HARDWARE_THERMAL = "hardware-thermal"
    HARDWARE_POWER_BRAKE = "hardware-power-brake"
    SOFTWARE_THERMAL = "software-thermal"


class Recovery(StrEnum):
    """What the driver says that a GPU needs. Source: nvml.h, ``nvmlDeviceGpuRecoveryAction_t``."""

    NONE = "none"
    RESET = "gpu-reset"
    REBOOT = "node-reboot"
    DRAIN_P2P = "drain-p2p"
    DRAIN_AND_RESET = "drain-and-reset"
    RECOVER_IMEX_DOMAIN = "recover-imex-domain"
    BUS_RESET = "bus-reset"
    SYSTEM_REBOOT = "system-reboot"
    OTHER = "other"
    """Something that only a newer version of this program knows."""


class FabricState(StrEnum):
    """The state of a GPU's NVLink fabric registration, or its worst health condition once it has joined.

    Source: nvml.h, ``NVML_GPU_FABRIC_STATE_*`` and ``NVML_GPU_FABRIC_HEALTH_MASK_*``; of several conditions
    the one that stands first below is reported. Drivers before 550 report no condition.
    """

    NOT_SUPPORTED = "not-supported"
    NOT_STARTED = "not-started"
    IN_PROGRESS = "in-progress"
    COMPLETED = "completed"
    FAILED = "failed"
    MISCONFIGURED = "misconfigured"
    ROUTE_UNHEALTHY = "route-unhealthy"
    ROUTE_RECOVERY = "route-recovery"
    ACCESS_TIMEOUT_RECOVERY = "access-timeout-recovery"
    DEGRADED_BANDWIDTH = "degraded-bandwidth"


FABRIC_CONDITIONS: Final = (
    FabricState.MISCONFIGURED,
    FabricState.ROUTE_UNHEALTHY,
    FabricState.ROUTE_RECOVERY,
    FabricState.ACCESS_TIMEOUT_RECOVERY,
    FabricState.DEGRADED_BANDWIDTH,
)
"""What the health mask can report, the worst first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuVitals:
    """What the driver tells of a GPU's health now.

    Shape: None wherever the model, the driver or the GPU's mode has no such value;
           ``links_active`` and ``links_down`` numbers of the NVLinks that the GPU has. One may be down that
           was never connected: on a board without a bridge, while no fabric partition joins the GPU, in MIG
           mode. So only one that was active before has failed.
    Units: ``uncorrectable_ecc`` errors since the driver was loaded or the GPU was reset.
    """

    gpu: GpuUuid
    uncorrectable_ecc: int | None = None
    is_remap_pending: bool | None = None
    has_remap_failed: bool | None = None
    slowdowns: frozenset[Slowdown] = frozenset()
    links_active: tuple[int, ...] = ()
    links_down: tuple[int, ...] = ()
    fabric: FabricState | None = None
    recovery: Recovery | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NicVitals:
    """What the kernel tells of a NIC function's health now.

    Shape: ``bdf`` a PF's or a VF's; ``has_link`` None where it has no interface, or one that is set down, so
           that nothing is known of its link; ``ports_down`` RDMA ports that are not active, as ``mlx5_0/1``.
    """

    bdf: Bdf
    has_link: bool | None = None
    ports_down: tuple[str, ...] = ()
