"""What containers need of a claim's devices, gathered from the machine once per claim, each by its kind."""

from __future__ import annotations

from collections.abc import Sequence

from plugin.cdi.document import Injection
from plugin.cdi.hook import HookProgram
from plugin.kinds.claimed import Claimed
from plugin.kinds.registry import KINDS
from plugin.machine.context import Context
from plugin.machine.share import Share
from scheduler_core.model.claim import ClaimUid


def injections(
    context: Context, uid: ClaimUid, devices: Sequence[Claimed], hook: HookProgram
) -> tuple[Injection, ...]:
    """Return what each device of a claim brings into a container. Shape: ``hook`` brings it into the pod.

    Raises: HardwareError; NotReady where a part is missing.
    """
    return tuple(_injection(context, uid, _with_all_of_request(device, devices), hook) for device in devices)


def _with_all_of_request(device: Claimed, devices: Sequence[Claimed]) -> Claimed:
    """Return a device with the sum of the shares that its request has of it.

    A container that gets several requests with shares of one device has what the last of them says, because a
    runtime keeps the last value of a variable. That is less than it may use, never more.
    """
    shares = [
        one.share
        for one in devices
        if one.share is not None and (one.pool, one.device) == (device.pool, device.device)
        if one.requests == device.requests
    ]
    return device if len(shares) < 2 else device.with_share(Share.together(shares))


def _injection(context: Context, uid: ClaimUid, device: Claimed, hook: HookProgram) -> Injection:
    parts = KINDS.of_claimed(device).parts(context, device)
    return Injection(
        name=device.cdi_id.partition("=")[2],
        device=device.device,
        identity=device.identity,
        has_admin_access=device.has_admin_access,
        nodes=parts.nodes,
        files=parts.files,
        shared_nodes=parts.shared.nodes,
        shared_files=parts.shared.files,
        told=parts.told,
        folders=parts.folders,
        variables=parts.variables,
        hook=hook.call(uid, device.device) if parts.joins_pod else None,
    )
