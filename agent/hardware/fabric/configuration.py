"""Reads the fabric manager's configuration file: how it runs, and where it listens.

Takes root folders; returns settings. Nothing is cached, since the service may be configured anew.
Source: NVIDIA Fabric Manager User Guide, "Fabric Manager Config Options".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent.hardware import attributes
from agent.hardware.errors import HardwareFault
from agent.hardware.fabric.types import FabricMode

FILE: Final = "usr/share/nvidia/nvswitch/fabricmanager.cfg"
_MODES: Final = {"0": FabricMode.NONE, "1": FabricMode.SHARED, "2": FabricMode.VGPU}
_MODE: Final = "FABRIC_MODE"
_SOCKET: Final = "FM_CMD_UNIX_SOCKET_PATH"
_INTERFACE: Final = "FM_CMD_BIND_INTERFACE"
_PORT: Final = "FM_CMD_PORT_NUMBER"
_DEFAULT_INTERFACE: Final = "127.0.0.1"
_DEFAULT_PORT: Final = "6666"


@dataclass(frozen=True, slots=True)
class FabricSettings:
    """What the fabric manager is configured to do.

    Shape: ``address`` is ``host:port``, or the path of a unix socket as this process sees it.
    """

    mode: FabricMode = FabricMode.NONE
    address: str = f"{_DEFAULT_INTERFACE}:{_DEFAULT_PORT}"
    is_unix_socket: bool = False


def read_settings(roots: Sequence[Path]) -> FabricSettings:
    """Return the settings of the first root that has the file; without one there is no fabric manager.

    Raises: HardwareFault for an unknown mode.
    """
    for root in roots:
        text = attributes.text(f"{root}/{FILE}")
        if text is not None:
            return _settings(root, dict(_entries(text)))
    return FabricSettings()


def _settings(root: Path, values: dict[str, str]) -> FabricSettings:
    mode = _MODES.get(values.get(_MODE) or "0")
    if mode is None:
        reason = f"{_MODE}={values[_MODE]} in {root / FILE} is none of {', '.join(_MODES)}"
        raise HardwareFault("read the mode", "the fabric manager", reason, "the operator corrects the file")
    socket = values.get(_SOCKET)
    if socket:
        return FabricSettings(mode, str(root / socket.removeprefix("/")), is_unix_socket=True)
    interface, port = values.get(_INTERFACE) or _DEFAULT_INTERFACE, values.get(_PORT) or _DEFAULT_PORT
    return FabricSettings(mode, f"{interface}:{port}")


def _entries(text: str) -> list[tuple[str, str]]:
    lines = (line.partition("#")[0].partition("=") for line in text.splitlines())
    return [(key.strip(), value.strip()) for key, equals, value in lines if equals]
