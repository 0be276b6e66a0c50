"""Asks a PF's driver for the mode of its embedded switch, through devlink.

Takes an address; returns ``legacy``, ``switchdev`` or None. None is normal: most drivers have no devlink, and
many kernels do not have it loaded. pyroute2 knows the messages; its socket for devlink stays open if the
kernel has no devlink, so the socket here is a plain one.
"""

from __future__ import annotations

import socket
import struct
from contextlib import closing
from typing import Any, Final

from agent.hardware.types import Bdf

_MODES: Final = ("legacy", "switchdev")
"""By the numbers of DEVLINK_ESWITCH_MODE_LEGACY and SWITCHDEV of devlink.h."""

_GENERIC: Final = 16  # NETLINK_GENERIC
_CONTROL: Final = 0x10  # GENL_ID_CTRL
_GET_FAMILY: Final = 3  # CTRL_CMD_GETFAMILY
_GET_ESWITCH: Final = 29  # DEVLINK_CMD_ESWITCH_GET
_REQUEST: Final = 1  # NLM_F_REQUEST
_ERROR: Final = 2  # NLMSG_ERROR
_LARGEST: Final = 65536
_PATIENCE_S: Final = 2.0


def eswitch_mode(pf: Bdf) -> str | None:
    """Return the mode, None if the kernel or the driver does not tell it."""
    from pyroute2.netlink.devlink import devlinkcmd  # noqa: PLC0415 (it is heavy; many programs never need it)
    from pyroute2.netlink.generic import ctrlmsg  # noqa: PLC0415

    try:
        with closing(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _GENERIC)) as kernel:
            kernel.settimeout(_PATIENCE_S)
            family = _asked(kernel, ctrlmsg, _CONTROL, _GET_FAMILY, CTRL_ATTR_FAMILY_NAME="devlink")
            number = family and family.get_attr("CTRL_ATTR_FAMILY_ID")
            names = {"DEVLINK_ATTR_BUS_NAME": "pci", "DEVLINK_ATTR_DEV_NAME": str(pf)}
            answer = number and _asked(kernel, devlinkcmd, number, _GET_ESWITCH, **names)
    except OSError:
        return None
    mode = answer.get_attr("DEVLINK_ATTR_ESWITCH_MODE") if answer else None
    return _MODES[mode] if mode is not None and mode < len(_MODES) else None


def _asked(kernel: socket.socket, form: Any, kind: int, command: int, **attributes: str) -> Any | None:
    """Return the answer to one request, None for a refusal."""
    request = form()
    request["cmd"], request["version"] = command, 1
    request["attrs"] = [[name, value] for name, value in attributes.items()]
    request["header"]["type"], request["header"]["flags"] = kind, _REQUEST
    request.encode()
    kernel.send(request.data)
    data = kernel.recv(_LARGEST)
    if struct.unpack_from("=IH", data)[1] == _ERROR:
        return None
    answer = form(data)
    answer.decode()
    return answer
