"""PURE: what can be wrong with a device: how bad it is, which devices it concerns, and what heals it.

``TABLE`` is the whole model. ``docs/health.md`` is drawn from it (``hack/health_causes.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Cause(StrEnum):
    """What is wrong. The order is that of the table."""

    XID_NOTE = "xid-note"
    XID_APPLICATION = "xid-application"
    XID_UNKNOWN = "xid-unknown"
    XID_RESET = "xid-reset"
    GPU_LOST = "gpu-lost"
    UNCORRECTABLE_ECC = "uncorrectable-ecc"
    REMAP_PENDING = "row-remap-pending"
    REMAP_FAILED = "row-remap-failed"
    RECOVERY_NEEDED = "recovery-needed"
    NVLINK_DOWN = "nvlink-down"
    FABRIC_NOT_READY = "fabric-not-ready"
    FABRIC_UNHEALTHY = "fabric-unhealthy"
    FABRIC_DEGRADED = "fabric-degraded"
    SLOWDOWN = "slowdown"
    UNWATCHED = "unwatched"
    DRIVER_SILENT = "driver-silent"
    NOT_IN_DRIVER = "not-in-driver"
    GONE_FROM_PCI = "gone-from-pci"
    NIC_LINK_DOWN = "nic-link-down"
    RDMA_PORT_DOWN = "rdma-port-down"
    VF_LOST = "vf-lost"


class Severity(StrEnum):
    """What follows from a cause, the mildest first."""

    NOTE = "note"
    NO_NEW_PODS = "no-new-pods"
    EVICT = "evict"

    @property
    def rank(self) -> int:
        """Return how bad it is, 0 for the mildest."""
        return tuple(Severity).index(self)


class Scope(StrEnum):
    """The devices that a cause concerns."""

    DEVICE = "the device that the event names, else the whole GPU"
    GPU = "the GPU and everything that is cut from it"
    NVLINK = "the whole GPU, and groups of GPUs that it belongs to"
    NIC = "the NIC and its VFs"
    VF = "the VF"


class Heals(StrEnum):
    """What ends a cause."""

    QUIET = "it has not come again for some minutes"
    RECOVERY = "the driver or the kernel says that it is over"
    RESET = "a reset of the GPU, or a reboot"
    OPERATOR = "the operator replaces the GPU"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One cause.

    Shape: ``meaning`` is a clause about the device, ``remedy`` says who does what.
    Units: ``quiet_s`` seconds without the cause that heal it, None where they do not.
    """

    severity: Severity
    scope: Scope
    heals: Heals
    meaning: str
    remedy: str
    quiet_s: float | None = None


_WAIT: Final = "nothing; it is offered again by itself"
_RESET: Final = "the operator resets the GPU when no pod uses it, or reboots the node"

