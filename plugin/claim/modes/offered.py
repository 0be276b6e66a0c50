"""Refuses a NIC or VF in a mode that the policy of the node does not offer."""

from __future__ import annotations

from agent.inventory.judgement import why_not_offered
from agent.inventory.published import NicVf, PublishedDevice, WholeNic
from plugin.base.errors import DeviceUnusable
from plugin.kinds.kind import Wanted
from scheduler_core.frontends.configuration.values import NicConfig, VfConfig, VfMode


def refuse_unoffered(wanted: Wanted[PublishedDevice], subject: str) -> None:
    """Refuse a NIC or VF in a mode that the policy of the node does not offer. Raises: DeviceUnusable."""
    if not isinstance(wanted.published, WholeNic | NicVf):
        return
    match wanted.config:
        case NicConfig():
            mode = VfMode.NETDEV
        case VfConfig(mode=VfMode() as mode):
            pass
        case _:
            mode = VfMode.RDMA
    reason = why_not_offered(wanted.published, mode)
    if reason is not None:
        raise DeviceUnusable("prepare", subject, reason.text, reason.remedy)
