"""The driver's libraries, where the loaders of all images find them.

Takes the folders of an installed driver; yields files. A loader looks in its own distribution's folders, in
whatever folder the host has the driver. So every library stands in the folders of both families, and no
program has to run in the container's root before it starts (docs/decisions/0079-libraries-in-containers.md).
Sources: nvidia-container-toolkit, ``internal/discover/graphics.go`` and ``symlinks.go`` and
``pkg/nvcdi/driver-nvml.go`` (which libraries, and which names beside their own); glibc, ``system_dirs``.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from agent.hardware import attributes
from agent.hardware.driver.elf import SharedLibrary, shared_library
from agent.hardware.types import HostFile

MACHINES: Final = ("x86_64", "aarch64")
"""Those that the driver for data centers is for, as uname names them."""

_DEBIAN, _RED_HAT = "/usr/lib/{}-linux-gnu", "/usr/lib64"
_SUBFOLDERS: Final = ("", "vdpau")
_OWN_VERSION: Final = re.compile(r"(libnvidia-(?:egl-[a-z0-9]+|nvvm70|api))\.so\.[0-9.]+")
"""Libraries of the driver that do not carry its version."""

_MORE_NAMES: Final = {
    "libcuda": ("libcuda.so",),
    "libGLX_nvidia": ("libGLX_indirect.so.0",),
    "libnvidia-opticalflow": ("libnvidia-opticalflow.so",),
    "libnvidia-vulkan-producer": ("libnvidia-vulkan-producer.so",),
    "libnvidia-allocator": ("gbm/nvidia-drm_gbm.so",),
}
"""Names that programs use and packages leave out, or have in a subfolder."""


def libraries(root: Path, folders: Iterable[str], version: str) -> Iterator[HostFile]:
    """Yield the libraries of a driver's version below ``root``, each name in the folders of both families.

    Shape: a library of several folders once for each; ``folders`` are absolute below ``root``.
    """
    for folder in folders:
        for subfolder in _SUBFOLDERS:
            here = root / folder.removeprefix("/") / subfolder
            for library, machine, names in _libraries_in(here, version):
                for family in _families(machine):
                    place = os.path.join(family, subfolder)
                    yield from (HostFile(os.path.join(place, name), here / library) for name in names)


def _families(machine: str) -> tuple[str, str]:
    """Return where loaders look in an image: of Debian and Ubuntu; of RHEL, UBI, Fedora and SLES."""
    return _DEBIAN.format(machine), _RED_HAT


def _libraries_in(folder: Path, version: str) -> Iterator[tuple[str, str, set[str]]]:
    """Yield each library of a folder with its machine and its names; those for 32 bits are left out."""
    names = attributes.names(folder)
    for library in (name for name in names if _is_drivers(folder, name, version)):
        says = shared_library(folder / library)
        machine = _machine_of(folder) if says is None else says.machine
        if machine is not None:
            yield library, machine, {library, *_other_names(folder, names, library, says)}


def _machine_of(folder: Path) -> str:
    named = (machine for machine in MACHINES if f"{machine}-linux-gnu" in folder.parts)
    return next(named, platform.machine())


def _is_drivers(folder: Path, name: str, version: str) -> bool:
    if not name.startswith("lib") or not attributes.exists(folder / name):
        return False
    if name.endswith(f".so.{version}"):
        return True
    return _OWN_VERSION.fullmatch(name) is not None and not (folder / name).is_symlink()


def _other_names(folder: Path, names: tuple[str, ...], library: str, says: SharedLibrary | None) -> set[str]:
    """Return the other names of a library: the one that it says itself, links to it, and well-known ones.

    Of a file that says nothing, the links decide; without any, 1 is right for nearly all of the driver's.
    """
    stem = library.partition(".so.")[0]
    links = (name for name in names if name.startswith(f"{stem}.so") and (folder / name).is_symlink())
    target = attributes.resolved(folder / library)
    found = {name for name in links if attributes.resolved(folder / name) == target}
    if says is not None and says.soname is not None:
        found.add(says.soname)
    return {*(found or {f"{stem}.so.1"}), *_MORE_NAMES.get(stem, ())}
