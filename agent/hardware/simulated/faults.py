"""Faults that are injected into a simulated machine, and their text form for the command line.

    gpu-3:lost                                    the GPU fell off the bus
    gpu-0:in-use                                  a client holds the GPU: its MIG mode cannot change now
    gpu-0:create-compute-instance:in-use:1        the next such call fails with InUse, once
    gpu-0:create-gpu-instance:slow=2.5            every such call takes 2.5 seconds longer
    gpu-0:destroy-gpu-instance:kill-after         the calling process dies right after the call, once
    machine:versions:driver-missing               the call fails, whatever GPU it is about
    nic-0:set-vfs:no-space:1                      the next change of the number of VFs fails with ENOSPC
    nic-0:late-rdma=3                             RDMA devices are missing in the first three reads
    machine:no-vfio                               the kernel has no driver vfio-pci
    machine:no-fabric-manager                     the fabric manager does not run
    machine:profiles-need-mig                     the driver reports MIG profiles only while MIG mode is on
    machine:nvmlDeviceGetGpuFabricInfoV:function-not-found    the driver lacks a function of NVML
    gpu-1:nvmlDeviceGetMinorNumber:not-supported  one value of one GPU cannot be read
    gpu-1:minor=-1                                the driver answers this, whatever is true
    machine:activate-partition:timed-out:1        the next activation of a fabric partition fails, once
    nic-0:link-down                               the cable is pulled
    gpu-0:ecc=2                                   two uncorrectable errors of memory (``gpu_troubles/``)
    gpu-3:xid=79                                  an event of the driver, which is no fault

``str`` of a fault gives its text; ``fault_text.py`` parses it.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from agent.hardware import errors
from agent.hardware.driver.nvml_rules import NvmlCode
from agent.hardware.errors import HardwareError
from agent.hardware.simulated.gpu_troubles.faults import GpuTrouble, Raised


class NvmlFunction(StrEnum):
    """The functions of the driver's library that a fault can make fail, each with a code of nvml.h.

    The simulated driver asks them where the real one does, and goes to an older form where the real one does.
    """

    UUID = "nvmlDeviceGetUUID"
    NAME = "nvmlDeviceGetName"
    BRAND = "nvmlDeviceGetBrand"
    ARCHITECTURE = "nvmlDeviceGetArchitecture"
    COMPUTE_CAPABILITY = "nvmlDeviceGetCudaComputeCapability"
    MINOR = "nvmlDeviceGetMinorNumber"
    PCI_INFO = "nvmlDeviceGetPciInfo_v3"
    MEMORY = "nvmlDeviceGetMemoryInfo"
    CORES = "nvmlDeviceGetNumGpuCores"
    MODULE_ID = "nvmlDeviceGetModuleId"
    VIRTUALIZATION = "nvmlDeviceGetVirtualizationMode"
    MIG_MODE = "nvmlDeviceGetMigMode"
    PROFILE_V = "nvmlDeviceGetGpuInstanceProfileInfoV"
    PROFILE = "nvmlDeviceGetGpuInstanceProfileInfo"
    PLACEMENTS = "nvmlDeviceGetGpuInstancePossiblePlacements_v2"
    COMPUTE_PROCESSES_V3 = "nvmlDeviceGetComputeRunningProcesses_v3"
    COMPUTE_PROCESSES_V2 = "nvmlDeviceGetComputeRunningProcesses_v2"
    GRAPHICS_PROCESSES_V3 = "nvmlDeviceGetGraphicsRunningProcesses_v3"
    GRAPHICS_PROCESSES_V2 = "nvmlDeviceGetGraphicsRunningProcesses_v2"
    MPS_PROCESSES_V3 = "nvmlDeviceGetMPSComputeRunningProcesses_v3"
    MPS_PROCESSES_V2 = "nvmlDeviceGetMPSComputeRunningProcesses_v2"
    FABRIC_V = "nvmlDeviceGetGpuFabricInfoV"
    FABRIC = "nvmlDeviceGetGpuFabricInfo"


class Call(StrEnum):
    """The calls that a fault can affect: the ``Gpus`` port's, ``FABRIC_CALLS``, then ``NIC_CALLS``."""

    VERSIONS = "versions"
    GPUS = "gpus"
    MIG_MODE = "mig-mode"
    PROFILES = "profiles"
    GPU_INSTANCES = "gpu-instances"
    PROCESSES = "processes"
    SET_MIG_MODE = "set-mig-mode"
    CREATE_GPU_INSTANCE = "create-gpu-instance"
    CREATE_COMPUTE_INSTANCE = "create-compute-instance"
    DESTROY_COMPUTE_INSTANCE = "destroy-compute-instance"
    DESTROY_GPU_INSTANCE = "destroy-gpu-instance"
    COMPUTE_MODE = "compute-mode"
    SET_COMPUTE_MODE = "set-compute-mode"
    SET_TIME_SLICE = "set-time-slice"
    VITALS = "vitals"
    WATCH_EVENTS = "watch-events"
    WAIT_EVENTS = "wait-events"
    FABRIC_PARTITIONS = "fabric-partitions"
    ACTIVATE = "activate-partition"
    DEACTIVATE = "deactivate-partition"
    SET_VFS = "set-vfs"
    OVERRIDE = "override-driver"
    UNBIND = "unbind"
    PROBE = "probe"
    READ_RDMA = "read-rdma"
    READ_SETTINGS = "read-vf-settings"
    SET_SETTINGS = "set-vf-settings"
    READ_LINKS = "read-links"
    CHANGE_LINK = "change-link"


