"""The text forms of faults, for the help of ``tangram node fault``. Nothing here interprets them."""

from __future__ import annotations

from typing import Final

FAULT_GRAMMAR: Final = """\
A FAULT is one of
  gpu-MINOR:lost                   the GPU fell off the bus, until a reset or reboot
  gpu-MINOR:in-use                 a client holds the GPU: its MIG mode cannot change
  gpu-MINOR:ecc=COUNT              so many uncorrectable errors of memory, until a reset or reboot
  gpu-MINOR:remap-pending          a row of memory is replaced at the next reset or reboot
  gpu-MINOR:remap-failed           a row of memory could not be replaced
  gpu-MINOR:nvlink-down=LINK       the NVLink is not active, until a reset or reboot
  gpu-MINOR:slowdown=REASON        the hardware runs slowly
  gpu-MINOR:recovery=ACTION        the driver says what the GPU needs, until a reset or reboot
  gpu-MINOR:fabric=STATE           how far the GPU has joined its fabric, or what is wrong there
  gpu-MINOR:uuid=UUID              the driver answers this, whatever is true
  gpu-MINOR:minor=NUMBER           the same, such as -1
  gpu-MINOR:memory-mib=COUNT       the same, such as 0
  nic-NUMBER:in-use                a program uses the NIC: no driver can be taken from it
  nic-NUMBER:fewer-vfs=COUNT       its driver makes so many VFs at most, whatever is asked
  nic-NUMBER:late-rdma=COUNT       RDMA devices are missing in so many reads after a probe
  nic-NUMBER:no-rdma               RDMA devices never come after a probe
  nic-NUMBER:no-zero-guid          its firmware takes no GUID of zero for a VF
  nic-NUMBER:no-iommu              its functions have no IOMMU group
  nic-NUMBER:shared-iommu          all its functions lie in one IOMMU group
  nic-NUMBER:link-down             its link has no carrier, nor have its VFs' that follow it
  nic-NUMBER:port-down             the RDMA ports of its functions are not active
  machine:no-vfio                  the kernel has no driver vfio-pci
  machine:no-fabric-manager        the fabric manager does not run
  machine:profiles-need-mig        the driver reports MIG profiles only in MIG mode
  TARGET:FUNCTION:CODE[:TIMES]     a function of the driver's library answers with a code
  TARGET:CALL:REFUSAL[:TIMES]      the call fails
  TARGET:CALL:slow=SECONDS[:TIMES] the call takes longer, such as slow=2.5
  TARGET:CALL:kill-before[:TIMES]  the calling process dies before the call does anything
  TARGET:CALL:kill-after[:TIMES]   the calling process dies after all that the call does

or an event, which the driver raises once, and which is not listed:
  gpu-MINOR:xid=NUMBER[:gi=ID[:ci=ID]][:TIMES]
                                   an XID of the GPU, or of a MIG instance of it, so many times.
                                   79 loses the GPU; 63 makes remap-pending, 64 remap-failed;
                                   48, 94 and 95 count as errors of memory
  machine:xid=NUMBER[:TIMES]       an XID of a GPU that the driver does not name
  gpu-MINOR:mig-changed            its MIG configuration changed
  gpu-MINOR:unavailable            it is not available

REASON   hardware-thermal, hardware-power-brake, software-thermal
ACTION   gpu-reset, node-reboot, drain-p2p, drain-and-reset, recover-imex-domain,
         bus-reset, system-reboot, other
STATE    not-supported, not-started, in-progress, failed, misconfigured,
         route-unhealthy, route-recovery, access-timeout-recovery, degraded-bandwidth
TARGET   gpu-MINOR, nic-NUMBER (NICs count from 0 by address), or machine for all
         (the only target of versions, wait-events, read-links and calls of the fabric
         manager)
CALL     of GPUs: versions, gpus, mig-mode, profiles, gpu-instances, processes,
         set-mig-mode, create-gpu-instance, create-compute-instance,
         destroy-compute-instance, destroy-gpu-instance,
         compute-mode, set-compute-mode, set-time-slice,
         vitals, watch-events, wait-events
         of the fabric manager: fabric-partitions, activate-partition,
         deactivate-partition
         of NICs: set-vfs, override-driver, unbind, probe, read-rdma,
         read-vf-settings, set-vf-settings, read-links, change-link
FUNCTION nvmlDeviceGetUUID, nvmlDeviceGetName, nvmlDeviceGetBrand,
         nvmlDeviceGetArchitecture, nvmlDeviceGetCudaComputeCapability,
         nvmlDeviceGetMinorNumber, nvmlDeviceGetPciInfo_v3, nvmlDeviceGetMemoryInfo,
         nvmlDeviceGetNumGpuCores, nvmlDeviceGetModuleId,
         nvmlDeviceGetVirtualizationMode, nvmlDeviceGetMigMode,
         nvmlDeviceGetGpuInstanceProfileInfoV, nvmlDeviceGetGpuInstanceProfileInfo,
         nvmlDeviceGetGpuInstancePossiblePlacements_v2,
         nvmlDeviceGetComputeRunningProcesses_v3 and _v2, the same of Graphics and
         MPSCompute, nvmlDeviceGetGpuFabricInfoV, nvmlDeviceGetGpuFabricInfo
CODE     of nvml.h in small letters: not-supported, function-not-found,
         argument-version-mismatch, invalid-argument, no-permission, unknown
REFUSAL  of GPUs and the fabric manager: not-supported, not-found,
         invalid-argument, no-permission, in-use, insufficient-resources,
         timed-out, gpu-lost, reset-required, driver-missing, hardware-fault,
         not-there-yet, fabric-unavailable
         of NICs: not-supported, not-found, invalid-argument, no-permission,
         in-use, no-space, already-taken, timed-out, hardware-fault
TIMES    for so many calls, from 1; without it for all, a kill once

examples:
  tangram node create /tmp/m --node dgx-a100
  tangram node fault --machine /tmp/m gpu-3:lost
  tangram node fault --machine /tmp/m gpu-0:create-compute-instance:in-use:1
  tangram node fault --machine /tmp/m nic-0:set-vfs:no-space:1 nic-1:late-rdma=3
  tangram node fault --machine /tmp/m gpu-0:xid=63 gpu-0:slowdown=hardware-thermal nic-0:link-down
  tangram node fault --machine /tmp/m machine:mig-mode:slow=2.5 gpu-1:destroy-gpu-instance:kill-after
  tangram node fault --machine /tmp/m gpu-1:nvmlDeviceGetMinorNumber:not-supported
  tangram node fault --machine /tmp/m machine:nvmlDeviceGetGpuFabricInfoV:function-not-found
"""
