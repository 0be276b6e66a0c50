"""PURE: what is known of one MPS daemon. The fields are the format of its file."""

from __future__ import annotations

import msgspec

from agent.hardware.mps.ports import MpsLimits, daemon_name
from agent.hardware.types import ComputeMode, GpuUuid


class Daemon(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One daemon as its file says it.

    Shape: ``device`` the published name of what it serves, ``uuid`` of the GPU or MIG device; ``gpu_uuid`` of
           the GPU; ``is_exclusive`` whether no program may go past the daemon, which a GPU in MIG mode
           cannot say; ``before`` the compute mode that the GPU had, None where it is not changed.
    Units: percent of the multiprocessors, MiB, for each program; None is no limit.
    """

    device: str
    uuid: str
    gpu_uuid: str
    is_exclusive: bool
    active_thread_percentage: int | None = None
    memory_mib: int | None = None
    before: ComputeMode | None = None

    @property
    def name(self) -> str:
        """Return the name of its folder."""
        return daemon_name(self.uuid)

    @property
    def gpu(self) -> GpuUuid:
        """Return the GPU."""
        return GpuUuid(self.gpu_uuid)

    @property
    def limits(self) -> MpsLimits:
        """Return what each program may use."""
        return MpsLimits(self.active_thread_percentage, self.memory_mib)
