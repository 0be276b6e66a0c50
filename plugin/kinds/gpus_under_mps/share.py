"""A share of a GPU under MPS: programs of several claims run on it at once, by one daemon.

The daemon has no limits of its own, since each claim has others: the programs get theirs by variables, which
the driver enforces when a program starts to use the GPU.
"""

from __future__ import annotations

from typing import Final, Self

import msgspec

from agent.hardware.types import MIB
from agent.inventory.model import NodeDevices
from agent.inventory.names import gpu_name
from agent.inventory.published import MpsGpu, UnderMps
from agent.inventory.shared_gpus import MEMORY, MULTIPROCESSORS
from plugin.kinds import mps
from plugin.kinds.gpus_under_mps.base import ClaimedUnderMps, GpusUnderMpsKind
from plugin.kinds.kind import CrashPoints, Wanted
from plugin.kinds.mps import RecordedLimits
from plugin.machine.context import Context
from plugin.machine.mps.daemon import Daemon
from plugin.machine.node import NodeSnapshot
from plugin.machine.share import Share
from scheduler_core.model.device import DeviceName
from scheduler_core.model.names import domain_and_identifier

_ALL: Final = 100


class ClaimedMpsShare(ClaimedUnderMps, frozen=True, kw_only=True, tag="mps-share"):
    """A share of a GPU under MPS of a claim.

    Shape: ``amounts`` what it consumes, by capacity with its domain, as quantities in text.
    """

    share_id: str
    amounts: dict[str, str]

    @property
    def share(self) -> Share:
        """Return the share as the allocation says it."""
        return Share.of_texts(self.share_id, self.amounts)

    def with_share(self, share: Share) -> Self:
        """Return the device with another share of its GPU."""
        return msgspec.structs.replace(self, share_id=share.id, amounts=dict(share.as_texts()))

    @property
    def hardware(self) -> UnderMps:
        """Return what the device is, whatever its published name is now."""
        return UnderMps(self.gpu)


class MpsGpuKind(GpusUnderMpsKind[MpsGpu, ClaimedMpsShare]):
    """A GPU on which programs of several claims run at once."""

    text = "a share of a GPU under MPS"
    published = MpsGpu
    claimed = ClaimedMpsShare
    crash_points = CrashPoints(
        setting_up=("set_mig_mode", "set_compute_mode", "start_daemon"),
        taking_down=("end_daemon", "set_compute_mode", "remove_folders"),
    )

    def plan(self, wanted: Wanted[MpsGpu]) -> ClaimedMpsShare:
        """Return the GPU by its UUID, the share, and the limits of the configuration."""
        share = wanted.share or Share("")
        uuid = wanted.published.gpu.uuid
        return ClaimedMpsShare(
            **wanted.common,
            gpu_uuid=uuid,
            limits=mps.limits_of(mps.sharing_of(wanted.config), wanted.config_index, uuid),
            share_id=share.id,
            amounts=dict(share.as_texts()),
        )

    def daemon(self, context: Context, device: ClaimedMpsShare) -> Daemon:
        """Return the daemon, which serves all claims and limits none.

        Where MPS has a part of the GPU, claims without MPS have the other one: they must not be locked out.
        """
        whole, uuid = context.node.gpus[device.gpu].memory_bytes, device.gpu_uuid
        of_mps = _capacity(context.node.devices, device.device, MEMORY)
        is_part = of_mps is not None and whole is not None and of_mps // MIB < whole // MIB
        return Daemon(device=device.device, uuid=uuid, gpu_uuid=uuid, is_exclusive=not is_part)

    def limits(self, context: Context, device: ClaimedMpsShare) -> RecordedLimits:
        """Return the share as limits, and where the configuration has lower ones, those."""
        memory = device.share.whole(MEMORY)
        of_share = RecordedLimits(
            active_thread_percentage=_percentage(context.node, device),
            memory_mib=None if memory is None else memory // MIB,
        )
        return mps.narrower(of_share, device.limits)


def _percentage(node: NodeSnapshot, device: ClaimedMpsShare) -> int | None:
    """Return which part of the GPU's multiprocessors a share is, None where it names none.

    Units: percent, rounded down, at least 1; the driver rounds up to whole multiprocessors.
    """
    wanted = device.share.whole(MULTIPROCESSORS)
    all_of_them = _capacity(node.devices, gpu_name(node.gpus[device.gpu].number), MULTIPROCESSORS)
    return max(1, wanted * _ALL // all_of_them) if wanted and all_of_them else None


def _capacity(node: NodeDevices, device: str, identifier: str) -> int | None:
    """Return the driver's own capacity of a device, None where it has none."""
    found = node.capacity(DeviceName(device)).items()
    return next((amount.whole for key, amount in found if domain_and_identifier(key)[1] == identifier), None)
