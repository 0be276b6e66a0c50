"""Which devices of a prepared claim are not there any more. The machine is read, and nothing is changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agent.hardware.errors import HardwareError, NotFound
from agent.hardware.types import GpuUuid
from plugin.base.errors import NotReady, PluginError
from plugin.claim.reconciling.missing import MissingDevice
from plugin.claim.record import Record
from plugin.claim.steps import LOST, ClaimSteps
from plugin.kinds.claimed import Claimed
from plugin.machine.context import Context
from plugin.machine.lock_target import GPU

_CERTAIN: Final = (NotReady, NotFound, *LOST)
"""What says that a device is gone. Any other error says that it could not be read now."""


def missing_of(steps: ClaimSteps, record: Record) -> Sequence[MissingDevice]:
    """Return the devices of a prepared claim that are gone, in the order of the record.

    Raises: PluginError, HardwareError where that cannot be read.
    """
    context = steps.context(steps.node.snapshot, record)
    try:
        _refuse_missing(steps, context, record.devices)
    except _CERTAIN:  # which of them: each is asked for itself
        found = ((one, _why_missing(steps, context, one)) for one in record.devices)
        return tuple(MissingDevice(one.device, why, not one.has_admin_access) for one, why in found if why)
    return ()


def _why_missing(steps: ClaimSteps, context: Context, device: Claimed) -> str:
    try:
        _refuse_missing(steps, context, [device])
    except (PluginError, HardwareError) as error:
        if isinstance(error, _CERTAIN):
            return str(error)
        raise
    return ""


def _refuse_missing(steps: ClaimSteps, context: Context, devices: Sequence[Claimed]) -> None:
    """Check that the GPUs of devices answer, and that the devices work."""
    targets = {target for device in devices for target in device.lock_targets if target.what == GPU}
    for target in sorted(targets):
        context.machine.gpus.minor(GpuUuid(target.address))
    steps.setup.refuse_dead(context, devices)
