"""What graphics programs read of a driver beside its libraries, and the sockets of its services.

Takes the roots of a driver and of the host; yields files, with their places in the container. What a driver
does not have is left out.
Sources: nvidia-container-toolkit, ``internal/discover/graphics.go`` and ``internal/discover/ipc.go``.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from agent.hardware import attributes
from agent.hardware.driver.libraries import MACHINES
from agent.hardware.driver.nodes import joined
from agent.hardware.errors import HardwareError
from agent.hardware.fabric.configuration import read_settings
from agent.hardware.fabric.types import FabricMode
from agent.hardware.types import HostFile

_PLACES: Final = {"/etc": "/etc", "/usr/share": "/usr/share", "/usr/local/nvidia/share": "/usr/share"}
"""Folders of a driver, and where containers look: the last one is that of container-optimized systems."""

_SETTINGS: Final = (
    "glvnd/egl_vendor.d/10_nvidia.json",
    "egl/egl_external_platform.d/10_nvidia_wayland.json",
    "egl/egl_external_platform.d/15_nvidia_gbm.json",
    "egl/egl_external_platform.d/20_nvidia_xcb.json",
    "egl/egl_external_platform.d/20_nvidia_xlib.json",
    "nvidia/nvoptix.bin",
)
_VULKAN: Final = (
    "vulkan/icd.d/nvidia_icd.json",
    *(f"vulkan/icd.d/nvidia_icd.{machine}.json" for machine in MACHINES),
    "vulkan/icd.d/nvidia_layers.json",
    "vulkan/implicit_layer.d/nvidia_layers.json",
)
"""In containers they are below ``/etc``, where every Vulkan loader looks."""

_PERSISTENCE: Final = "/run/nvidia-persistenced/socket"
_FABRIC: Final = "/run/nvidia-fabricmanager/socket"


def configs(root: Path) -> Iterator[HostFile]:
    """Yield the files that EGL, GBM, Vulkan and OptiX read, of a driver below ``root``."""
    for name in _SETTINGS:
        folder = _first(root, name, _PLACES)
        if folder is not None:
            yield HostFile(f"{_PLACES[folder]}/{name}", _below(root, folder, name))
    for name in _VULKAN:
        folder = _first(root, name, (*_PLACES, ""))
        if folder is not None:
            yield HostFile(f"/etc/{name}", _below(root, folder, name))


def sockets(roots: Sequence[Path]) -> Iterator[HostFile]:
    """Yield the sockets of the persistence daemon and of the fabric manager, of the first root that has it.

    The fabric manager's is left out where it joins GPUs on request: who reaches it could part other claims'.
    """
    wanted = (_PERSISTENCE,) if _joins_on_request(roots) else (_PERSISTENCE, _FABRIC)
    for path in wanted:
        places = (joined(root, path) for root in roots)
        place = next((place for place in places if _is_socket(place)), None)
        if place is not None:
            yield HostFile(path, place, is_socket=True)


def _joins_on_request(roots: Sequence[Path]) -> bool:
    with suppress(HardwareError):
        return read_settings(roots).mode is not FabricMode.NONE
    return True


def _first(root: Path, name: str, folders: Iterable[str]) -> str | None:
    return next((folder for folder in folders if attributes.exists(_below(root, folder, name))), None)


def _below(root: Path, folder: str, name: str) -> Path:
    return root / folder.removeprefix("/") / name


def _is_socket(place: Path) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(place).st_mode)
    except OSError:
        return False
