"""The device nodes and files that an installed NVIDIA driver offers to containers.

Takes a root folder: ``/``, or the root of a driver container, as this process sees it. Returns paths, as
this process sees them. This module creates nothing: a device node that does not exist is described by its
numbers, and the container runtime creates it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from agent.hardware import attributes
from agent.hardware.errors import NotFound
from agent.hardware.types import DeviceNode, HostFile

LIBRARY_DIRS: Final = (
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/usr/lib",
    "/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/local/nvidia/lib64",
)
"""Where distributions, NVIDIA's installer and driver containers put the driver's libraries."""

_TOOL_DIRS: Final = ("/usr/bin", "/usr/local/bin", "/bin", "/usr/local/nvidia/bin")
_TOOLS: Final = (
    "nvidia-smi",
    "nvidia-debugdump",
    "nvidia-persistenced",
    "nvidia-cuda-mps-control",
    "nvidia-cuda-mps-server",
)
_MANAGEMENT: Final = "libnvidia-ml.so.1"
_FABRIC: Final = "libnvfm.so.1"
_OPTIONAL_CONTROL_NODES: Final = ("/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset")
_CAPABILITIES: Final = "/proc/driver/nvidia/capabilities"
_DEVICES: Final = "/proc/devices"
_MONITOR: Final = "mig/monitor"
_CAPABILITY_MAJOR: Final = re.compile(r"^\s*(\d+)\s+nvidia-caps$", re.MULTILINE)
_IMEX_MAJOR: Final = re.compile(r"^\s*(\d+)\s+nvidia-caps-imex-channels$", re.MULTILINE)
_CAPABILITY_MINOR: Final = re.compile(r"^DeviceFileMinor:\s*(\d+)$", re.MULTILINE)

_MAKE_NODES: Final = "the operator must load the driver and let nvidia-modprobe create its device nodes"
_SHOW_PROC: Final = "the operator must make the driver's part of /proc visible to this process"
_MAKE_CHANNELS: Final = "the operator must load the driver with IMEX channels (NVreg_ImexChannelCount)"
_INSTALL: Final = "the operator must install the driver's user-space libraries of exactly this version"


@dataclass(frozen=True, slots=True)
class DriverRoot:
    """The ``DriverFiles`` of a driver installed below ``root``.

    Shape: ``library_dirs`` are absolute paths below ``root``, the preferred ones first; a library has the
           same folder in the container. ``host_root`` is where the host's own ``/`` is mounted, None if
           ``root`` has ``/dev`` and ``/proc`` too.
    """

    root: Path = Path("/")
    library_dirs: tuple[str, ...] = LIBRARY_DIRS
    host_root: Path | None = None

    @classmethod
    def installed(cls, driver_root: Path, host_root: Path) -> Self:
        """Return the files of a driver at ``driver_root`` of the host that is mounted at ``host_root``.

        Device nodes are the host's, unless the driver has its own; a driver container may create these later.
        """
        return cls(host_root / driver_root.relative_to("/"), host_root=host_root)

    def management_library(self) -> Path | None:
        """Return the path of NVML's library, None if it does not exist (yet)."""
        return self._library(_MANAGEMENT)

    def fabric_library(self) -> Path | None:
        """Return the path of the fabric manager's library, None if it does not exist (yet)."""
        return self._library(_FABRIC)

    def fabric_roots(self) -> tuple[Path, ...]:
        """Return the folders below which the fabric manager may be installed: the driver's, the host's."""
        return (self.root,) if self.host_root is None else (self.root, self.host_root)

    def gpu_nodes(self, minor: int) -> tuple[DeviceNode, ...]:
        """Return the node of a whole GPU. Raises: NotFound."""
        return (self._required_node(f"/dev/nvidia{minor}"),)

    def control_nodes(self) -> tuple[DeviceNode, ...]:
        """Return ``/dev/nvidiactl`` and those of uvm, uvm-tools and modeset that exist.

        Raises: NotFound without ``nvidiactl``.
        """
        optional = (self._node(path) for path in _OPTIONAL_CONTROL_NODES)
        return (self._required_node("/dev/nvidiactl"), *(node for node in optional if node))

    def instance_nodes(self, minor: int, gi_id: int, ci_id: int) -> tuple[DeviceNode, DeviceNode]:
        """Return the capability nodes of a GI and of its CI.

        Their numbers come from files that exist as long as the instance.
        Raises: NotFound.
        """
        instance = f"gpu{minor}/mig/gi{gi_id}"
        return self._capability(f"{instance}/access"), self._capability(f"{instance}/ci{ci_id}/access")

    def monitoring_nodes(self, minor: int) -> tuple[DeviceNode, ...]:
        """Return the capability node of a monitor and those of a GPU's present MIG instances, by number."""
        folder = f"gpu{minor}/mig"
        names = [_MONITOR, *(f"{folder}/{name}" for name in self._instance_capabilities(folder))]
        minors = ((name, self._capability_minor(name)) for name in names)
        return tuple(
            DeviceNode(_capability_path(found), None, self._capability_major(f"capability {name}"), found)
            for name, found in minors
            if found is not None
        )

    def has_imex_channels(self) -> bool:
        """Whether the driver has IMEX channels."""
        return self._major(_IMEX_MAJOR) is not None

    def imex_channel_node(self, channel: int) -> DeviceNode:
        """Return the node of an IMEX channel. The host need not have it: it is known by its numbers.

        Raises: NotFound where the driver has no channels.
        """
        major = self._major(_IMEX_MAJOR)
        if major is None:
            reason = f"{self._proc(_DEVICES)} has no nvidia-caps-imex-channels"
            raise NotFound("find major number", f"IMEX channel {channel}", reason, _MAKE_CHANNELS)
        return DeviceNode(f"/dev/nvidia-caps-imex-channels/channel{channel}", None, major, channel)

    def libraries(self, driver_version: str) -> tuple[HostFile, ...]:
        """Return the driver's libraries of this version under all their names, and its tools.

        A program loads ``libcuda.so.1``; because the file is mounted under that name too, no hook has to
        create links in the container.
        Shape: by path in the container, each once. Raises: NotFound if no library has this version.
        """
        found: dict[str, HostFile] = {}
        for folder in self._folders(self.library_dirs):
            for file in self._libraries_in(folder, driver_version):
                found.setdefault(file.path, file)
        if not found:
            looked = ", ".join(self.library_dirs)
            reason = f"no library of that version in {looked} below {self.root}"
            raise NotFound("find libraries", f"driver {driver_version}", reason, _INSTALL)
        return tuple(sorted((*found.values(), *self._tools()), key=lambda file: file.path))

    def tool(self, name: str) -> Path | None:
        """Return one of the driver's programs, None where it does not exist (yet)."""
        places = (self._below(folder) / name for folder in _TOOL_DIRS)
        return next((place for place in places if attributes.exists(place)), None)

    @property
    def library_path(self) -> str:
        """Return where the loader finds the libraries of a driver outside its own folders, as the host says.

        Shape: folders with colons between them, empty for a driver that is installed in the host itself.
        """
        if self.host_root is None or self.root == self.host_root:
            return ""
        inside = Path("/") / self.root.relative_to(self.host_root)
        return ":".join(f"{inside}{folder}" for folder in self._folders(self.library_dirs))

    def _library(self, name: str) -> Path | None:
        places = (self._below(folder) / name for folder in self.library_dirs)
        return next((place for place in places if attributes.exists(place)), None)

    def _below(self, path: str) -> Path:
        return self.root / path.removeprefix("/")

    def _dev(self, path: str) -> Path:
        if self.host_root is not None and not attributes.exists(self.root / "dev/nvidiactl"):
            return self.host_root / path.removeprefix("/")
        return self._below(path)

    def _proc(self, path: str) -> Path:
        return (self.host_root or self.root) / path.removeprefix("/")

    def _node(self, path: str) -> DeviceNode | None:
        here = self._dev(path)
        return DeviceNode(path, here) if attributes.exists(here) else None

    def _required_node(self, path: str) -> DeviceNode:
        node = self._node(path)
        if node is None:
            raise NotFound("find device node", path, f"there is no {self._dev(path)}", _MAKE_NODES)
        return node

    def _capability(self, name: str) -> DeviceNode:
        subject = f"capability {name}"
        minor = self._capability_minor(name)
        if minor is None:
            file = self._proc(f"{_CAPABILITIES}/{name}")
            raise NotFound("read DeviceFileMinor", subject, f"{file} has no such number", _SHOW_PROC)
        path = _capability_path(minor)
        return self._node(path) or DeviceNode(path, None, self._capability_major(subject), minor)

    def _capability_minor(self, name: str) -> int | None:
        """Return the number of a capability's node, None where there is no such capability (any more)."""
        found = _CAPABILITY_MINOR.search(attributes.text(self._proc(f"{_CAPABILITIES}/{name}")) or "")
        return None if found is None else int(found[1])

    def _instance_capabilities(self, folder: str) -> Iterator[str]:
        """Yield the capabilities of the GIs and CIs below a GPU's folder."""
        below = self._proc(f"{_CAPABILITIES}/{folder}")
        for gi in (name for name in attributes.names(below) if name.startswith("gi")):
            yield f"{gi}/access"
            inside = attributes.names(below / gi)
            yield from (f"{gi}/{name}/access" for name in inside if name.startswith("ci"))

    def _capability_major(self, subject: str) -> int:
        major = self._major(_CAPABILITY_MAJOR)
        if major is None:
            reason = f"{self._proc(_DEVICES)} has no nvidia-caps"
            raise NotFound("find major number", subject, reason, _SHOW_PROC)
        return major

    def _major(self, name: re.Pattern[str]) -> int | None:
        """Return the major number of a kind of character devices, None where there is no such kind."""
        characters, _, _ = (attributes.text(self._proc(_DEVICES)) or "").partition("Block devices:")
        found = name.search(characters)
        return None if found is None else int(found[1])

    def _folders(self, paths: tuple[str, ...]) -> Iterator[str]:
        """Yield the existing folders, each once: ``/lib64`` may be a link to ``/usr/lib64``."""
        seen: set[Path] = set()
        for path in paths:
            real = attributes.resolved(self._below(path))
            if real not in seen and attributes.is_folder(real):
                seen.add(real)
                yield path

    def _libraries_in(self, folder: str, version: str) -> Iterator[HostFile]:
        here = self._below(folder)
        names = attributes.names(here)
        for library in (name for name in names if name.startswith("lib") and name.endswith(f".so.{version}")):
            file = here / library
            if not attributes.exists(file):
                continue
            for name in {library, *_other_names(here, names, library)}:
                yield HostFile(os.path.join(folder, name), file)

    def _tools(self) -> Iterator[HostFile]:
        folders = tuple(self._folders(_TOOL_DIRS))
        for tool in _TOOLS:
            places = (os.path.join(folder, tool) for folder in folders)
            place = next((path for path in places if attributes.exists(self._below(path))), None)
            if place:
                yield HostFile(place, self._below(place))


def _capability_path(minor: int) -> str:
    return f"/dev/nvidia-caps/nvidia-cap{minor}"


def _other_names(folder: Path, names: tuple[str, ...], library: str) -> set[str]:
    """Return the other names of a library in its folder: the links to it, else ``.so.1``.

    The links on the host decide, because not every soname ends in 1 (``libnvidia-nvvm.so.4``). Some packages
    leave the links to the loader's cache; then 1 is right for nearly all of the driver's libraries.
    """
    stem = library.partition(".so.")[0]
    links = (name for name in names if name.startswith(f"{stem}.so") and (folder / name).is_symlink())
    target = attributes.resolved(folder / library)
    return {name for name in links if attributes.resolved(folder / name) == target} or {f"{stem}.so.1"}