NIC_CALLS: Final = tuple(Call)[tuple(Call).index(Call.SET_VFS) :]
"""The calls about NICs; a fault of one names a NIC by its number, in the order of addresses."""

FABRIC_CALLS: Final = (Call.FABRIC_PARTITIONS, Call.ACTIVATE, Call.DEACTIVATE)
"""The calls to the fabric manager; a fault of one is about the machine."""

CALLS_OF_MACHINE: Final = (Call.VERSIONS, Call.WAIT_EVENTS, *FABRIC_CALLS)
"""The calls that are about no single GPU."""

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
    "not-there-yet": errors.NotThereYet,
    "fabric-unavailable": errors.FabricUnavailable,
}
"""The errors that a fault can cause in a call of the driver, by name."""

NIC_REFUSALS: Final[dict[str, int]] = {
    "not-supported": errno.EOPNOTSUPP,
    "not-found": errno.ENODEV,
    "invalid-argument": errno.EINVAL,
    "no-permission": errno.EPERM,
    "in-use": errno.EBUSY,
    "no-space": errno.ENOSPC,
    "already-taken": errno.EADDRINUSE,
    "timed-out": errno.ETIMEDOUT,
    "hardware-fault": errno.EIO,
}
"""The kernel's answers that a fault can cause in a call about a NIC, by name."""


NVML_REFUSALS: Final = {code.name.lower().replace("_", "-"): code for code in NvmlCode}
"""The codes with which a function of NVML can answer, by name."""


class NicTrouble(StrEnum):
    """What can be wrong with a NIC, until the fault is cleared."""

    IN_USE = "in-use"
    """A program uses its functions: no driver can be taken from them."""
    FEWER_VFS = "fewer-vfs"
    """The driver makes only so many VFs, whatever is asked."""
    LATE_RDMA = "late-rdma"
    """After a driver took a function, so many reads find no RDMA device."""
    NO_RDMA = "no-rdma"
    """A driver that takes a function makes no RDMA device."""
    NO_IOMMU = "no-iommu"
    """Its functions have no IOMMU group."""
    SHARED_IOMMU = "shared-iommu"
    """All its functions lie in one IOMMU group, so the PF's driver keeps VFIO out."""
    LINK_DOWN = "link-down"
    """Its link has no carrier, and so have those of its VFs that follow it."""
    PORT_DOWN = "port-down"
    """The RDMA ports of its functions are not active."""
    NO_ZERO_GUID = "no-zero-guid"
    """Its firmware takes no GUID of zero for a VF."""
    NO_VFIO = "no-vfio"
    """The kernel has no VFIO driver; of the machine, not of one NIC."""


COUNTED: Final = (NicTrouble.FEWER_VFS, NicTrouble.LATE_RDMA)


@dataclass(frozen=True, slots=True)
class NicFault:
    """A trouble of a NIC. Shape: ``nic`` None for the machine; ``count`` of ``COUNTED`` troubles alone."""

    nic: int | None
    trouble: NicTrouble
    count: int | None = None

    def __str__(self) -> str:
        target = "machine" if self.nic is None else f"nic-{self.nic}"
        return f"{target}:{self.trouble}" + ("" if self.count is None else f"={self.count}")


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
class NoFabricManager:
    """The fabric manager does not run, until the fault is cleared."""

    def __str__(self) -> str:
        return "machine:no-fabric-manager"


@dataclass(frozen=True, slots=True)
class ProfilesNeedMig:
    """The driver reports the MIG profiles of a GPU only while its MIG mode is on."""

    def __str__(self) -> str:
        return "machine:profiles-need-mig"


class Answered(StrEnum):
    """The values that a driver can answer wrongly."""

    UUID = "uuid"
    MINOR = "minor"
    MEMORY_MIB = "memory-mib"


@dataclass(frozen=True, slots=True)
class WrongAnswer:
    """The driver answers this for a value of the GPU with this minor number, whatever is true."""

    gpu: int
    what: Answered
    value: str

    def __str__(self) -> str:
        return f"gpu-{self.gpu}:{self.what}={self.value}"


@dataclass(frozen=True, slots=True)
class Fail:
    """A call fails.

    Shape: ``number`` of the GPU or NIC, None for all; ``error`` of ``REFUSALS``, ``NIC_REFUSALS`` or
           ``NVML_REFUSALS``; ``times`` None for always.
    """

    call: Call | NvmlFunction
    number: int | None
    error: str
    times: int | None = None

    def __str__(self) -> str:
        return _spelt(self, self.error)


@dataclass(frozen=True, slots=True)
class Slow:
    """A call takes longer. Shape: ``times`` None for always. Units: seconds."""

    call: Call | NvmlFunction
    number: int | None
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

    call: Call | NvmlFunction
    number: int | None
    moment: Moment
    times: int | None = 1

    def __str__(self) -> str:
        return _spelt(self, self.moment)


Strike = Fail | Slow | Kill
"""A fault that affects calls (the others are states of the machine)."""
Fault = Lost | Held | NicFault | NoFabricManager | ProfilesNeedMig | WrongAnswer | GpuTrouble | Strike
Injected = Fault | Raised
"""What can be injected: a fault, which stays, or an event, which happens."""


def _spelt(fault: Strike, effect: str) -> str:
    kind = "nic" if fault.call in NIC_CALLS else "gpu"
    target = "machine" if fault.number is None else f"{kind}-{fault.number}"
    return ":".join([target, fault.call, effect] + ([str(fault.times)] if fault.times is not None else []))
