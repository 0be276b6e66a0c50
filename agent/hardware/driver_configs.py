"""What graphics programs read of a driver beside its libraries, and the sockets of its services.

Takes the roots of a driver and of the host; yields files, with their places in the container. What a driver
does not have is left out.
Sources: nvidia-container-toolkit, ``internal/discover/graphics.go`` and ``internal/discover/ipc.go``.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from agent.hardware import attributes
from agent.hardware.driver_libraries import MACHINES
from agent.hardware.errors import HardwareError
from agent.hardware.fabric.configuration import read_settings
from agent.hardware.fabric.types import FabricMode
from agent.hardware.types import HostFile

_FOLDERS: Final = ("/etc", "/usr/share")
_KEEP_THEIR_PLACE: Final = (
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
    for name in _KEEP_THEIR_PLACE:
        found = _first(root, (f"{folder}/{name}" for folder in _FOLDERS))
        if found is not None:
            yield HostFile(found, root / found.removeprefix("/"))
    for name in _VULKAN:
        found = _first(root, (f"{folder}/{name}" for folder in (*_FOLDERS, "")))
        if found is not None:
            yield HostFile(f"/etc/{name}", root / found.removeprefix("/"))


def sockets(roots: Sequence[Path]) -> Iterator[HostFile]:
    """Yield the sockets of the persistence daemon and of the fabric manager, of the first root that has it.

    The fabric manager's is left out where it joins GPUs on request: who reaches it could part other claims'.
    """
    wanted = (_PERSISTENCE,) if _joins_on_request(roots) else (_PERSISTENCE, _FABRIC)
    for path in wanted:
        places = (root / path.removeprefix("/") for root in roots)
        place = next((place for place in places if _is_socket(place)), None)
        if place is not None:
            yield HostFile(path, place, is_socket=True)


def _joins_on_request(roots: Sequence[Path]) -> bool:
    with suppress(HardwareError):
        return read_settings(roots).mode is not FabricMode.NONE
    return True


def _first(root: Path, paths: Iterator[str]) -> str | None:
    return next((path for path in paths if attributes.exists(root / path.removeprefix("/"))), None)


def _is_socket(place: Path) -> bool:
    try:
        return stat.S_ISSOCK(place.stat().st_mode)
    except OSError:
        return False
