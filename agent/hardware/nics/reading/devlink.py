"""Asks a PF's driver for the mode of its embedded switch, through devlink.

An address enters; ``legacy``, ``switchdev`` or None leaves. None is normal: most drivers have no devlink, and
reading needs root.
"""

from __future__ import annotations

from typing import Any, Final

from agent.hardware.types import Bdf

_MODES: Final = ("legacy", "switchdev")
"""By the numbers of DEVLINK_ESWITCH_MODE_LEGACY and SWITCHDEV of devlink.h."""


def eswitch_mode(pf: Bdf) -> str | None:
    """Return the mode, None if the driver does not answer."""
    from pyroute2.devlink import DL  # noqa: PLC0415 (it is heavy; most programs never need it)
    from pyroute2.netlink import NLM_F_REQUEST  # noqa: PLC0415
    from pyroute2.netlink.devlink import DEVLINK_NAMES, devlinkcmd  # noqa: PLC0415
    from pyroute2.netlink.exceptions import NetlinkError  # noqa: PLC0415

    request: Any = devlinkcmd()
    request["cmd"] = DEVLINK_NAMES["DEVLINK_CMD_ESWITCH_GET"]
    request["attrs"] = [["DEVLINK_ATTR_BUS_NAME", "pci"], ["DEVLINK_ATTR_DEV_NAME", str(pf)]]
    try:
        with DL() as devlink:
            answers = devlink.nlm_request(request, msg_type=devlink.prid, msg_flags=NLM_F_REQUEST)
            modes = [answer.get_attr("DEVLINK_ATTR_ESWITCH_MODE") for answer in answers]
    except (NetlinkError, OSError):
        return None
    return next((_MODES[mode] for mode in modes if mode is not None and mode < len(_MODES)), None)
