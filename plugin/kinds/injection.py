"""What containers need of a claim's devices, gathered from the machine once per claim, each by its kind."""

from __future__ import annotations

from collections.abc import Sequence

from plugin.cdi import names
from plugin.cdi.document import Injection
from plugin.cdi.hook import HookProgram
from plugin.kinds.claimed import Claimed
from plugin.kinds.registry import KINDS
from plugin.machine.context import Context
from scheduler_core.model.claim import ClaimUid


def injections(
    context: Context, uid: ClaimUid, devices: Sequence[Claimed], hook: HookProgram
) -> tuple[Injection, ...]:
    """Return what each device of a claim brings into a container. Shape: ``hook`` brings it into the pod.

    Raises: HardwareError; NotReady where a part is missing.
    """
    return tuple(_injection(context, uid, device, hook) for device in devices)


def _injection(context: Context, uid: ClaimUid, device: Claimed, hook: HookProgram) -> Injection:
    parts = KINDS.of_claimed(device).parts(context, device)
    return Injection(
        name=names.device_name(uid, device.device),
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