TABLE: Final[Mapping[Cause, Row]] = MappingProxyType(
    {
        Cause.XID_NOTE: Row(
            severity=Severity.NOTE,
            scope=Scope.DEVICE,
            heals=Heals.QUIET,
            quiet_s=600.0,
            meaning="the driver reported something that needs no action",
            remedy="nothing",
        ),
        Cause.XID_APPLICATION: Row(
            severity=Severity.NOTE,
            scope=Scope.DEVICE,
            heals=Heals.QUIET,
            quiet_s=600.0,
            meaning="a program on it failed, usually by its own mistake",
            remedy="the owner of the pod looks at the program",
        ),
        Cause.XID_UNKNOWN: Row(
            severity=Severity.NO_NEW_PODS,
            scope=Scope.GPU,
            heals=Heals.QUIET,
            quiet_s=3600.0,
            meaning="the driver reported an error whose number alone does not say how bad it is",
            remedy="the operator looks it up in NVIDIA's Xid catalog and writes a rule for it",
        ),
        Cause.XID_RESET: Row(
            severity=Severity.NO_NEW_PODS,
            scope=Scope.GPU,
            heals=Heals.RESET,
            meaning="the driver reported an error that only a reset ends",
            remedy=_RESET,
        ),
        Cause.GPU_LOST: Row(
            severity=Severity.EVICT,
            scope=Scope.GPU,
            heals=Heals.RESET,
            meaning="it has fallen off the bus",
            remedy="the operator resets the GPU or reboots the node, and replaces it if that is repeated",
        ),
        Cause.UNCORRECTABLE_ECC: Row(
            severity=Severity.NO_NEW_PODS,
            scope=Scope.GPU,
            heals=Heals.RESET,
            meaning="its memory had an error that could not be corrected",
            remedy=_RESET,
        ),
        Cause.REMAP_PENDING: Row(
            severity=Severity.NO_NEW_PODS,
            scope=Scope.GPU,
            heals=Heals.RESET,
            meaning="a bad row of its memory is replaced at the next reset",
            remedy=_RESET,
        ),
        Cause.REMAP_FAILED: Row(
            severity=Severity.NO_NEW_PODS,
            scope=Scope.GPU,
            heals=Heals.OPERATOR,
            meaning="a bad row of its memory could not be replaced",
            remedy="the operator has the GPU replaced",
        ),
        Cause.RECOVERY_NEEDED: Row(
            severity=Severity.NO_NEW_PODS,
            scope=Scope.GPU,
            heals=Heals.RESET,
            meaning="the driver says that it needs a recovery",
            remedy="the operator does what the driver asks for",
        ),
        Cause.NVLINK_DOWN: Row(
            severity=Severity.NO_NEW_PODS,
            scope=Scope.NVLINK,
            heals=Heals.RECOVERY,
            meaning="an NVLink that was active is down",
            remedy=_RESET,
        ),
        Cause.FABRIC_NOT_READY: Row(
            severity=Severity.NO_NEW_PODS,
            scope=Scope.NVLINK,
            heals=Heals.RECOVERY,
            meaning="it has not joined its NVLink fabric",
            remedy="the operator looks at the fabric manager; at boot it takes a minute",
        ),
        Cause.FABRIC_UNHEALTHY: Row(
            severity=Severity.NO_NEW_PODS,
            scope=Scope.NVLINK,
            heals=Heals.RECOVERY,
            meaning="the driver reports a fault of its NVLink fabric",
            remedy="the operator checks the fabric manager and the NVSwitches; a recovery needs nothing",
        ),
        Cause.FABRIC_DEGRADED: Row(
            severity=Severity.NOTE,
            scope=Scope.NVLINK,
            heals=Heals.RECOVERY,
            meaning="its NVLink fabric has less than the full bandwidth",
            remedy="the operator checks the NVLinks and the fabric manager",
        ),
        Cause.SLOWDOWN: Row(
            severity=Severity.NOTE,
            scope=Scope.GPU,
            heals=Heals.QUIET,
            quiet_s=300.0,
            meaning="the hardware slows it down, because of heat or power",
            remedy="the operator looks at cooling and power",
        ),
        Cause.UNWATCHED: Row(
            severity=Severity.NOTE,
            scope=Scope.GPU,
            heals=Heals.RECOVERY,
            meaning="the driver reports no events of it, so errors are seen late or never",
            remedy="nothing on a model without events; else the operator looks at the driver",
        ),
        Cause.DRIVER_SILENT: Row(
            severity=Severity.NO_NEW_PODS,
            scope=Scope.GPU,
            heals=Heals.RECOVERY,
            meaning="the driver does not answer for it",
            remedy="the operator looks at the driver if it lasts",
        ),
        Cause.NOT_IN_DRIVER: Row(
            severity=Severity.NO_NEW_PODS,
            scope=Scope.GPU,
            heals=Heals.RECOVERY,
            meaning="it is on PCI, and the driver does not list it",
            remedy="the operator looks for Xid errors in the kernel's log, and resets the GPU",
        ),
        Cause.GONE_FROM_PCI: Row(
            severity=Severity.EVICT,
            scope=Scope.GPU,
            heals=Heals.RECOVERY,
            meaning="it is not on PCI any more",
            remedy="the operator reboots the node or replaces the device",
        ),
        Cause.NIC_LINK_DOWN: Row(
            severity=Severity.NO_NEW_PODS,
            scope=Scope.NIC,
            heals=Heals.RECOVERY,
            meaning="its link is down",
            remedy=f"the operator looks at cable and switch; then {_WAIT}",
        ),
        Cause.RDMA_PORT_DOWN: Row(
            severity=Severity.NO_NEW_PODS,
            scope=Scope.NIC,
            heals=Heals.RECOVERY,
            meaning="an RDMA port of it is not active",
            remedy=f"the operator looks at cable, switch and subnet manager; then {_WAIT}",
        ),
        Cause.VF_LOST: Row(
            severity=Severity.NO_NEW_PODS,
            scope=Scope.VF,
            heals=Heals.RECOVERY,
            meaning="the VF does not exist any more",
            remedy="the operator makes the VFs of the NIC again",
        ),
    }
)
"""Every cause."""
