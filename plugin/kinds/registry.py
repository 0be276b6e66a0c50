"""The table of kinds. A new kind of device is a file beside this one, its row here, and its tests."""

from __future__ import annotations

from typing import Final

from plugin.kinds.gpus_under_mps.share import ClaimedMpsShare, MpsGpuKind
from plugin.kinds.gpus_under_mps.whole import ClaimedGpuUnderMps, GpuUnderMpsKind
from plugin.kinds.imex_channel import ClaimedImexChannel, ImexChannelKind
from plugin.kinds.mig_partition.claimed import ClaimedComputeInstance, ClaimedMigPartition, mig_device_of
from plugin.kinds.mig_partition.compute_kind import ComputeInstanceKind
from plugin.kinds.mig_partition.kind import MigPartitionKind
from plugin.kinds.mig_partition.under_mps import ClaimedMigUnderMps, MigUnderMpsKind
from plugin.kinds.netdev_nic import ClaimedNetdevNic, NetdevNicKind
from plugin.kinds.nic_vf.netdev import ClaimedNetdevVf, NetdevVfKind
from plugin.kinds.nic_vf.rdma import ClaimedRdmaVf, RdmaVfKind
from plugin.kinds.nic_vf.vfio import ClaimedVfioVf, VfioVfKind
from plugin.kinds.nics import NicVfKind, WholeNicKind
from plugin.kinds.rdma_nic import ClaimedRdmaNic, RdmaNicKind
from plugin.kinds.table import KindTable
from plugin.kinds.whole_gpus.gpu_partition import ClaimedGpuPartition, GpuPartitionKind
from plugin.kinds.whole_gpus.shared_gpu import ClaimedGpuShare, SharedGpuKind
from plugin.kinds.whole_gpus.whole_gpu import ClaimedGpu, WholeGpuKind
from plugin.kinds.whole_gpus.whole_gpu_in_turns import ClaimedGpuInTurns, GpuInTurnsKind

__all__ = ["KINDS", "ClaimedDevice", "mig_device_of"]

KINDS: Final = KindTable(
    GpuUnderMpsKind(),
    GpuInTurnsKind(),
    WholeGpuKind(),
    SharedGpuKind(),
    MpsGpuKind(),
    GpuPartitionKind(),
    MigUnderMpsKind(),
    MigPartitionKind(),
    ImexChannelKind(),
    ComputeInstanceKind(),
    RdmaNicKind(),
    NetdevNicKind(),
    WholeNicKind(),
    RdmaVfKind(),
    VfioVfKind(),
    NetdevVfKind(),
    NicVfKind(),
)
ClaimedDevice = (
    ClaimedGpu
    | ClaimedGpuInTurns
    | ClaimedGpuUnderMps
    | ClaimedGpuShare
    | ClaimedMpsShare
    | ClaimedGpuPartition
    | ClaimedMigPartition
    | ClaimedMigUnderMps
    | ClaimedComputeInstance
    | ClaimedRdmaVf
    | ClaimedVfioVf
    | ClaimedNetdevVf
    | ClaimedRdmaNic
    | ClaimedNetdevNic
    | ClaimedImexChannel
)
"""What a record may hold of a device: the ``claimed`` of every row."""
